import type { Command } from '../../arguments/command.js';
import { SHELLS } from './scripts.js';

export const completion: Command = {
  name: 'completion',
  summary: 'print the completion script of a shell',
  synopsis: SHELLS.join('|'),
  details: `
  bash    source <(app-operator completion bash)
  zsh     source <(app-operator completion zsh)
  fish    app-operator completion fish | source`,
  flags: {},
  positionals: { most: 1, complete: SHELLS },
  load: async () => (await import('./run.js')).runCompletion,
};
