import type { Command } from '../../arguments/command.js';
import { API_GROUP_FLAGS } from '../../arguments/shared-flags.js';

export const crds: Command<typeof API_GROUP_FLAGS> = {
  name: 'crds',
  summary: 'print the CustomResourceDefinitions',
  flags: API_GROUP_FLAGS,
  load: async () => (await import('./run.js')).runCrds,
};
