/**
 * A real Prometheus with the scrape configuration of docs/monitoring.md. It scrapes the operator
 * over HTTPS with the token of a service account, and the exporter of a bench whose Redis, MariaDB
 * and PostgreSQL are real. Debian's Prometheus knows no Kubernetes: it gets every port of every
 * Service with its labels as targets, and relabelling chooses.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSite, API_VERSION } from '../cluster/support/builders.js';
import type { Live } from '../cluster/support/objects.js';
import type { Operator } from '../cluster/support/operator.js';
import { type Database, startMariaDb, startPostgres } from '../jobs/databases.js';
import {
  daemon,
  eventually,
  required,
  type Redis,
  redisCli,
  ROOT,
  SCRIPTS,
  startRedis,
  temporaryDirectory,
} from '../jobs/servers.js';
import { install } from '../unit/install-manifest.js';

const PASSWORD = 'site-password';
export const BENCH = 'erp';
const METRICS = `${BENCH}-metrics`;

/** A sample of Prometheus: an instant query's has a value. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

export interface MonitoringStack {
  readonly cluster: Cluster;
  readonly operator: Operator;
  /** Namespace of bench and sites. */
  readonly namespace: string;
  /** Another namespace, with a foreign exporter whose series name the namespace of the bench. */
  readonly liar: string;
  /** URL of Prometheus. */
  readonly prometheus: string;
  /** The `data` of an answer of Prometheus' API. @throws where it is an error */
  api<T>(path: string, parameters?: Readonly<Record<string, string>>): Promise<T>;
  query(expr: string): Promise<readonly Sample[]>;
  /** Runs a command of Redis on the bench's queues. */
  redis(...args: readonly string[]): string;
  readonly databases: readonly [mariadb: Database, postgres: Database];
  readonly stop: () => Promise<void>;
}

/**
 * @param interval how often is scraped and evaluated, as Prometheus writes durations
 * @param name of a namespace that does not exist; without it there is a fresh one
 */
export async function startStack(interval = '1s', name?: string): Promise<MonitoringStack> {
  const [cluster, redis, mariadb, postgres] = await Promise.all([
    startCluster(),
    startRedis('queue'),
    startMariaDb(),
    startPostgres(),
  ]);
  const stop = async (): Promise<void> => {
    await Promise.all([redis.stop(), mariadb.stop(), postgres.stop(), cluster.stop()]);
  };
  try {
    return await observed({ cluster, redis, databases: [mariadb, postgres], stop }, interval, name);
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Parts extends Pick<MonitoringStack, 'cluster' | 'databases' | 'stop'> {
  readonly redis: Redis;
}

/** Starts benches and sites, an operator, an exporter, and a Prometheus that scrapes them. */
async function observed(parts: Parts, interval: string, name?: string): Promise<MonitoringStack> {
  const { cluster, redis, databases } = parts;
  const directory = temporaryDirectory();
  const namespace = name ?? (await cluster.namespace());
  if (name !== undefined) await cluster.controlPlane.kubectl(['create', 'namespace', name]);

  const metricsPort = await freePort();
  const operator = await cluster.operator(
    [`--metrics-secure-bind-address=127.0.0.1:${metricsPort}`],
    {
      namespaces: [namespace],
    },
  );
  await cluster.controlPlane.kubectl(['apply', '--filename=-'], scraperRights());
  const token = join(directory, 'token');
  const words = ['create', 'token', 'prometheus', '--namespace=default', '--duration=1h'];
  writeFileSync(token, (await cluster.controlPlane.kubectl(words)).trim());

  // Two sites get Ready; the bench of the third does not exist.
  await cluster.apply(
    namespace,
    aBench(BENCH),
    aSite('shop', { bench: BENCH }),
    aSite('books', { bench: BENCH, workloads: 'Shared' }),
    aSite('lost', { bench: 'no-such-bench' }),
    nightly(),
  );
  await cluster.ready('AppBench', namespace, BENCH);
  for (const site of ['shop', 'books']) await cluster.ready('AppSite', namespace, site);
  // What the backup's pod would have left, had it been a real one.
  const status = { lastSuccessfulTime: new Date(Date.now() - 3_600_000).toISOString() };
  await cluster.patchStatus('SiteBackup', namespace, 'nightly', { status });
  await cluster.patch('SiteBackup', namespace, 'nightly', { spec: { backoffLimit: 1 } });

  const exporterPort = await startExporter(directory, namespace, redis, databases);
  const liar = `${namespace}-liar`;
  const lies = await startLiar(namespace);
  const metricsOf = (await cluster.list('Service', namespace)).find(
    ({ metadata }) => metadata.name === METRICS,
  );
  assert.ok(metricsOf);
  const forged = { ...metricsOf, metadata: { ...metricsOf.metadata, namespace: liar } };
  const targets = [
    ...(await cluster.list('Service', namespace)),
    ...(install().filter(({ kind }) => kind === 'Service') as Live[]),
  ].flatMap((service) =>
    discovered(service, {
      [OPERATOR.metricsService]: { https: metricsPort },
      [METRICS]: { metrics: exporterPort },
    }),
  );

  const port = await freePort();
  const config = join(directory, 'prometheus.yml');
  const forgeries = discovered(forged, { [METRICS]: { metrics: lies.port } });
  writeFileSync(config, prometheusConfig(interval, token, [...targets, ...forgeries]));
  const prometheus = `http://127.0.0.1:${port}`;
  const server = daemon(
    [
      required('prometheus'),
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    {},
  );
  const api = async <T>(
    path: string,
    parameters: Readonly<Record<string, string>> = {},
  ): Promise<T> => {
    const response = await fetch(
      `${prometheus}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`,
    );
    const answer = (await response.json()) as { status: string; error?: string; data: T };
    assert.equal(answer.status, 'success', `${JSON.stringify(parameters)}: ${answer.error ?? ''}`);
    return answer.data;
  };
  try {
    await eventually('Prometheus answers', async () => (await fetch(`${prometheus}/-/ready`)).ok);
  } catch (error) {
    throw new Error(server.log(), { cause: error });
  }
  return {
    cluster,
    operator,
    namespace,
    liar,
    prometheus,
    databases,
    redis: (...args) => redisCli(redis.port, redis.password, ...args),
    api,
    query: async (expr) =>
      (await api<{ readonly result: readonly Sample[] }>('query', { query: expr })).result,
    stop: async () => {
      lies.close();
      await Promise.all([server.stop(), parts.stop()]);
    },
  };
}

/**
 * The configuration of the documentation, with short intervals, and with files in place of service
 * discovery.
 */
function prometheusConfig(interval: string, token: string, targets: readonly Target[]): string {
  const page = readFileSync(join(ROOT, 'docs/monitoring.md'), 'utf8');
  const [, text = ''] = /<!-- scrape configuration -->\n+```yaml\n([^]*?)```/.exec(page) ?? [];
  interface ScrapeConfig {
    readonly authorization?: object;
    readonly kubernetes_sd_configs: readonly object[];
  }
  const config = parse(text) as { readonly scrape_configs: readonly ScrapeConfig[] };
  assert.equal(config.scrape_configs.length, 2);
  return stringify({
    ...config,
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: [join(ROOT, 'dist/monitoring/prometheus-rules.yaml')],
    scrape_configs: config.scrape_configs.map((job) => ({
      ...job,
      ...(job.authorization ? { authorization: { credentials_file: token } } : {}),
      kubernetes_sd_configs: undefined,
      static_configs: targets,
    })),
  });
}

/** A service account that may read the operator's metrics, and nothing else. */
function scraperRights(): string {
  const rbac = 'rbac.authorization.k8s.io';
  const name = 'app-operator-metrics-reader';
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'prometheus', namespace: 'default' } }, // prettier-ignore
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRole',
        metadata: { name },
        rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
      },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
        subjects: [{ kind: 'ServiceAccount', name: 'prometheus', namespace: 'default' }],
      },
    ],
  });
}

