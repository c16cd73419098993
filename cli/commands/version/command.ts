import type { Command } from '../../arguments/command.js';
import { outputFlags } from '../../arguments/shared-flags.js';

export const VERSION_FLAGS = outputFlags('text', 'json');

export const version: Command<typeof VERSION_FLAGS> = {
  name: 'version',
  summary: 'print the version',
  flags: VERSION_FLAGS,
  load: async () => (await import('./run.js')).runVersion,
};
