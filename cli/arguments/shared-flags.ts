/** Flags that several commands have. */
import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import {
  DEFAULT_IDS,
  DEFAULT_SETTINGS,
  MAX_ID,
  type Settings,
} from '../../constructs/kit/operator-settings.js';
import { environmentVariable, type GivenValues } from '../../runner/config/flag-parser.js';
import { bool, domain, integer, namespace, oneOf, text } from '../../runner/config/parsers.js';
import type { CommandFlag, CommandFlags } from './command.js';
import { UsageError } from './errors.js';

/** A flag without a value. */
export function enable(help: string, short?: string): CommandFlag<boolean> {
  return { value: bool, help, ...(short === undefined ? {} : { short }) };
}

export const API_GROUP_FLAGS = {
  'api-group': {
    value: domain(2),
    placeholder: 'GROUP',
    help: `API group of the custom resources (default ${DEFAULT_API_GROUP})`,
  },
} satisfies CommandFlags;

export const FILE_FLAGS = {
  filename: {
    value: text,
    placeholder: 'PATH',
    help: 'file of YAML or JSON, folder, or - for standard input; can be repeated',
    short: 'f',
    multiple: true,
    complete: 'file',
  },
  recursive: enable('read the folders in a folder too', 'R'),
} satisfies CommandFlags;

export const SETTINGS_FLAGS = {
  'cluster-domain': {
    value: domain(1),
    placeholder: 'NAME',
    help: `DNS domain of the cluster (default ${DEFAULT_SETTINGS.clusterDomain})`,
  },
  'keda-namespace': {
    value: namespace,
    placeholder: 'NAME',
    help: `namespace of KEDA's operator (default ${DEFAULT_SETTINGS.kedaNamespace})`,
  },
  'operator-namespace': {
    value: namespace,
    placeholder: 'NAME',
    help: `namespace of this operator (default ${DEFAULT_SETTINGS.operatorNamespace})`,
  },
  'default-uid': {
    value: integer(1, MAX_ID),
    placeholder: 'ID',
    help: `user of pods whose resource sets none (default APP_DEFAULT_UID, then ${DEFAULT_IDS.defaultUid})`,
  },
  'default-gid': {
    value: integer(0, MAX_ID),
    placeholder: 'ID',
    help: `group of pods whose resource sets none (default APP_DEFAULT_GID, then ${DEFAULT_IDS.defaultGid})`,
  },
  'default-fsgroup': {
    value: integer(0, MAX_ID),
    placeholder: 'ID',
    help: `group of volumes of pods whose resource sets none (default APP_DEFAULT_FSGROUP, then ${DEFAULT_IDS.defaultFsGroup})`,
  },
} satisfies CommandFlags;

/** The cluster and the user, with the flags of kubectl. */
export const CLUSTER_FLAGS = {
  kubeconfig: {
    value: text,
    placeholder: 'FILE',
    help: 'kubeconfig file (default: KUBECONFIG, then ~/.kube/config)',
    complete: 'file',
  },
  context: {
    value: text,
    placeholder: 'NAME',
    help: 'context of the kubeconfig (default: its current context)',
  },
  namespace: {
    value: text,
    placeholder: 'NAME',
    help: "namespace (default: the context's namespace, then default)",
    short: 'n',
  },
} satisfies CommandFlags;

export const ALL_NAMESPACES_FLAGS = {
  'all-namespaces': enable('all namespaces', 'A'),
} satisfies CommandFlags;

/** `--output` with its forms; the first form is the default. */
export function outputFlags<const T extends string>(...forms: readonly T[]) {
  const output: CommandFlag<T> = {
    value: oneOf(Object.fromEntries(forms.map((form) => [form, form])) as Record<T, T>),
    placeholder: 'FORM',
    help: `${forms.join(', ')} (default ${forms[0] ?? ''})`,
    short: 'o',
    complete: forms,
  };
  return { output };
}

/**
 * The settings of the operator's administrator. Ids without a flag come from the variables that the
 * operator reads.
 * @throws UsageError for an id that is none
 */
export function settingsOf(
  values: GivenValues<typeof SETTINGS_FLAGS>,
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const ids = {
    defaultUid: values['default-uid'] ?? idOf('default-uid', env),
    defaultGid: values['default-gid'] ?? idOf('default-gid', env),
    defaultFsGroup: values['default-fsgroup'] ?? idOf('default-fsgroup', env),
  };
  const given = Object.entries(ids).filter(([, id]) => id !== undefined);
  return {
    ...(Object.fromEntries(given) as Partial<Settings>),
    clusterDomain: values['cluster-domain'] ?? DEFAULT_SETTINGS.clusterDomain,
    kedaNamespace: values['keda-namespace'] ?? DEFAULT_SETTINGS.kedaNamespace,
    operatorNamespace: values['operator-namespace'] ?? DEFAULT_SETTINGS.operatorNamespace,
  };
}

/** The id in the variable of a flag: `APP_DEFAULT_UID` for `default-uid`. */
function idOf(
  flag: 'default-uid' | 'default-gid' | 'default-fsgroup',
  env: Readonly<Record<string, string | undefined>>,
): number | undefined {
  const variable = environmentVariable(flag);
  const text = env[variable]?.trim();
  if (!text) return undefined;
  const { value } = SETTINGS_FLAGS[flag];
  const id = value.parse(text);
  if (id !== undefined) return id;
  throw new UsageError(`${variable}: got ${JSON.stringify(text)}, allowed: ${value.allowed}`);
}
