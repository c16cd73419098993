import type { Parser } from '../../../runner/config/flag-parser.js';
import type { CommandFlags } from '../../arguments/command.js';
import { API_GROUP_FLAGS, FILE_FLAGS, SETTINGS_FLAGS } from '../../arguments/shared-flags.js';

/** Names of integrations. The command checks them: only it loads the integrations. */
const names: Parser<readonly string[]> = {
  allowed: 'names of integrations, separated by commas',
  parse: (text) => text.split(',').map((name) => name.trim()),
};

export const RENDER_FLAGS = {
  ...FILE_FLAGS,
  ...API_GROUP_FLAGS,
  serves: {
    value: names,
    placeholder: 'NAMES',
    help: 'operators that the cluster has, or none (default: what the files name)',
    complete: async () => (await import('./optional-apis.js')).integrationNames(),
  },
  ...SETTINGS_FLAGS,
} satisfies CommandFlags;