/** Targets in the format of file discovery. */
interface Target {
  readonly targets: readonly [string];
  readonly labels: Readonly<Record<string, string>>;
}

/** The ports behind a Service; a closed port where nothing listens. */
function discovered(
  { metadata, spec }: Live,
  listening: Readonly<Record<string, Readonly<Record<string, number>>>>,
): readonly Target[] {
  const { ports = [] } = (spec ?? {}) as { readonly ports?: readonly { readonly name: string }[] };
  const labels = Object.entries(metadata.labels ?? {}).map(([key, value]) => {
    return [`__meta_kubernetes_service_label_${key.replaceAll(/\W/g, '_')}`, value] as const;
  });
  return ports.map(({ name }) => ({
    targets: [`127.0.0.1:${listening[metadata.name]?.[name] ?? 1}`],
    labels: {
      ...Object.fromEntries(labels),
      __meta_kubernetes_namespace: metadata.namespace ?? '',
      __meta_kubernetes_endpoint_port_name: name,
    },
  }));
}

function nightly() {
  return {
    apiVersion: API_VERSION,
    kind: 'SiteBackup',
    metadata: { name: 'nightly' },
    spec: {
      siteRef: { name: 'shop' },
      schedule: '0 2 * * *',
      destination: { pvc: { claimName: 'backups' } },
    },
  };
}

/** A foreign program behind a Service with the labels of an exporter. */
async function startLiar(
  namespace: string,
): Promise<{ readonly port: number; readonly close: () => void }> {
  const labels = `namespace="${namespace}",exported_namespace="${namespace}",bench="forged"`;
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(`# TYPE app_workers gauge\napp_workers{${labels},queue="short"} 7\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The exporter of the bench, on the servers that its volume would name. */
async function startExporter(
  directory: string,
  namespace: string,
  redis: Redis,
  [mariadb, postgres]: MonitoringStack['databases'],
): Promise<number> {
  mariadb.sql(`CREATE DATABASE shop; CREATE USER shop IDENTIFIED BY '${PASSWORD}'; GRANT ALL ON shop.* TO shop`); // prettier-ignore
  postgres.sql(`CREATE ROLE books WITH LOGIN PASSWORD '${PASSWORD}'`);
  postgres.sql('CREATE DATABASE books OWNER books');
  const sites = join(directory, 'bench/sites');
  const login = (database: Database, name: string): object => ({
    db_type: database.type,
    db_host: '127.0.0.1',
    db_port: database.port,
    db_name: name,
    db_password: PASSWORD,
  });
  const write = (path: string, config: object): void => {
    mkdirSync(join(sites, path, '..'), { recursive: true });
    writeFileSync(join(sites, path), JSON.stringify(config));
  };
  write('common_site_config.json', {
    redis_queue: `redis://:${encodeURIComponent(redis.password)}@127.0.0.1:${redis.port}`,
  });
  const ofShop = { ...login(mariadb, 'shop'), bench_id: `${namespace}.${BENCH}.shop` };
  write('shop.example.com/site_config.json', ofShop);
  write('books.example.com/site_config.json', login(postgres, 'books'));
  const port = await freePort();
  daemon([required('python3'), join(SCRIPTS, 'bench_metrics.py')], {
    NAMESPACE: namespace,
    BENCH,
    BENCH_DIR: join(directory, 'bench'),
    LISTEN_PORT: String(port),
    CACHE_SECONDS: '0.5',
    PYTHONDONTWRITEBYTECODE: '1',
  });
  return port;
}
