import type { Command } from '../../arguments/command.js';
import { RENDER_FLAGS } from './flags.js';

export const render: Command<typeof RENDER_FLAGS> = {
  name: 'render',
  summary: 'print every object of the benches and sites in files, without a cluster',
  flags: RENDER_FLAGS,
  load: async () => (await import('./run.js')).runRender,
};
