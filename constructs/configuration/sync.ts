import type { SiteConfig, SiteConfigStatus } from '../kit/api.js';
import type { BatchProgress } from '../kit/batch.js';
import type { CommonStatus } from '../kit/condition.js';
import { COMMON_CONFIG_FILE } from '../kit/constants.generated.js';
import { canonicalJson, hashOf } from '../kit/json/hash.js';
import type { ClusterReader } from '../kit/kind.js';
import { identity, type Resource } from '../kit/object.js';
import type { FirstLogin } from './first-login.js';
import type { ConfigurationRequest, ConfigurationResult } from './request.js';
import { sourcesOf, type ConfigurationSource } from './sources.js';

/** A resource that declares keys of a configuration file. */
export type ConfiguredResource = Resource<
  { readonly siteConfig?: SiteConfig },
  CommonStatus & { readonly phase?: string; readonly siteConfig?: SiteConfigStatus }
>;

type ConfiguredStatus = NonNullable<ConfiguredResource['status']>;

/** Type of the condition. */
export const CONFIGURATION_APPLIED = 'ConfigurationApplied';

/** Where the keys of a kind are set. */
export interface ConfigurationFile {
  readonly file: 'site_config.json' | typeof COMMON_CONFIG_FILE;
  readonly request: ConfigurationRequest['kind'];
  readonly progress: 'BenchConfigurationProgress' | 'SiteConfigurationProgress';
  /** Name of the Job that sets them. */
  readonly job: string;
  /** Name of the init Job, which comes first. */
  readonly initJob: string;
}

/** The state of the keys that a resource declares. */
export interface ConfigurationSync extends ConfigurationFile {
  readonly hash: string;
  /** What the first users of a site need; undefined where the resource declares nothing of it. */
  readonly login: FirstLogin | undefined;
  /** Run of the init Job. */
  readonly init: string;
  /** Hash of the keys that processes read at their start. */
  readonly restart: string | undefined;
  /** The first Secret or ConfigMap that does not exist. */
  readonly missing: ConfigurationSource | undefined;
  /** Whether the result of the last comparison holds. */
  readonly known: boolean;
  /** Whether the resource was never ready: it starts with its keys, or not at all. */
  readonly first: boolean;
  /** undefined where the keys are known to be as declared. */
  readonly wanted: ConfigurationRequest | undefined;
  /** The result of the request; undefined where it is not done. */
  readonly result: ConfigurationResult | undefined;
  /** Why the request makes no progress. */
  readonly stuck: BatchProgress | undefined;
}

/** The file is compared so often: at the moments at which documents of the site are. */
const INTERVAL_MS = 3_600_000;
/** Keys that could not be set are tried again after this. */
const RETRY_MS = 600_000;

/** Reasons by which the Job says that it could not use a value. */
const RESULTS: ReadonlySet<string> = new Set(['KeyMissing', 'ValueInvalid', 'SetupFailed']);

/** Keys that processes read once, at their start. */
const READ_AT_START: ReadonlySet<string> = new Set([
  'background_process_niceness',
  'default_site',
  'developer_mode',
  'webserver_port',
]);

/**
 * The state of the keys that a resource declares; undefined where it declares none, and never did.
 * @param init what the init Job is created to do: the file is compared after each of its runs
 The entries are known to be valid.
 */
export function syncConfiguration(
  resource: ConfiguredResource,
  props: ConfigurationFile & { readonly init: string; readonly login?: FirstLogin | undefined },
  reader: ClusterReader,
): ConfigurationSync | undefined {
  const { metadata, spec, status = {} } = resource;
  const entries = entriesOf(spec);
  const { siteConfig: before } = status;
  const { login } = props;
  if (entries.length === 0 && (login ?? before) === undefined) return undefined;
  const { namespace = 'default', uid = '' } = metadata;
  const sources = sourcesOf({ ...login, siteConfig: entries }, namespace, reader);
  const hash = contentHash(uid, { entries, sources, login });
  const known = isKnown(status, hash);
  const isWanted = !known || before?.init !== props.init || isDue(before, uid, reader);
  return {
    ...props,
    login,
    hash,
    restart: restartOf(props.file, entries, sources),
    missing: sources.find(({ problem }) => problem !== undefined),
    known,
    first: !wasSet(before) && !wasReady(status),
    ...(isWanted ? requested(resource, { ...props, hash, entries, login }, reader) : NOT_REQUESTED),
  };
}

