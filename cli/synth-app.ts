/**
 * The app of `npx cdk8s synth`, see `cdk8s.yaml`.
 *
 *     node dist/lib/cli/synth-app.js [INSTALL-MANIFEST]
 *
 * The argument names a file that receives the install manifest as it is committed. Imports are dynamic,
 * so that the check of Node.js runs first.
 */
import '../runner/kit/require-node.js';

const { CliError } = await import('./arguments/errors.js');
const { processStreams } = await import('./io/streams.js');
const { synth } = await import('./synth.js');
const io = processStreams();
try {
  synth(io, process.argv[2]);
} catch (error) {
  if (!(error instanceof CliError)) throw error;
  for (const line of error.message.split('\n')) io.notify(`synth: ${line}`);
  process.exitCode = 1;
}
