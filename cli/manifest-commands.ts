/** The commands that ask no cluster: previews of manifests, and the operator's own manifests. */
import { DEFAULT_SETTINGS, type Settings } from '../constructs/kit/settings.js';
import type { Parser } from '../runner/config/flags.js';
import { domain, integer, namespaces } from '../runner/config/parsers.js';
import { VERSION } from '../runner/version.js';
import type { Arguments } from './arguments.js';
import type { Run } from './command.js';
import { crdManifest, installManifest } from './install.js';
import { OPERATOR_NAMES } from './operators.js';
import { render } from './render.js';
import { servedBy } from './serves.js';
import { readSources } from './source.js';
import { UsageError } from './usage.js';

const MAX_ID = 2147483647;

export const renderCommand: Run = (args) => {
  const files = args.list('filename');
  if (files.length === 0) throw new UsageError('render needs -f FILE, -f FOLDER or -f -');
  const options = {
    apiGroup: apiGroupOf(args),
    settings: settingsOf(args),
    serves: args.value('serves', served),
  };
  const { text, problems, notes } = render(readSources(files, args.has('recursive')), options);
  return { out: text, err: [...notes, ...problems], code: problems.length > 0 ? 1 : 0 };
};

export const crdsCommand: Run = (args) => ({ out: crdManifest(apiGroupOf(args)), code: 0 });

export const installCommand: Run = (args) => {
  const replicas = args.value('replicas', integer(1, 10));
  const watchNamespaces = args.value('namespaces', namespaces);
  const namespaced = args.has('namespaced');
  if (namespaced && !watchNamespaces?.length) {
    throw new UsageError(
      '--namespaced needs --namespaces NAMES: the operator has no rights elsewhere',
    );
  }
  const group = apiGroupOf(args);
  const image = args.value('image', imageName);
  const out = installManifest({
    version: VERSION,
    namespaced,
    platformIds: args.has('platform-ids'),
    limitEgress: args.has('limit-egress'),
    ...(args.has('no-webhooks') ? { webhooks: false } : {}),
    ...(image === undefined ? {} : { image }),
    ...(replicas === undefined ? {} : { replicas }),
    ...(watchNamespaces === undefined ? {} : { watchNamespaces }),
    ...(group === undefined ? {} : { apiGroup: group }),
  });
  return { out, code: 0 };
};

/** The API group that was asked for. @throws UsageError */
export function apiGroupOf(args: Arguments): string | undefined {
  return args.value('api-group', domain(2));
}

/** What the operator's administrator decides, as the flags say it. @throws UsageError */
export function settingsOf(args: Arguments): Settings {
  return {
    ...given('defaultUid', args.value('default-uid', integer(1, MAX_ID))),
    ...given('defaultGid', args.value('default-gid', integer(0, MAX_ID))),
    ...given('defaultFsGroup', args.value('default-fsgroup', integer(0, MAX_ID))),
    clusterDomain: args.value('cluster-domain', domain(1)) ?? DEFAULT_SETTINGS.clusterDomain,
  };
}

function given<K extends keyof Settings>(
  key: K,
  value: number | undefined,
): { readonly [k in K]?: number } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [k in K]?: number };
}

/** Names of operators, separated by commas → the APIs that they serve. */
const served: Parser<readonly string[]> = {
  allowed: `${OPERATOR_NAMES.join(', ')}, separated by commas`,
  parse: (text) => {
    const names = text.split(',').map((name) => name.trim());
    const kinds = names.map((name) => servedBy(name));
    return kinds.every((list) => list !== undefined) ? kinds.flat() : undefined;
  },
};

const imageName: Parser<string> = {
  allowed: 'a container image, such as registry.example.com/app-operator:1.0',
  parse: (text) => (/^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$/.test(text) ? text : undefined),
};