function contentHash(
  uid: string,
  props: {
    readonly entries: SiteConfig;
    readonly sources: readonly ConfigurationSource[];
    readonly login: FirstLogin | undefined;
  },
): string {
  const versions = props.sources.map(({ version = '' }) => version);
  return hashOf([uid, props.entries, versions, ...(props.login ? [props.login] : [])]);
}

/** The entries, with their values in one order of keys, as all that is synthesized. */
function entriesOf({ siteConfig = [] }: ConfiguredResource['spec']): SiteConfig {
  return JSON.parse(canonicalJson(siteConfig)) as SiteConfig;
}

type Requested = Pick<ConfigurationSync, 'wanted' | 'result' | 'stuck'>;

const NOT_REQUESTED: Requested = { wanted: undefined, result: undefined, stuck: undefined };

/** The request, and what has become of it. */
function requested(
  { apiVersion, metadata: { namespace = 'default', name }, status }: ConfiguredResource,
  props: Pick<ConfigurationSync, 'hash' | 'init' | 'login' | 'request' | 'progress'> & {
    readonly entries: SiteConfig;
  },
  reader: ClusterReader,
): Requested {
  const { hash, init, login, request, progress, entries } = props;
  const id = hashOf([hash, init, status?.siteConfig?.lastSyncTime ?? '']).slice(0, 12);
  const metadata = { name: id, namespace };
  return {
    wanted: {
      ...{ apiVersion, kind: request, metadata, owner: name, id, entries },
      ...(login ? { login } : {}),
    },
    result: reader.get('ConfigurationResult', namespace, id, identity<ConfigurationResult>),
    stuck: reader.get(progress, namespace, name, identity<BatchProgress>),
  };
}

function isKnown({ siteConfig, conditions }: ConfiguredStatus, hash: string): boolean {
  if (siteConfig?.hash !== hash) return false;
  // Why it failed is in the condition only, which may have changed since.
  const last = conditions?.find(({ type }) => type === CONFIGURATION_APPLIED);
  return siteConfig.outcome === 'Applied' || RESULTS.has(last?.reason ?? '');
}

function wasSet(before: SiteConfigStatus | undefined): boolean {
  return before !== undefined && (before.outcome === 'Applied' || before.keys.length > 0);
}

function wasReady({ phase, appliedHash }: ConfiguredStatus): boolean {
  if (phase === 'Failed') return appliedHash !== undefined;
  return phase === 'Ready' || phase === 'Updating';
}

function isDue(
  { outcome, lastSyncTime }: SiteConfigStatus,
  uid: string,
  reader: ClusterReader,
): boolean {
  const afterMs = outcome === 'Failed' ? RETRY_MS : INTERVAL_MS;
  return reader.isDue(lastSyncTime, afterMs, { alignedBy: uid });
}

/** Of a bench only: a site's own file is read for each request and each job. */
function restartOf(
  file: ConfigurationFile['file'],
  entries: SiteConfig,
  sources: readonly ConfigurationSource[],
): string | undefined {
  if (file !== COMMON_CONFIG_FILE) return undefined;
  const read = entries.flatMap((entry, index) => {
    if (!READ_AT_START.has(entry.key)) return [];
    const source = sources.find(({ path }) => path.startsWith(`spec.siteConfig[${index}].`));
    return [[entry, source?.version ?? '']];
  });
  return read.length === 0 ? undefined : hashOf(read);
}
