import type { Command } from '../../arguments/command.js';
import { DIFF_FLAGS } from './flags.js';

export const diff: Command<typeof DIFF_FLAGS> = {
  name: 'diff',
  summary: 'show what files would change in the cluster, down to the children',
  details: `
The command renders the resources of the files among those of the cluster, and compares the objects with the
live ones by server-side dry runs. Exit codes: 0 no changes, 1 changes, 2 an error.`,
  flags: DIFF_FLAGS,
  load: async () => (await import('./run.js')).runDiff,
};
