import type {
  AppBench,
  BenchReplicas,
  ComponentResources,
  QueueWorkers,
  WorkerAutoscaling,
} from '../api/bench.js';
import { databaseOperator } from '../integrations/index.js';
import { assignsIds } from '../integrations/openshift/assigned-ids.js';
import type { DatabaseTls, GatewayRef, GunicornSettings, WebAutoscaling } from '../kit/api.js';
import type { ServerRef } from '../kit/database-operator.js';
import { refuse, type Problem, type Refusal } from '../kit/errors.js';
import { metadataKeysOf, type MetadataKeys } from '../kit/metadata-keys.js';
import { bareHost, benchNames, serviceHost } from '../kit/names.js';
import type { ClusterReader } from '../kit/kind.js';
import { resolveApps } from './apps.js';
import {
  MARIADB_PORT,
  POSTGRES_PORT,
  REDIS_CACHE_PORT,
  REDIS_QUEUE_PORT,
} from '../kit/constants.generated.js';
import type { DatabaseServer, DatabaseTlsPlan, SecretKey } from './database.js';
import { caOf, tlsPlan } from './database-tls.js';
import { frappeImage, type FrappeImage } from './image.js';
import type { ComponentPodTemplates, PodTemplates } from './pod-template.js';
import { templateProblems } from './pod-template-rules.js';
import { resolveSecurity, type ResolvedSecurity } from './security.js';

/** What a bench offers to its own pods and to its sites, with every default decided. */
export interface BenchModel extends PodTemplates {
  readonly name: string;
  readonly namespace: string;
  readonly metadataKeys: MetadataKeys;
  readonly image: FrappeImage;
  /** Images whose assets the volume of the sites hides: their pods copy them. */
  readonly assetsInSites: readonly string[];
  readonly security: ResolvedSecurity;
  readonly sitesVolume: {
    readonly claim: string;
    /** Whether all pods that mount it must be on one node. */
    readonly onOneNode: boolean;
  };
  readonly apps: readonly string[];
  /** Prefix of the bench's queue names (`bench_id`): several benches may share one Redis server. */
  readonly queuePrefix: string;
  readonly redis: RedisServers;
  readonly database: DatabaseServer;
  /** The server of a database operator, in mode `operator`. */
  readonly operatorServer?: ServerRef;
  readonly componentReplicas: BenchReplicas;
  readonly componentResources: ComponentResources;
  readonly gunicorn: GunicornSettings;
  readonly webAutoscaling: WebAutoscaling | undefined;
  readonly workerAutoscaling: WorkerAutoscaling;
  /** Seconds between two looks of the scheduler; the framework's number when not given. */
  readonly schedulerTickSeconds: number | undefined;
  /** Workers of further queues. */
  readonly workers: readonly QueueWorkers[];
  readonly domain: {
    readonly suffix?: string;
    readonly ingressClassName?: string;
    readonly gatewayRef?: GatewayRef;
    readonly issuer?: string;
  };
  readonly clusterDomain: string;
  /** Changes with the keys of `siteConfig` that processes read at their start, once they are set. */
  readonly configurationRestart?: string;
  readonly network: {
    /** Whether there are NetworkPolicies. */
    readonly policies: boolean;
    readonly kedaNamespace: string;
    readonly operatorNamespace: string;
  };
}

export type RedisServers =
  | {
      readonly external: false;
      readonly host: string;
      readonly cachePort: number;
      readonly queuePort: number;
      readonly password: SecretKey;
    }
  | {
      readonly external: true;
      readonly cacheUrl: SecretKey;
      readonly queueUrl: SecretKey;
      /** The certificate of their private authority. */
      readonly ca?: SecretKey;
    };

export const DEFAULT_PORTS = { mariadb: MARIADB_PORT, postgres: POSTGRES_PORT } as const;
export const ROOT_USERS = { mariadb: 'root', postgres: 'postgres' } as const;

/**
 * What of a bench is decided by its spec, the operator's settings and the platform alone.
 * @throws Stalled where a pod template would break the pods: then nothing of the bench or in its sites
 *   is written
 */
export function benchModel(
  bench: AppBench,
  reader: Pick<ClusterReader, 'settings' | 'serves'>,
): BenchModel {
  refuse(invalidBench(bench));
  return modelOfValid(bench, reader);
}

/** The model of a bench whose pod templates are known to be valid. */
export function modelOfValid(
  bench: AppBench,
  reader: Pick<ClusterReader, 'settings' | 'serves'>,
): BenchModel {
  const { spec, status } = bench;
  const { settings } = reader;
  const { name, namespace = 'default' } = bench.metadata;
  const names = benchNames(name);
  const operatorServer = serverRef(bench);
  const host = (service: string): string => serviceHost(service, namespace, settings.clusterDomain);
  return {
    name,
    namespace,
    metadataKeys: metadataKeysOf(bench),
    image: frappeImage(bench),
    security: resolveSecurity(spec.security, settings, assignsIds(reader), status?.ids),
    apps: resolveApps(bench).apps,
    queuePrefix: `${namespace}.${name}`,
    ...benchRecord(bench),
    ...podTemplates(spec),
    ...processes(spec),
    sitesVolume: sitesVolume(spec, names.sites),
    redis: redisServers(spec, names.redisSecret, host(names.redis)),
    database: databaseServer(bench, names, host),
    ...(operatorServer ? { operatorServer } : {}),
    componentReplicas: { ...spec.componentReplicas },
    componentResources: { ...spec.componentResources },
    webAutoscaling: spec.webAutoscaling,
    workerAutoscaling: spec.workerAutoscaling ?? {},
    domain: spec.domainConfig ?? {},
    clusterDomain: settings.clusterDomain,
    network: {
      policies: spec.networkPolicy?.enabled !== false,
      kedaNamespace: settings.kedaNamespace,
      operatorNamespace: settings.operatorNamespace,
    },
  };
}

