import type { SiteConfig, SiteConfigStatus } from '../kit/api.js';
import type { CommonStatus } from '../kit/condition.js';
import { COMMON_CONFIG_FILE } from '../kit/constants.generated.js';
import { canonicalJson, hashOf } from '../kit/json/hash.js';
import type { ClusterReader } from '../kit/kind.js';
import type { Resource } from '../kit/object.js';
import type { FirstLogin } from './first-login.js';
import { usableEntries } from './problems.js';
import { pathOfEntry, sourcesOf, type ConfigurationSource } from './sources.js';

/** A resource that declares keys of a configuration file. */
export type ConfiguredResource = Resource<
  { readonly siteConfig?: SiteConfig; readonly sso?: FirstLogin['sso'] },
  CommonStatus & { readonly phase?: string; readonly siteConfig?: SiteConfigStatus }
>;

type ConfiguredStatus = NonNullable<ConfiguredResource['status']>;

/** Type of the condition. */
export const CONFIGURATION_APPLIED = 'ConfigurationApplied';

/** Where the keys of a kind are set. */
export interface ConfigurationFile {
  readonly file: 'site_config.json' | typeof COMMON_CONFIG_FILE;
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
  /** The Secrets and ConfigMaps that do not exist. */
  readonly missing: readonly ConfigurationSource[];
  /** Whether the result of the last comparison holds. */
  readonly known: boolean;
  /** Whether the resource was never ready: it starts with its keys, or not at all. */
  readonly first: boolean;
  /** Whether a Job has set keys before. */
  readonly wasSet: boolean;
  /**
   * The task of the Job, which sets the keys: twelve hexadecimal digits that change with the content and
   * with each comparison that is due. Undefined where no Job is needed.
   */
  readonly taskHash: string | undefined;
  readonly entries: SiteConfig;
}

/** The file is compared so often: at the moments at which documents of the site are. */
const INTERVAL_MS = 3_600_000;
/** Keys that could not be set are tried again after this. */
const RETRY_MS = 600_000;
/** A Job whose result was lost is repeated after this. */
const LOST_MS = 60_000;

/** Reasons of values that are left out. */
const LEFT_OUT = ['SecretMissing', 'ConfigMapMissing', 'KeyMissing', 'ValueInvalid'];
/** Reasons of a result that holds until something changes. */
const RESULTS: ReadonlySet<string> = new Set(['Applied', 'Restarting', 'SetupFailed', ...LEFT_OUT]);

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
  const sources = sourcesOf({ ...login, siteConfig: entries }, namespace, reader, spec);
  const hash = contentHash(uid, { entries, sources, login });
  const known = isKnown(status, hash);
  const missing = sources.filter(({ problem }) => problem !== undefined);
  const isWanted = isWantedNow(resource, { hash, known, init: props.init }, reader);
  return {
    ...props,
    login,
    hash,
    entries,
    restart: restartOf(props.file, { entries, sources, all: spec.siteConfig ?? [] }),
    missing,
    known,
    first: !wasSet(before) && !wasReady(status),
    wasSet: before !== undefined,
    taskHash: isWanted ? taskHashOf(hash, props.init, before) : undefined,
  };
}

/** Whether a condition is of values that are left out, while all others are set. */
export function isOfLeftOut(reason: string): boolean {
  return LEFT_OUT.includes(reason);
}

/** Whether a Job has to set or to compare the keys. */
function isWantedNow(
  { metadata: { uid = '' }, status }: ConfiguredResource,
  { hash, known, init }: { readonly hash: string; readonly known: boolean; readonly init: string },
  reader: ClusterReader,
): boolean {
  const before = status?.siteConfig;
  if (before?.hash !== hash) return true;
  const last = status?.conditions?.find(({ type }) => type === CONFIGURATION_APPLIED);
  if (last?.reason === 'JobFailed' && before.outcome === 'Failed') {
    return reader.isDue(before.lastSyncTime, LOST_MS);
  }
  return !known || before.init !== init || isDue(before, uid, reader);
}

/** Another one after each result: the time of the last one is a part of it. */
function taskHashOf(hash: string, init: string, before: SiteConfigStatus | undefined): string {
  return hashOf([hash, init, before?.lastSyncTime ?? '']).slice(0, 12);
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

/** The usable entries, with their values in one order of keys, as all that is synthesized. */
function entriesOf({ siteConfig }: ConfiguredResource['spec']): SiteConfig {
  return JSON.parse(canonicalJson(usableEntries(siteConfig))) as SiteConfig;
}

function isKnown({ siteConfig, conditions }: ConfiguredStatus, hash: string): boolean {
  if (siteConfig?.hash !== hash) return false;
  // What was left out, or why it failed, is in the condition only, which may have changed since.
  const last = conditions?.find(({ type }) => type === CONFIGURATION_APPLIED);
  return RESULTS.has(last?.reason ?? '');
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
  props: {
    readonly entries: SiteConfig;
    readonly sources: readonly ConfigurationSource[];
    readonly all: SiteConfig;
  },
): string | undefined {
  if (file !== COMMON_CONFIG_FILE) return undefined;
  const read = props.entries.flatMap((entry) => {
    if (!READ_AT_START.has(entry.key)) return [];
    const at = `${pathOfEntry(entry.key, props.all)}.`;
    const source = props.sources.find(({ path }) => path.startsWith(at));
    return [[entry, source?.version ?? '']];
  });
  return read.length === 0 ? undefined : hashOf(read);
}
