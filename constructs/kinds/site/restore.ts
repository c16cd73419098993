import type * as k8s from '../../kit/k8s.js';
import type { SiteBackup } from '../../api/backup.js';
import {
  type BackupStore,
  backupStore,
  folderOf,
  requireStoreSecrets,
} from '../../frappe/backup-store.js';
import type { StatusPart } from '../../frappe/tree-status.js';
import { RESTORE_FAILED } from '../../kit/constants.generated.js';
import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import { Waiting } from '../../kit/errors.js';
import { defined } from '../../kit/json/defined.js';
import { hashOf } from '../../kit/json/hash.js';
import { isObject } from '../../kit/json/is-object.js';
import { locationIn, matchingText, parseOutcome, shortText, timeIn } from '../../kit/job-result.js';
import type { Observation, ClusterReader } from '../../kit/kind.js';
import { metadataKeysOf } from '../../kit/metadata-keys.js';
import { siteNames } from '../../kit/names.js';
import type { AppSite, RestoredBackup, SiteRestore } from '../../api/site.js';
import { archiveStore } from './archive.js';
import { CLOSED_REASONS } from './upgrade.js';

/** The restore that `restoreFrom` requests. */
export interface SiteRestoreInputs {
  /** Hash of the request: each is restored once. */
  readonly id: string;
  /** Whether the data of a site that exists may be replaced. */
  readonly confirmed: boolean;
  /**
   * Where the backup is stored; undefined where it was restored, must not be, or cannot be found.
   */
  readonly store: BackupStore | undefined;
  /** Why it cannot be restored now. */
  readonly problem: { readonly reason: string; readonly message: string } | undefined;
}

/** The restore that `restoreFrom` requests; undefined where it is not given. */
export function resolveRestore(
  site: AppSite,
  reader: ClusterReader,
): SiteRestoreInputs | undefined {
  const { restoreFrom, siteName } = site.spec;
  if (!restoreFrom) return undefined;
  const { confirm = '' } = restoreFrom;
  const confirmed = confirm === siteName || confirm.startsWith(`${siteName} `);
  const id = requestOf(restoreFrom, confirmed ? confirm.slice(siteName.length).trim() : '');
  const common = { id, confirmed };
  const restored = site.status?.restored?.requests.includes(id) === true;
  if (restored || isRefused(site, confirmed)) {
    return { ...common, store: undefined, problem: undefined };
  }
  try {
    return { ...common, store: storeOf(site, restoreFrom, reader), problem: undefined };
  } catch (error) {
    if (!(error instanceof Waiting)) throw error;
    return { ...common, store: undefined, problem: error };
  }
}

/** A site that was Ready exists: without a confirmation its data is kept. */
function isRefused({ status }: AppSite, confirmed: boolean): boolean {
  return !confirmed && status?.appliedHash !== undefined;
}

/**
 * The siteName in the confirmation is not part of the hash: with or without it, the request is the
 * same.
 */
function requestOf({ backupRef, source, name, archive }: SiteRestore, confirmation: string) {
  const place = [backupRef?.name ?? null, source ?? null, name ?? null, confirmation];
  return hashOf(archive ? [...place, archive] : place);
}

/** @throws Waiting where the SiteBackup, or a Secret, does not exist */
function storeOf(
  site: AppSite,
  { backupRef, source, archive }: SiteRestore,
  reader: ClusterReader,
): BackupStore {
  const { namespace = 'default', name } = site.metadata;
  if (archive) return archiveStore(archive, namespace, reader);
  const backupName = backupRef?.name ?? '';
  const backup = backupRef && reader.get('SiteBackup', namespace, backupName, placeOf);
  const destination = backup?.destination ?? source;
  if (!destination) {
    const message = `spec.restoreFrom.backupRef.name: there is no SiteBackup "${backupName}" in namespace ${namespace}`;
    throw new Waiting('BackupMissing', message);
  }
  const path = source ? 'spec.restoreFrom.source' : `SiteBackup ${backupName}`;
  requireStoreSecrets(destination, namespace, path, reader);
  const folder = folderOf({ namespace, name: backup?.site ?? name });
  return backupStore(destination, folder, 'Read');
}

function placeOf({ spec }: SiteBackup) {
  return { destination: spec.destination, site: spec.siteRef.name };
}

/** The environment of the init Job for a restore. */
export function restoreEnv(
  { metadata, spec }: AppSite,
  restore: SiteRestoreInputs | undefined,
): readonly k8s.EnvVar[] {
  if (!restore) return [];
  const { id, confirmed, store } = restore;
  const { name, backupRef } = spec.restoreFrom ?? {};
  const owner = `${metadata.namespace ?? 'default'}/${backupRef?.name ?? ''}`;
  return [
    { name: 'RESTORE_ID', value: id },
    ...(confirmed ? [{ name: 'RESTORE_CONFIRMED', value: '1' }] : []),
    ...(name === undefined ? [] : [{ name: 'RESTORE_NAME', value: name }]),
    ...(store && backupRef ? [{ name: 'RESTORE_OWNER', value: owner }] : []),
    ...(store?.env ?? []),
  ];
}

/** What makes the init Job run again for a restore. */
export function restoreRun(restore: SiteRestoreInputs | undefined): readonly unknown[] {
  if (!restore) return [];
  return [restore.id, restore.confirmed, restore.problem === undefined];
}

