import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Manifest } from '../../cluster/support/objects.js';
import { TAGS } from '../framework.js';

/**
 * What a release of the chart erpnext of frappe/helm has, as far as its sites need it: names, labels,
 * commands, folders and values are those of 8.0.75. Its database and Redis are outside of the release.
 */
const BENCH = '/home/frappe/frappe-bench';
const FULL_NAME = 'erp-erpnext';
const IMAGE = { repository: 'frappe/erpnext', tag: TAGS.bench, pullPolicy: 'IfNotPresent' };
const LABELS = {
  'helm.sh/chart': 'erpnext-8.0.75',
  'app.kubernetes.io/name': 'erpnext',
  'app.kubernetes.io/instance': 'erp',
  'app.kubernetes.io/managed-by': 'Helm',
};
const PARTS: Readonly<Record<string, readonly string[] | undefined>> = {
  gunicorn: undefined,
  nginx: ['nginx-entrypoint.sh'],
  scheduler: ['bench', 'schedule'],
  socketio: ['node', `${BENCH}/apps/frappe/socketio.js`],
  'worker-d': ['bench', 'worker', '--queue', 'default'],
  'worker-l': ['bench', 'worker', '--queue', 'long,default,short'],
  'worker-s': ['bench', 'worker', '--queue', 'short,default'],
};
const PORTS: Readonly<Record<string, number>> = { gunicorn: 8000, nginx: 8080, socketio: 9000 };
const BACKENDS = [
  { name: 'BACKEND', value: `${FULL_NAME}-gunicorn:8000` },
  { name: 'SOCKETIO', value: `${FULL_NAME}-socketio:9000` },
  { name: 'FRAPPE_SITE_NAME_HEADER', value: '$host' },
];
const VOLUMES = [
  { name: 'sites-dir', persistentVolumeClaim: { claimName: FULL_NAME, readOnly: false } },
  { name: 'logs', emptyDir: {} },
];
const MOUNTS = [
  { name: 'sites-dir', mountPath: `${BENCH}/sites` },
  { name: 'logs', mountPath: `${BENCH}/logs` },
];

export interface FrappeReleaseProps {
  readonly hosts: readonly string[];
  readonly adminPassword: string;
  /** Its Service, and the Secret with root's password. */
  readonly database: { readonly host: string; readonly secret: string };
  readonly redis: { readonly cache: string; readonly queue: string };
}

/** The values of a user. */
export function valuesOf({ hosts, adminPassword, database, redis }: FrappeReleaseProps): object {
  return {
    image: IMAGE,
    dbHost: database.host,
    dbPort: 3306,
    dbRootUser: 'root',
    dbExistingSecret: database.secret,
    dbExistingSecretPasswordKey: 'password',
    externalRedis: redis,
    'valkey-cache': { enabled: false },
    'valkey-queue': { enabled: false },
    persistence: { worker: { storageClass: 'standard', size: '1Gi' } },
    ingress: {
      enabled: true,
      hosts: hosts.map((host) => ({ host, paths: [{ path: '/', pathType: 'Prefix' }] })),
    },
    jobs: {
      createMultipleSites: {
        enabled: true,
        adminPassword,
        sites: hosts.map((name) => ({ name, installApps: ['erpnext'] })),
      },
    },
  };
}

/** Writes a chart to a folder that makes the release. */
export function writeChart(folder: string, props: FrappeReleaseProps): void {
  const objects = [
    claim(),
    ...Object.keys(PARTS).map(deployment),
    ...Object.keys(PORTS).map(service),
    configureJob(props),
    sitesJob(props),
    ingress(props.hosts),
  ];
  const chart = { apiVersion: 'v2', name: 'erpnext', version: '8.0.75', appVersion: 'v16.32.3' };
  const values = {
    nginx: { replicaCount: 1, environment: { frappeSiteNameHeader: '$host' } },
    persistence: { worker: { enabled: true, accessModes: ['ReadWriteMany'] } },
    ingress: { enabled: false },
    'valkey-cache': { enabled: true },
    'valkey-queue': { enabled: true },
  };
  mkdirSync(path.join(folder, 'templates'), { recursive: true });
  // JSON is YAML.
  writeFileSync(path.join(folder, 'Chart.yaml'), JSON.stringify(chart));
  writeFileSync(path.join(folder, 'values.yaml'), JSON.stringify(values));
  writeFileSync(
    path.join(folder, 'templates', 'all.yaml'),
    objects.map((object) => JSON.stringify(object)).join('\n---\n'),
  );
}

