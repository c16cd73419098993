/** What becomes of values of the chart that no field holds. The first pattern that fits counts. */
interface Note {
  /** `*` is one name; a value below it is meant too. */
  readonly pattern: string;
  readonly lost: boolean;
  readonly instead: string;
}

const kept = (pattern: string, instead: string): Note => ({ pattern, lost: false, instead });
const lost = (pattern: string, instead: string): Note => ({ pattern, lost: true, instead });

const SERVER = 'the server goes on as it is, an object of the release';
const UNUSED = 'without effect in the chart, which runs a server of its own';
const ONCE = 'a Job that has run; it is not run again';

const NOTES: readonly Note[] = [
  kept('persistence.worker', 'the claim is used as it is, and never deleted'),
  kept('persistence.logs', 'processes log to the output of their containers; the claim stays'),
  ...['mariadb', 'postgresql'].flatMap((name) =>
    ['', '-sts', '-subchart'].map((kind) => kept(`${name}${kind}`, SERVER)),
  ),
  ...['redis', 'valkey', 'dragonfly'].flatMap((name) =>
    ['-cache', '-queue'].map((kind) => kept(`${name}${kind}`, SERVER)),
  ),
  ...['dbHost', 'dbPort', 'dbRootUser', 'dbRootPassword'].map((name) => kept(name, UNUSED)),
  ...['dbExistingSecret', 'dbExistingSecretPasswordKey'].map((name) => kept(name, UNUSED)),
  kept('dbRds', 'no administrator’s rights are needed for a site that exists'),
  kept('nameOverride', 'the names of the release’s objects are known'),
  kept('fullnameOverride', 'the names of the release’s objects are known'),
  kept('nginx.environment.upstreamRealIPRecursive', 'always on'),
  ...['nginx', 'socketio', 'worker.*'].flatMap((part) => [
    kept(`${part}.service`, 'ports are fixed: 8080, 8000 and 9000'),
    kept(`${part}.livenessProbe`, 'the operator’s own probes'),
    kept(`${part}.readinessProbe`, 'the operator’s own probes'),
  ]),
  kept('worker.healthProbe', 'the operator’s own probes'),
  kept('podSecurityContext', 'fsGroup gives the pods the volume'),
  kept('securityContext', 'all pods pass Pod Security restricted'),
  kept('serviceAccount', 'pods have no token'),
  kept('*.defaultTopologySpread', 'replicas prefer other nodes and zones'),
  kept('ingress.ingressName', 'the Ingress is <site>-ingress'),
  lost('nginx.config', 'AppBench spec.proxy has limits, times and headers'),
  lost('worker.gunicorn.args', 'AppBench spec.gunicorn has workers, threads and timeout'),
  lost(
    'worker.gunicorn.autoscaling',
    'docs/autoscaling.md: AppBench spec.webAutoscaling has the CPU',
  ),
  lost('*.autoscaling', 'AppBench spec.componentReplicas: a fixed number'),
  lost('worker.*.autoscaling', 'AppBench spec.componentReplicas: KEDA needs a Redis of the bench'),
  ...['nginx', 'socketio', 'worker.*'].flatMap((part) =>
    ['initContainers', 'sidecars'].map((name) =>
      lost(
        `${part}.${name}`,
        'AppBench spec.componentPodTemplates: volumes have other names there',
      ),
    ),
  ),
  lost('nginx.topologySpreadConstraints', 'AppBench spec.componentPodTemplates'),
  lost('worker.topologySpreadConstraints', 'AppBench spec.componentPodTemplates'),
  lost('httproute', 'your HTTPRoute to Service <bench>-nginx, port 8080: docs/gateway-api.md'),
  lost('jobs.backup', 'SiteBackup: docs/backup.md'),
  lost('jobs.backupMultipleSites', 'SiteBackup: docs/backup.md'),
  lost('jobs.custom', 'SiteJob: docs/spec/sitejob.md'),
  kept('jobs', ONCE),
];

/** What becomes of a value. */
export function noteOn(value: string): Omit<Note, 'pattern'> {
  const found = NOTES.find(({ pattern }) => fits(pattern, value));
  return (
    found ?? {
      lost: true,
      instead: 'unknown to the command: see docs/helm-values.md',
    }
  );
}

function fits(pattern: string, value: string): boolean {
  const source = pattern.replaceAll('.', '[.]').replaceAll('*', '[^.]+');
  return new RegExp(`^${source}($|[.])`).test(value);
}
