import type { Parser } from '../../../runner/config/flags.js';
import type { Command, CommandFlags } from '../../arguments/command.js';
import { API_GROUP_FLAGS, FILE_FLAGS, SETTINGS_FLAGS } from '../../arguments/shared-flags.js';
import { integrationNames } from './optional-apis.js';

const INTEGRATION_NAMES = integrationNames();

const integrations: Parser<readonly string[]> = {
  allowed: `${INTEGRATION_NAMES.join(', ')}, separated by commas`,
  parse: (text) => {
    const names = text.split(',').map((name) => name.trim());
    return names.every((name) => INTEGRATION_NAMES.includes(name)) ? names : undefined;
  },
};

export const RENDER_FLAGS = {
  ...FILE_FLAGS,
  ...API_GROUP_FLAGS,
  serves: {
    value: integrations,
    placeholder: 'NAMES',
    help: `operators that the cluster has: ${INTEGRATION_NAMES.join(', ')}`,
    complete: INTEGRATION_NAMES,
  },
  ...SETTINGS_FLAGS,
} satisfies CommandFlags;

export const render: Command<typeof RENDER_FLAGS> = {
  name: 'render',
  summary: 'print every object of the benches and sites in files, without a cluster',
  flags: RENDER_FLAGS,
  load: async () => (await import('./run.js')).runRender,
};
