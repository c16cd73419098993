import type { Command } from '../../arguments/command.js';
import { DIFF_FLAGS } from './flags.js';

export const diff: Command<typeof DIFF_FLAGS> = {
  name: 'diff',
  summary: 'show what files would change in the cluster, down to the children',
  details: `
The command sends custom resources to the API server as a dry run. From the results it builds their
children as the operator does, and compares them with the live objects by another dry run. Nothing is
changed. Values of Secrets are masked. Exit codes: 0 no changes, 1 changes, 2 an error.`,
  flags: DIFF_FLAGS,
  load: async () => (await import('./run.js')).runDiff,
};