interface Inputs {
  readonly data: { readonly restore: SiteRestoreInputs | undefined };
  readonly upgrade: unknown;
}

/** What a restore adds to a site's status. */
export function evaluateRestore(observation: Observation<AppSite, Inputs>): StatusPart {
  const { inputs, resource, pending } = observation;
  const restored = lastRestored(observation) ?? resource.status?.restored;
  if (!inputs.data.restore) return { fields: { restored } };
  const failed = pending.find(
    ({ kind, name, health }) =>
      kind === 'Job' &&
      name === siteNames(resource.metadata.name).init &&
      health.state === 'Failed',
  );
  const condition = conditionOf(observation, inputs.data.restore, restored, failed !== undefined);
  const closed = inputs.upgrade === undefined && CLOSED_REASONS.has(failed?.health.reason ?? '');
  return {
    conditions: closed ? [condition, CLOSED] : [condition],
    fields: { restored },
    stalled: closed,
  };
}

const CLOSED: ConditionResult = {
  type: 'Maintenance',
  status: 'True',
  reason: 'Restoring',
  message: 'visitors see a maintenance page, and jobs are deferred, until the restore ends',
};

function conditionOf(
  { resource, child }: Observation<AppSite, Inputs>,
  { id, confirmed, problem }: SiteRestoreInputs,
  restored: RestoredBackup | undefined,
  failed: boolean,
): ConditionResult {
  if (restored?.requests.includes(id)) {
    return restored.requests.at(-1) === id
      ? conditionResult('Restored', 'True', 'Restored', [restored.from, ...(restored.missing ?? [])].join('; ')) // prettier-ignore
      : conditionResult('Restored', 'True', 'RestoredBefore', `restored before ${restored.from}; to restore it again, change the confirmation`); // prettier-ignore
  }
  if (problem) return conditionResult('Restored', 'False', problem.reason, problem.message);
  if (isRefused(resource, confirmed)) {
    return conditionResult('Restored', 'False', 'RestoreNotConfirmed', whyKept(resource));
  }
  if (child('Job', siteNames(resource.metadata.name).init)?.health.state === 'Ready') {
    return conditionResult('Restored', 'Unknown', 'RestoreUnknown', `the termination message of the init Job is missing; to run it again, give the annotation ${metadataKeysOf(resource).runAgain} another value`); // prettier-ignore
  }
  return failed
    ? conditionResult(
        'Restored',
        'False',
        RESTORE_FAILED,
        'the backup is not restored; see the condition Ready',
      )
    : conditionResult(
        'Restored',
        'False',
        'Restoring',
        'the backup is being fetched, checked and loaded',
      );
}

/** Why the data of a site that exists is kept. */
function whyKept({ spec: { restoreFrom, siteName } }: AppSite): string {
  return restoreFrom?.archive
    ? 'spec.restoreFrom.archive: the site exists, and its data is kept: an archive makes a new site only; remove restoreFrom, or create another AppSite'
    : `spec.restoreFrom.confirm: the site exists, and its data is kept; to replace the data, set "${siteName}"`;
}

/**
 * The last restore, as the init Job reports it, see site_restore.py; undefined without a report.
 */
function lastRestored({
  resource,
  runs,
}: Observation<AppSite, Inputs>): RestoredBackup | undefined {
  const { init } = siteNames(resource.metadata.name);
  const run = runs.find(({ name, state }) => name === init && state === 'Succeeded');
  return restoredIn(parseOutcome(run?.message)['restored']);
}

/** Path of a folder on the bench's volume. */
const FOLDER = /^[\x21-\x7e]{1,512}$/;
/** Time of a backup, or name of the dump of an archive. */
const NAME = /^\P{Cc}+$/u;
const NAME_LENGTH = 255;
const MAX_MISSING = 6;
const MISSING_LENGTH = 240;
const REQUEST = /^[A-Za-z0-9-]{1,64}$/;
const MAX_REQUESTS = 50;

/** What the Job has restored; undefined where a part is missing, or is not of the form that the Job writes. */
function restoredIn(report: unknown): RestoredBackup | undefined {
  if (!isObject(report)) return undefined;
  const name = matchingText(shortText(report['name'], NAME_LENGTH), NAME);
  const time = timeIn(report['time']);
  const from = locationIn(report['location']);
  const before = matchingText(report['before'], FOLDER);
  const encryptionKey = KEYS.find((key) => key === report['encryptionKey']);
  const requests = requestsIn(report['requests']);
  if (!name || !time || !from || !encryptionKey || !requests) return undefined;
  const missing = missingIn(report['missing']);
  return { name, time, from, ...defined({ missing, before }), encryptionKey, requests };
}

/** What an archive did not hold; undefined where it held everything. */
function missingIn(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.slice(0, MAX_MISSING).flatMap((text) => shortText(text, MISSING_LENGTH) ?? []);
}

const KEYS = ['Secret', 'Backup'] as const satisfies readonly RestoredBackup['encryptionKey'][];

/** The last requests; undefined where one is missing: a request that is not known is carried out again. */
function requestsIn(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const last: readonly unknown[] = value.slice(-MAX_REQUESTS);
  const requests = last.flatMap((request) => matchingText(request, REQUEST) ?? []);
  return requests.length === last.length ? requests : undefined;
}
