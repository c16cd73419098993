/** Flags that several commands have. */
import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { DEFAULT_IDS, DEFAULT_SETTINGS } from '../../constructs/kit/settings.js';
import type { Flag, Flags } from './command.js';
import { OPERATOR_NAMES } from '../commands/render/integrations.js';

const text = (value: string, help: string, more: Partial<Flag> = {}): Flag => ({
  type: 'string',
  value,
  help,
  ...more,
});

export const API_GROUP = {
  'api-group': text('GROUP', `API group of the custom resources (default ${DEFAULT_API_GROUP})`),
} satisfies Flags;

export const FILES = {
  filename: text('PATH', 'file of YAML or JSON, folder, or - for standard input; can be repeated', {
    short: 'f',
    multiple: true,
    complete: 'file',
  }),
  recursive: { type: 'boolean', short: 'R', help: 'take the folders in a folder too' },
} satisfies Flags;

export const SETTINGS = {
  'cluster-domain': text(
    'NAME',
    `DNS domain of the cluster (default ${DEFAULT_SETTINGS.clusterDomain})`,
  ),
  'default-uid': text('ID', `user of pods that name none (default ${DEFAULT_IDS.defaultUid})`),
  'default-gid': text('ID', `group of pods that name none (default ${DEFAULT_IDS.defaultGid})`),
  'default-fsgroup': text(
    'ID',
    `group of volumes where pods name none (default ${DEFAULT_IDS.defaultFsGroup})`,
  ),
} satisfies Flags;

export const SERVES = {
  serves: text('NAMES', `operators that the cluster has: ${OPERATOR_NAMES.join(', ')}`, {
    complete: OPERATOR_NAMES,
  }),
} satisfies Flags;

/** Which cluster is asked, and as whom: as kubectl has them. */
export const CLUSTER = {
  kubeconfig: text('FILE', 'kubeconfig file (default: KUBECONFIG, then ~/.kube/config)', {
    complete: 'file',
  }),
  context: text('NAME', "context in it (default: the file's current one)", { complete: 'context' }),
  namespace: text('NAME', "namespace (default: the context's, then default)", {
    short: 'n',
    complete: 'namespace',
  }),
} satisfies Flags;

export const ALL_NAMESPACES = {
  'all-namespaces': { type: 'boolean', short: 'A', help: 'all namespaces' },
} satisfies Flags;

/** The form of the answer. */
export function output(...forms: readonly string[]): Flags {
  return {
    output: text('FORM', `${forms.join(', ')} (default ${forms[0] ?? ''})`, {
      short: 'o',
      complete: forms,
    }),
  };
}
