/** The operator with a second version of two kinds. */
import { KINDS } from '../../constructs/registry.js';
import { runOperator } from '../../runner/operator.js';
import { V1BETA1 } from './versions.js';

process.exitCode = await runOperator(process.argv.slice(2), process.env, KINDS, V1BETA1);
setTimeout(() => process.exit(), 500).unref();
