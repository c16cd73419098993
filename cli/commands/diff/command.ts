import { text } from '../../../runner/config/parsers.js';
import type { Command, CommandFlags } from '../../arguments/command.js';
import {
  API_GROUP_FLAGS,
  CLUSTER_FLAGS,
  FILE_FLAGS,
  outputFlags,
  SETTINGS_FLAGS,
} from '../../arguments/shared-flags.js';

export const DIFF_FLAGS = {
  ...FILE_FLAGS,
  ...CLUSTER_FLAGS,
  'field-manager': {
    value: text,
    placeholder: 'NAME',
    help: 'field manager that you apply the files with (default kubectl)',
  },
  ...outputFlags('patch', 'json'),
  ...SETTINGS_FLAGS,
  ...API_GROUP_FLAGS,
} satisfies CommandFlags;

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
