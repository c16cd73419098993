import { DEFAULT_SETTINGS, type Settings } from '../constructs/kit/settings.js';
import type { Parser } from '../runner/config/flags.js';
import { domain, integer, namespaces } from '../runner/config/parsers.js';
import { VERSION } from '../runner/version.js';
import { flags, valueOf } from './arguments.js';
import { crdManifest, installManifest } from './install.js';
import { render } from './render.js';
import { servedBy, SERVED_NAMES } from './serves.js';
import { readSources } from './source.js';
import { USAGE, UsageError } from './usage.js';

/** What a command ends with. */
export interface Outcome {
  readonly out: string;
  /** Lines for people. */
  readonly err?: readonly string[];
  readonly code: 0 | 1;
}

/** A command, from its arguments to what it prints. @throws UsageError */
export type Command = (argv: readonly string[]) => Outcome;

const MAX_ID = 2147483647;
const API_GROUP = { 'api-group': { type: 'string' } } as const;

export const COMMANDS: Readonly<Record<string, Command>> = {
  render: renderCommand,
  crds: (argv) => {
    const values = flags(argv, API_GROUP);
    return { out: crdManifest(apiGroup(values)), code: 0 };
  },
  install: installCommand,
  version: (argv) => {
    flags(argv, {});
    return { out: `${VERSION}\n`, code: 0 };
  },
  help: () => ({ out: USAGE, code: 0 }),
};

function renderCommand(argv: readonly string[]): Outcome {
  const values = flags(argv, {
    ...API_GROUP,
    filename: { type: 'string', short: 'f', multiple: true },
    recursive: { type: 'boolean', short: 'R', default: false },
    serves: { type: 'string' },
    'cluster-domain': { type: 'string' },
    'default-uid': { type: 'string' },
    'default-gid': { type: 'string' },
    'default-fsgroup': { type: 'string' },
  });
  if (!values.filename) throw new UsageError('render needs -f FILE, -f FOLDER or -f -');
  const options = {
    apiGroup: apiGroup(values),
    settings: settings(values),
    serves: valueOf('serves', values.serves, served),
  };
  const { text, problems, notes } = render(readSources(values.filename, values.recursive), options);
  return { out: text, err: [...notes, ...problems], code: problems.length > 0 ? 1 : 0 };
}

function installCommand(argv: readonly string[]): Outcome {
  const values = flags(argv, {
    ...API_GROUP,
    image: { type: 'string' },
    replicas: { type: 'string' },
    namespaces: { type: 'string' },
    namespaced: { type: 'boolean', default: false },
    'platform-ids': { type: 'boolean', default: false },
    'limit-egress': { type: 'boolean', default: false },
  });
  const replicas = valueOf('replicas', values.replicas, integer(1, 10));
  const watchNamespaces = valueOf('namespaces', values.namespaces, namespaces);
  if (values.namespaced && !watchNamespaces?.length) {
    throw new UsageError(
      '--namespaced needs --namespaces NAMES: the operator has no rights elsewhere',
    );
  }
  const group = apiGroup(values);
  const image = valueOf('image', values.image, imageName);
  const out = installManifest({
    version: VERSION,
    namespaced: values.namespaced,
    platformIds: values['platform-ids'],
    limitEgress: values['limit-egress'],
    ...(image === undefined ? {} : { image }),
    ...(replicas === undefined ? {} : { replicas }),
    ...(watchNamespaces === undefined ? {} : { watchNamespaces }),
    ...(group === undefined ? {} : { apiGroup: group }),
  });
  return { out, code: 0 };
}

function apiGroup(values: { readonly 'api-group'?: string | undefined }): string | undefined {
  return valueOf('api-group', values['api-group'], domain(2));
}

function settings(values: Readonly<Record<string, unknown>>): Settings {
  const id = (name: string, min: number): number | undefined =>
    valueOf(name, values[name] as string | undefined, integer(min, MAX_ID));
  const clusterDomain = values['cluster-domain'] as string | undefined;
  return {
    defaultUid: id('default-uid', 1) ?? DEFAULT_SETTINGS.defaultUid,
    defaultGid: id('default-gid', 0) ?? DEFAULT_SETTINGS.defaultGid,
    defaultFsGroup: id('default-fsgroup', 0) ?? DEFAULT_SETTINGS.defaultFsGroup,
    clusterDomain:
      valueOf('cluster-domain', clusterDomain, domain(1)) ?? DEFAULT_SETTINGS.clusterDomain,
  };
}

/** Names of operators, separated by commas → the APIs that they serve. */
const served: Parser<readonly string[]> = {
  allowed: `${SERVED_NAMES.join(', ')}, separated by commas`,
  parse: (text) => {
    const names = text.split(',').map((name) => name.trim());
    const kinds = names.map(servedBy);
    return kinds.every((list) => list !== undefined) ? kinds.flat() : undefined;
  },
};

const imageName: Parser<string> = {
  allowed: 'a container image, such as registry.example.com/app-operator:1.0',
  parse: (text) => (/^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$/.test(text) ? text : undefined),
};