function object(kind: string, apiVersion: string, name: string, rest: object): Manifest {
  return { apiVersion, kind, metadata: { name, labels: LABELS }, ...rest };
}

function claim(): Manifest {
  const resources = { requests: { storage: '1Gi' } };
  return object('PersistentVolumeClaim', 'v1', FULL_NAME, {
    spec: { accessModes: ['ReadWriteMany'], resources },
  });
}

function partLabels(part: string): Readonly<Record<string, string>> {
  return {
    'app.kubernetes.io/name': `erpnext-${part}`,
    'app.kubernetes.io/instance': `erp-${part}`,
  };
}

function deployment(part: string): Manifest {
  const labels = partLabels(part);
  const port = PORTS[part];
  const container = {
    name: part,
    image: `${IMAGE.repository}:${IMAGE.tag}`,
    ...(PARTS[part] ? { args: PARTS[part] } : {}),
    ...(part === 'nginx' ? { env: BACKENDS } : {}),
    ...(port ? { readinessProbe: { tcpSocket: { port }, periodSeconds: 2 } } : {}),
    volumeMounts: MOUNTS,
  };
  return object('Deployment', 'apps/v1', `${FULL_NAME}-${part}`, {
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: podSpec({ containers: [container], volumes: VOLUMES }),
      },
    },
  });
}

function podSpec(spec: object): object {
  return {
    // As the chart's: the image's user may write to the volume.
    securityContext: { supplementalGroups: [1000], runAsUser: 1000, fsGroup: 1000 },
    ...spec,
  };
}

/** The Service of nginx has the release's own name. */
function service(part: string): Manifest {
  const name = part === 'nginx' ? FULL_NAME : `${FULL_NAME}-${part}`;
  const ports = [{ name: 'http', port: PORTS[part], targetPort: PORTS[part] }];
  return object('Service', 'v1', name, { spec: { selector: partLabels(part), ports } });
}

function job(name: string, script: readonly string[], env: readonly object[]): Manifest {
  const container = {
    name: 'job',
    image: `${IMAGE.repository}:${IMAGE.tag}`,
    command: ['bash', '-c'],
    args: [['set -e', ...script].join('\n')],
    env,
    volumeMounts: MOUNTS,
  };
  return object('Job', 'batch/v1', `${FULL_NAME}-${name}`, {
    spec: {
      backoffLimit: 3,
      template: {
        spec: podSpec({ restartPolicy: 'Never', containers: [container], volumes: VOLUMES }),
      },
    },
  });
}

function configureJob({ database, redis }: FrappeReleaseProps): Manifest {
  const script = [
    'ls -1 apps > sites/apps.txt',
    '[[ -f sites/common_site_config.json ]] || echo "{}" > sites/common_site_config.json',
    'bench set-config -gp db_port 3306',
    `bench set-config -g db_host ${database.host}`,
    `bench set-config -g redis_cache ${redis.cache}`,
    `bench set-config -g redis_queue ${redis.queue}`,
    `bench set-config -g redis_socketio ${redis.queue}`,
    'bench set-config -gp socketio_port 9000',
  ];
  return job('conf-bench', script, []);
}

function sitesJob({ hosts, adminPassword, database }: FrappeReleaseProps): Manifest {
  const script = hosts.map(
    (host) =>
      `bench new-site ${host} --no-mariadb-socket --db-type=mariadb --db-host=${database.host} --db-port=3306 --admin-password=$ADMIN_PASSWORD --mariadb-root-username=root --mariadb-root-password=$DB_ROOT_PASSWORD --install-app=erpnext`,
  );
  const ready =
    'until grep -q redis_socketio sites/common_site_config.json; do sleep 1; done; wait-for-it -t 180';
  return job(
    'new-sites',
    [`${ready} ${database.host}:3306`, ...script],
    [
      { name: 'ADMIN_PASSWORD', value: adminPassword },
      {
        name: 'DB_ROOT_PASSWORD',
        valueFrom: { secretKeyRef: { name: database.secret, key: 'password' } },
      },
    ],
  );
}

function ingress(hosts: readonly string[]): Manifest {
  const backend = { service: { name: FULL_NAME, port: { name: 'http' } } };
  const paths = [{ path: '/', pathType: 'Prefix', backend }];
  return object('Ingress', 'networking.k8s.io/v1', FULL_NAME, {
    spec: { rules: hosts.map((host) => ({ host, http: { paths } })) },
  });
}
