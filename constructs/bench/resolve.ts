import { resolveApps } from '../frappe/apps.js';
import { benchModel, type BenchModel } from '../frappe/bench-model.js';
import { LONGEST_HOST, publicHosts } from '../frappe/domain.js';
import { GUNICORN_PORT } from '../frappe/constants.generated.js';
import { sitesOfBench } from '../frappe/indexes.js';
import { databaseOperatorServer } from '../frappe/database-operator-server.js';
import { redisVersion } from '../frappe/redis-version.js';
import { nameOwnerOf, isOlder, refuseSharedName, type NameOwner } from '../frappe/name-conflict.js';
import { WORKER_COMPONENTS } from '../frappe/worker.js';
import {
  scaledToZero,
  foreignScalers,
  type ForeignScalers,
  type WorkersWanted,
} from '../frappe/worker-scaling.js';
import { servesKeda, servesKedaLogins } from '../integrations/keda/autoscaling.js';
import type { Queue } from '../kit/api.js';
import { Stalled, Waiting, type Problem } from '../kit/errors.js';
import type { ClusterReader } from '../kit/kind.js';
import { benchNames, serviceHost, siteNames } from '../kit/names.js';
import { keyOf, uidOf } from '../kit/object.js';
import type { AppSite } from '../site/api.js';
import type { AppBench } from './api.js';
import type { NginxSite } from './nginx-config.js';
import { planUpgrade, progressOf, type UpgradePlan } from './upgrade.js';

/** What the tree of a bench depends on. */
export interface BenchInputs {
  /** What pods read of Redis at their start, see `redisVersion`. */
  readonly redisVersion: string | undefined;
  /** Why nothing but the passwords can be made yet. */
  readonly blockedReason: string | undefined;
  readonly model: BenchModel;
  /** All sites, also those that are refused. */
  readonly siteCount: number;
  /** The sites that requests are routed to. */
  readonly sites: readonly SiteEntry[];
  /** Whether KEDA is there. */
  readonly keda: boolean;
  /** Whether KEDA can be told how to log in to Redis: its definitions come one after the other. */
  readonly logins: boolean;
  /** The queues that nobody but the operator wakes. */
  readonly scaledToZero: readonly Queue[];
  /** The queues whose number somebody else has. */
  readonly foreignScalers: ForeignScalers;
  /** The sites' way to the bench's image; undefined where all are there. */
  readonly upgrade: UpgradePlan | undefined;
}

/** What a bench knows of a site: enough to route requests to it. */
export interface SiteEntry extends NameOwner {
  readonly siteName: string;
  /** The public host names. */
  readonly hosts: readonly string[];
  readonly dedicated: boolean;
}

/** @throws Stalled or Waiting, see `Kind.resolve` */
export function resolveBench(bench: AppBench, reader: ClusterReader): BenchInputs {
  const problems = benchProblems(bench);
  if (problems.length > 0) throw Stalled.invalid(problems);
  refuseSharedName(bench, 'AppSite', reader);
  const { namespace = 'default', name } = bench.metadata;
  for (const secret of referencedSecrets(bench)) {
    if (reader.get('Secret', namespace, secret.name, uidOf) === undefined) {
      throw new Waiting(
        'SecretMissing',
        `${secret.path}: the Secret "${secret.name}" is not there: create it in namespace ${namespace}`,
      );
    }
  }
  const model = modelOf(bench, reader);
  const version = redisVersion(model, reader);
  const keda = servesKeda(reader);
  const entries = reader.list(sitesOfBench, keyOf(namespace, name), siteEntry);
  const progress = reader.list(sitesOfBench, keyOf(namespace, name), progressOf);
  return {
    redisVersion: version,
    blockedReason:
      version === undefined ? `waiting for Secret ${benchNames(name).redisSecret}` : undefined,
    model,
    siteCount: entries.length,
    sites: firstOfEachHost(entries, bench.spec.domainConfig?.suffix),
    keda,
    logins: servesKedaLogins(reader),
    scaledToZero: scaledToZero(bench.status?.workerScaling),
    foreignScalers: foreignScalers(reader, namespace, benchNames(name).worker, (queue) =>
      benchWorkersWanted(bench, { model, keda }, queue),
    ),
    upgrade: planUpgrade(bench, model.image.reference, progress),
  };
}

