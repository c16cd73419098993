import type { Command } from '../../arguments/command.js';
import { INSTALL_FLAGS } from './flags.js';

export const install: Command<typeof INSTALL_FLAGS> = {
  name: 'install',
  summary: 'print the install manifest',
  flags: INSTALL_FLAGS,
  load: async () => (await import('./run.js')).runInstall,
};
