import { siteNames } from '../../../constructs/kit/names.js';
import type { Adoption, Entry } from './adoption.js';

/** Commands under their headings. */
export interface Steps {
  readonly heading: string;
  readonly lines: readonly string[];
}

/** What the user runs, in this order. Nothing of the release is changed by anything else. */
export function stepsOf(adoption: Adoption, program: string): readonly Steps[] {
  return [
    { heading: 'Before', lines: before(adoption) },
    { heading: 'Take over', lines: takeOver(adoption, program) },
    { heading: 'The way back', lines: wayBack(adoption) },
  ];
}

function quoted(text: string): string {
  return /^[A-Za-z0-9_./:=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function before({ release, bench, servers, entries }: Adoption): readonly string[] {
  const kubectl = `kubectl -n ${release.namespace}`;
  const { root, redis } = servers;
  const key = root?.key.replaceAll('.', String.raw`\.`) ?? '';
  const password = root
    ? `"$(${kubectl} get secret ${root.secret} -o jsonpath='{.data.${key}}' | base64 -d)"`
    : '"$ROOT_PASSWORD"';
  const url = (kind: 'cache' | 'queue'): string =>
    redis[kind] === undefined ? `"$REDIS_${kind.toUpperCase()}_URL"` : quoted(redis[kind]);
  const { name } = bench.metadata;
  const user = root?.user ?? '"$ROOT_USER"';
  return [
    `${kubectl} create secret generic ${name}-root --from-literal=username=${root ? quoted(user) : user} --from-literal=password=${password}`,
    `${kubectl} create secret generic ${name}-redis-urls --from-literal=cache=${url('cache')} --from-literal=queue=${url('queue')}`,
    ...entries.map(
      (entry) => `${kubectl} get ${entry.kind} ${entry.name} -o yaml > ${fileOf(entry)}`,
    ),
  ];
}

function fileOf({ kind, name }: Entry): string {
  return `${name}.${kind}.yaml`;
}

function takeOver(adoption: Adoption, program: string): readonly string[] {
  const { release, bench, sites, entries, deployments } = adoption;
  const kubectl = `kubectl -n ${release.namespace}`;
  const { name } = bench.metadata;
  const scheduler = deployments.filter((one) => one.name.endsWith('-scheduler'));
  const others = deployments.filter((one) => !scheduler.includes(one));
  const waited = [`appbench/${name}`, ...sites.map(({ metadata }) => `appsite/${metadata.name}`)];
  return [
    ...scaled(kubectl, scheduler, 0),
    `${program} adopt --release ${release.name} -n ${release.namespace} -o yaml > ${name}.yaml   # with your --site and --bench`,
    `kubectl apply -f ${name}.yaml`,
    `${kubectl} wait --for=condition=Ready --timeout=15m ${waited.join(' ')}`,
    ...entries.map(({ kind, name: entry }) => `${kubectl} delete ${kind} ${entry}`),
    ...scaled(kubectl, others, 0),
  ];
}

function wayBack({ release, bench, sites, entries, deployments }: Adoption): readonly string[] {
  const kubectl = `kubectl -n ${release.namespace}`;
  const { name } = bench.metadata;
  const counts = [...new Set(deployments.map(({ replicas }) => replicas))].toSorted(
    (a, b) => a - b,
  );
  const patch = (kind: string, target: string, spec: object): string =>
    `${kubectl} patch ${kind} ${target} --type merge -p '${JSON.stringify({ spec })}'`;
  const names = sites.map(({ metadata }) => metadata.name);
  return [
    ...counts
      .filter((count) => count > 0)
      .flatMap((count) =>
        scaled(
          kubectl,
          deployments.filter(({ replicas }) => replicas === count),
          count,
        ),
      ),
    ...deployments
      .filter(({ replicas }) => replicas > 0)
      .slice(0, 1)
      .map(
        () =>
          `${kubectl} wait --for=condition=Available --timeout=5m ${deployments
            .filter(({ replicas }) => replicas > 0)
            .map((one) => `deployment/${one.name}`)
            .join(' ')}`,
      ),
    ...entries.map((entry) => `kubectl apply -f ${fileOf(entry)}`),
    ...(entries.length > 0
      ? names.map((site) => patch('appsite', site, { ingress: { enabled: false } }))
      : []),
    ...entries.map(
      ({ kind }) =>
        `${kubectl} wait --for=delete --timeout=2m ${names.map((site) => `${kind}/${siteNames(site).ingress}`).join(' ')}`,
    ),
    ...names.map((site) => patch('appsite', site, { paused: true })),
    patch('appbench', name, { paused: true }),
    `${kubectl} scale deployment -l 'app-operator.io/owner in (${[`AppBench.${name}`, ...names.map((site) => `AppSite.${site}`)].join(',')})' --replicas=0`,
  ];
}

function scaled(
  kubectl: string,
  deployments: Adoption['deployments'],
  replicas: number,
): readonly string[] {
  if (deployments.length === 0) return [];
  const names = deployments.map(({ name }) => name);
  return [`${kubectl} scale deployment ${names.join(' ')} --replicas=${replicas}`];
}