type Spec = AppBench['spec'];

/** What the bench's status records of its pods. */
function benchRecord({
  status = {},
}: AppBench): Pick<BenchModel, 'assetsInSites' | 'configurationRestart'> {
  const restart = status.siteConfig?.restart;
  return {
    assetsInSites: status.assets?.inSites ?? [],
    ...(restart === undefined ? {} : { configurationRestart: restart }),
  };
}

function podTemplates(spec: Spec): PodTemplates {
  return {
    podTemplate: spec.podTemplate ?? {},
    // They are known to be valid.
    componentPodTemplates: (spec.componentPodTemplates ?? {}) as ComponentPodTemplates,
  };
}

/** What is wrong with the pod templates of a bench. */
export function benchTemplateProblems(bench: AppBench): readonly Problem[] {
  return templateProblems(bench.spec.componentPodTemplates, {
    group: metadataKeysOf(bench).group,
    // Each pod of the bench has this password in its configuration.
    secrets: [benchNames(bench.metadata.name).redisSecret],
  });
}

/** Why a bench that another resource names cannot be used. */
export function invalidBench(bench: AppBench): readonly Refusal[] {
  return invalidOther(`AppBench "${bench.metadata.name}"`, benchTemplateProblems(bench));
}

/** Why another resource than the reconciled one cannot be used: its own status has the problems. */
export function invalidOther(other: string, problems: readonly Problem[]): readonly Refusal[] {
  if (problems.length === 0) return [];
  const message = `${other} has pod templates that are not valid; see its condition Ready`;
  return [{ reason: 'InvalidSpec', message }];
}

function sitesVolume({ storage }: Spec, claim: string): BenchModel['sitesVolume'] {
  return {
    claim: storage.existingClaim ?? claim,
    onOneNode: storage.accessMode === 'ReadWriteOnce',
  };
}

function processes(spec: Spec): Pick<BenchModel, 'gunicorn' | 'schedulerTickSeconds' | 'workers'> {
  return {
    gunicorn: spec.gunicorn ?? {},
    schedulerTickSeconds: spec.schedulerTickIntervalSeconds,
    workers: spec.workers ?? [],
  };
}

/** @param secret with the generated password */
function redisServers({ redisConfig }: Spec, secret: string, host: string): RedisServers {
  const { urlsSecretRef, caSecretRef } = redisConfig?.external ?? {};
  if (urlsSecretRef !== undefined) {
    return {
      external: true,
      cacheUrl: { secret: urlsSecretRef.name, key: 'cache' },
      queueUrl: { secret: urlsSecretRef.name, key: 'queue' },
      ...(caSecretRef ? { ca: caOf(caSecretRef.name) } : {}),
    };
  }
  return {
    external: false,
    host,
    cachePort: REDIS_CACHE_PORT,
    queuePort: REDIS_QUEUE_PORT,
    password: { secret, key: 'password' },
  };
}

function databaseServer(
  bench: AppBench,
  names: ReturnType<typeof benchNames>,
  host: (service: string) => string,
): DatabaseServer {
  const { spec } = bench;
  const { provider, mode, port = DEFAULT_PORTS[provider], rootSecretRef } = spec.dbConfig;
  const plan = serverTlsPlan(spec.dbConfig.tls);
  const tls = plan ? { tls: plan } : {};
  switch (mode) {
    case 'managed':
      return {
        provider,
        host: host(names.database),
        port,
        root: {
          user: ROOT_USERS[provider],
          password: { secret: names.databaseRoot, key: 'password' },
        },
        ...tls,
      };
    case 'external': {
      const secret = rootSecretRef?.name ?? names.databaseRoot;
      return {
        provider,
        host: bareHost(spec.dbConfig.host ?? ''),
        port,
        root: {
          user: { secret, key: 'username' },
          password: { secret, key: 'password' },
        },
        ...tls,
      };
    }
    case 'operator': {
      // Its object is read by databaseOperatorServer().
      const service = databaseOperator(provider).serviceOf(serverRef(bench)?.name ?? '');
      return { provider, host: bareHost(spec.dbConfig.host ?? host(service)), port, ...tls };
    }
  }
}

/** Of a server that this operator runs, the Secret of its certificate has the CA too. */
export function serverTlsPlan(tls: DatabaseTls | undefined): DatabaseTlsPlan | undefined {
  const own = tls?.serverCertificateSecretRef?.name;
  return tlsPlan(tls, own === undefined ? undefined : caOf(own));
}

function serverRef({ spec }: AppBench): ServerRef | undefined {
  return spec.dbConfig[databaseOperator(spec.dbConfig.provider).serverField];
}
