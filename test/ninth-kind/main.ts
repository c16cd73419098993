/** The operator with one more kind. */
import { KINDS } from '../../constructs/registry.js';
import { runOperator } from '../../runner/operator.js';
import { ninthKind } from './index.js';

process.exitCode = await runOperator(process.argv.slice(2), process.env, [...KINDS, ninthKind]);
setTimeout(() => process.exit(), 500).unref();