/** What is asked for the bench's workers of a queue. */
export function benchWorkersWanted(
  { spec }: AppBench,
  { model, keda }: Pick<BenchInputs, 'model' | 'keda'>,
  queue: Queue,
): WorkersWanted {
  return {
    scaling: spec.workerAutoscaling?.[queue],
    replicas: spec.componentReplicas?.[WORKER_COMPONENTS[queue]],
    served: keda && !model.redis.external,
  };
}

function modelOf(bench: AppBench, reader: ClusterReader): BenchModel {
  const model = benchModel(bench, reader);
  if (bench.spec.dbConfig.mode !== 'operator') return model;
  return { ...model, database: databaseOperatorServer(bench, model, reader).server };
}

/** What is wrong in a spec that no schema can see. */
export function benchProblems({ spec }: Pick<AppBench, 'spec'>): readonly Problem[] {
  return resolveApps(spec).problems;
}

function referencedSecrets({ spec }: AppBench): { readonly path: string; readonly name: string }[] {
  const root = spec.dbConfig.rootSecretRef;
  const redis = spec.redisConfig?.external?.urlsSecretRef;
  return [
    ...(spec.dbConfig.mode === 'external' && root
      ? [{ path: 'spec.dbConfig.rootSecretRef.name', name: root.name }]
      : []),
    ...(redis ? [{ path: 'spec.redisConfig.external.urlsSecretRef.name', name: redis.name }] : []),
  ];
}

/** A site as its user wants it: its hosts are known with the bench's suffix. */
interface WantedEntry extends Omit<SiteEntry, 'hosts'> {
  readonly domain?: string;
  readonly aliases?: readonly string[];
}

function siteEntry(site: AppSite): WantedEntry {
  const { siteName, domain, aliases, workloads } = site.spec;
  return {
    ...nameOwnerOf(site),
    siteName,
    ...(domain ? { domain } : {}),
    ...(aliases ? { aliases } : {}),
    dedicated: workloads === 'Dedicated',
  };
}

/** A host name that two sites claim stays with the older one. Who does not get one says so in its own status. */
function firstOfEachHost(
  entries: readonly WantedEntry[],
  suffix: string | undefined,
): readonly SiteEntry[] {
  const taken = new Set<string>();
  const oldestFirst = [...entries].sort((a, b) => (isOlder(a, b) ? -1 : 1));
  const kept: SiteEntry[] = [];
  for (const { domain, aliases, ...entry } of oldestFirst) {
    const { siteName } = entry;
    const wanted = { siteName, ...(domain ? { domain } : {}), ...(aliases ? { aliases } : {}) };
    if (taken.has(siteName)) continue;
    const hosts = publicHosts(wanted, suffix).filter(
      (host) => host.length <= LONGEST_HOST && !taken.has(host),
    );
    for (const host of [siteName, ...hosts]) taken.add(host);
    kept.push({ ...entry, hosts });
  }
  return kept.sort((a, b) => compare(a.name, b.name));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The bench's sites as its proxy routes them. */
export function nginxSites({ model, sites }: BenchInputs): readonly NginxSite[] {
  return sites.map((site) => ({
    siteName: site.siteName,
    domains: site.hosts.filter((host) => host !== site.siteName),
    ...(site.dedicated ? { backend: backend(siteNames(site.name).gunicorn, model) } : {}),
  }));
}

/** Address of a web Service, for nginx. */
export function backend(service: string, model: BenchModel, port = GUNICORN_PORT): string {
  return `${serviceHost(service, model.namespace, model.clusterDomain)}:${port}`;
}
