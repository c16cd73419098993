import type { Command } from '../../arguments/command.js';
import { VERSION_FLAGS } from './flags.js';

export const version: Command<typeof VERSION_FLAGS> = {
  name: 'version',
  summary: 'print the version',
  flags: VERSION_FLAGS,
  load: async () => (await import('./run.js')).runVersion,
};
