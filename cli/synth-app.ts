/**
 * The app of `npx cdk8s synth`, see `cdk8s.yaml`.
 *
 *     node dist/lib/cli/synth-app.js [INSTALL-MANIFEST]
 *
 * The argument names a file that receives the install manifest as it is committed. Imports are dynamic,
 * so that the check of Node.js runs first.
 */
import '../runner/require-node.js';

const { synthExamples } = await import('./synth-examples.js');
synthExamples(process.argv[2]);
