import type { SiteConfigStatus } from '../kit/api.js';
import { conditionResult, type ConditionResult } from '../kit/condition.js';
import { matchingItems, reasonIn, resultEntries, shortText } from '../kit/job-result.js';
import { defined } from '../kit/json/defined.js';
import type { JobRun, Observation, StatusResult } from '../kit/kind.js';
import type { FirstLogin } from './first-login.js';
import { missingText } from './sources.js';
import {
  CONFIGURATION_APPLIED,
  isOfLeftOut,
  type ConfigurationSync,
  type ConfiguredResource,
} from './sync.js';

/** What the declared keys add to the status of a resource. */
export interface ConfigurationEvaluation extends Required<
  Pick<StatusResult, 'conditions' | 'fields' | 'reconcileAgain'>
> {
  /** Why the resource is not ready: it has never had its keys. */
  readonly notReady: string | undefined;
  /** The result of the Job, where it has just ended. */
  readonly result: ConfigurationResult | undefined;
}

/** What the Job of a task says. */
export interface ConfigurationResult {
  readonly outcome: 'Changed' | 'Unchanged' | 'Failed';
  /** One CamelCase word; undefined where nothing failed, and nothing is left out. */
  readonly reason: string | undefined;
  readonly message: string;
  /** The keys that differed in the file. */
  readonly keys: readonly string[];
  /** What is not set, as `siteConfig[0]` and `sso[0]`: a place in what the Job was given. */
  readonly leftOut: readonly string[];
  /** When the Job ended, RFC 3339. */
  readonly time: string;
}

interface Context {
  readonly sync: ConfigurationSync;
  readonly before: SiteConfigStatus | undefined;
  readonly result: ConfigurationResult | undefined;
  /** The declared keys that are in the file. */
  readonly keys: readonly string[];
  readonly last: ConditionResult | undefined;
  /** The Job that makes no progress, and why. */
  readonly stuck: { readonly reason: string; readonly message: string } | undefined;
  /** Whether the Job may run: the file exists. */
  readonly prepared: boolean;
  /** Whether every workload runs what the tree says. */
  readonly rolledOut: boolean;
}

interface Evaluated {
  readonly condition?: ConditionResult;
  readonly status: SiteConfigStatus | undefined;
}

const OUTCOMES = ['Changed', 'Unchanged', 'Failed'] as const;
const MAX_MESSAGE = 1024;
const KEY = /^[\w.-]{1,255}$/;
const MAX_KEYS = 128;
const PLACE = /^(siteConfig|sso)\[\d{1,3}\]$/;
/** Without such a key the framework makes one, and what it encrypts with it is lost with the next. */
const ENCRYPTS = 'encryption_key';

/** What the declared keys add to a status. */
export function evaluateConfiguration<R extends ConfiguredResource, F>(
  observation: Observation<R, F>,
  sync: ConfigurationSync | undefined,
): ConfigurationEvaluation {
  if (!sync) {
    return { conditions: [], fields: {}, reconcileAgain: false, notReady: undefined, result: undefined }; // prettier-ignore
  }
  const context = contextOf(observation, sync);
  const { prepared, result } = context;
  const { condition, status: siteConfig } = evaluated(context);
  const isReported = sync.first && prepared && condition?.status === 'False';
  return {
    conditions: condition ? [condition] : [],
    fields: { siteConfig },
    // The next comparison is scheduled from now on.
    reconcileAgain: result !== undefined,
    notReady: isReported ? condition.message : undefined,
    result,
  };
}

/** Why the workloads of a resource that was never ready do not start yet. */
export function configurationBlock(sync: ConfigurationSync | undefined): string | undefined {
  if (!sync?.first) return undefined;
  const needed = sync.missing.find(({ value }) => value.endsWith(ENCRYPTS));
  return needed ? missingText(needed) : `waiting for Job ${sync.job}`;
}

function contextOf<R extends ConfiguredResource, F>(
  { resource, pending, advisory, complete, runs }: Observation<R, F>,
  sync: ConfigurationSync,
): Context {
  const before = resource.status?.siteConfig;
  const init = pending.find(({ kind, name }) => kind === 'Job' && name === sync.initJob);
  const result = resultOf(sync, runs);
  return {
    sync,
    before,
    result,
    keys: setKeys(sync, before, result),
    last: conditionBefore(resource),
    stuck: stuckJob(sync, advisory),
    prepared: !init || (init.health.state === 'Failed' && before !== undefined),
    rolledOut: complete && !pending.some(({ kind }) => kind === 'Deployment'),
  };
}

/** What the Job of the wanted task says; undefined where it has not ended. */
function resultOf(
  { taskHash, job }: ConfigurationSync,
  runs: readonly JobRun[],
): ConfigurationResult | undefined {
  const ended = runs.find((one) => one.name === job && one.taskHash === taskHash);
  if (taskHash === undefined || ended?.state !== 'Succeeded' || !ended.completionTime)
    return undefined;
  return parsedResult(taskHash, ended.message, ended.completionTime);
}

/**
 * The result in the termination message of `site_configuration.py`: `{"results": {"<task hash>": [outcome,
 * reason, message, keys]}}`. Any other message is a failure.
 */
export function parsedResult(
  taskHash: string,
  termination: string | undefined,
  time: string,
): ConfigurationResult {
  const [reported, code, why, keys, leftOut] = entryOf(taskHash, termination);
  const outcome = OUTCOMES.find((known) => known === reported);
  if (!outcome) {
    const message = 'its termination message is missing or has no result; it is tried again';
    return { outcome: 'Failed', reason: 'JobFailed', message, keys: [], leftOut: [], time };
  }
  return {
    outcome,
    reason: reasonIn(code),
    message: shortText(why, MAX_MESSAGE) ?? '',
    keys: matchingItems(keys, KEY, MAX_KEYS),
    leftOut: matchingItems(leftOut, PLACE, MAX_KEYS),
    time,
  };
}

function entryOf(taskHash: string, message = ''): readonly unknown[] {
  try {
    return resultEntries(message).find(([id]) => id === taskHash)?.[1] ?? [];
  } catch {
    return [];
  }
}

function stuckJob(
  { job }: ConfigurationSync,
  advisory: Observation<ConfiguredResource, unknown>['advisory'] = [],
): Context['stuck'] {
  const found = advisory.find(({ kind, name }) => kind === 'Job' && name === job);
  if (!found) return undefined;
  const { health, why } = found;
  if (health.state === 'Failed') {
    return { reason: 'JobFailed', message: `Job ${job}: ${why ?? health.message}` };
  }
  return why === undefined ? undefined : { reason: 'JobWaiting', message: `Job ${job}: ${why}` };
}

function evaluated(context: Context): Evaluated {
  const { sync, result } = context;
  if (result) return ended(context, result);
  return sync.taskHash === undefined || sync.known ? earlier(context) : waiting(context);
}

function ended(context: Context, result: ConfigurationResult): Evaluated {
  const { sync } = context;
  if (result.outcome === 'Failed') return failed(context, result);
  // Processes that have read a removed key at their start get another hash, and restart.
  if (sync.entries.length === 0 && !sync.login?.setup && !sync.login?.sso?.length) {
    return { status: undefined };
  }
  const { reason, message } = result;
  if (reason !== undefined && lacksEncryption(sync, result)) {
    const condition = leftOut(reason, `${message}; the processes do not start without it`);
    return { condition, status: failedStatus(context, result) };
  }
  const status = appliedStatus(context, result);
  if (reason === undefined) return { condition: applied(context, status), status };
  return { condition: leftOut(reason, `${message}; all else is set`), status };
}

/** The condition of values that are left out. */
function leftOut(reason: string, message: string): ConditionResult {
  switch (reason) {
    case 'SecretMissing':
      return notApplied('SecretMissing', message);
    case 'ConfigMapMissing':
      return notApplied('ConfigMapMissing', message);
    case 'KeyMissing':
      return notApplied('KeyMissing', message);
    default:
      return notApplied('ValueInvalid', message);
  }
}

/** Whether a resource would run for the first time without a key that encrypts what it writes. */
function lacksEncryption({ first, entries }: ConfigurationSync, { leftOut }: ConfigurationResult) {
  return (
    first &&
    entries.some(({ key }, index) => key.endsWith(ENCRYPTS) && leftOut.includes(placeOf(index)))
  );
}

/** Where an entry stands in what the Job was given. */
function placeOf(index: number): string {
  return `siteConfig[${index}]`;
}

/** The keys that are in the file: one that is left out stays as it was. */
function setKeys(
  { entries }: ConfigurationSync,
  before: SiteConfigStatus | undefined,
  result: ConfigurationResult | undefined,
): readonly string[] {
  if (!result) return before?.keys ?? [];
  return entries
    .map(({ key }) => key)
    .filter((key, index) => before?.keys.includes(key) || !result.leftOut.includes(placeOf(index)))
    .sort();
}

function failedStatus({ sync, before }: Context, { time }: ConfigurationResult): SiteConfigStatus {
  const { hash, init } = sync;
  const last = { hash, init, lastSyncTime: time, outcome: 'Failed' } as const;
  return { keys: [], ...before, ...last };
}

function failed(context: Context, result: ConfigurationResult): Evaluated {
  const { job } = context.sync;
  const { reason, message } = result;
  const status = failedStatus(context, result);
  const unchanged = `${message}; no key was changed`;
  switch (reason) {
    case 'JobFailed':
      return { condition: notApplied('JobFailed', `Job ${job}: ${message}`), status };
    case 'SetupFailed':
      return { condition: notApplied('SetupFailed', unchanged), status };
    default:
      return { condition: notApplied('ValueInvalid', unchanged), status };
  }
}

/** What the status says while the result of an earlier Job holds. */
function earlier(context: Context): Evaluated {
  const { before, last, rolledOut } = context;
  if (!before || before.outcome === 'Failed') {
    return { ...(last ? { condition: last } : {}), status: before };
  }
  const { restarting, ...rest } = before;
  const status = restarting && !rolledOut ? { ...rest, restarting } : rest;
  if (last && isOfLeftOut(last.reason)) return { condition: last, status };
  return { condition: applied(context, status), status };
}

function waiting({ sync, stuck, prepared, before }: Context): Evaluated {
  if (stuck && prepared)
    return { condition: notApplied(stuck.reason, stuck.message), status: before };
  const purpose = sync.login ? 'configure the site' : `set the keys of ${sync.file}`;
  const message = `waiting for Job ${prepared ? sync.job : sync.initJob} to ${purpose}`;
  return { condition: notApplied('Applying', message), status: before };
}

function notApplied(reason: string, message: string): ConditionResult {
  return conditionResult(CONFIGURATION_APPLIED, 'False', reason, message);
}

function appliedStatus(context: Context, result: ConfigurationResult): SiteConfigStatus {
  const { sync, before, keys } = context;
  const { hash, init, restart } = sync;
  const restarting = before !== undefined && (before.restart !== restart || before.restarting);
  return defined({
    hash,
    outcome: 'Applied',
    keys,
    lastSyncTime: result.time,
    init,
    restart,
    restarting: restarting ? true : undefined,
    repaired: repairOf(context, result) ?? before?.repaired,
  }) as SiteConfigStatus;
}

/** Keys that differed although they were known to be as declared. */
function repairOf(
  { before, sync }: Context,
  { keys, time }: ConfigurationResult,
): SiteConfigStatus['repaired'] {
  if (!sync.known || before?.outcome !== 'Applied' || keys.length === 0) return undefined;
  return { time, keys };
}

function applied(
  { sync: { file, login }, keys }: Context,
  { restarting }: SiteConfigStatus,
): ConditionResult {
  if (restarting) {
    const message = `the keys of ${file} are set; processes that read them at their start are being restarted`;
    return notApplied('Restarting', message);
  }
  const values = keys.length === 0 ? [] : [`${file} has the declared values: ${listed(keys)}`];
  const parts = [...(login ? loginParts(login) : []), ...values];
  const removed = login ? 'identity providers are deleted' : `keys are deleted from ${file}`;
  const message = parts.length === 0 ? `the removed ${removed}` : parts.join('; ');
  return conditionResult(CONFIGURATION_APPLIED, 'True', 'Applied', message);
}

function loginParts({ setup, sso = [] }: FirstLogin): readonly string[] {
  return [
    ...(setup ? ['the setup wizard is done'] : []),
    ...(sso.length === 0
      ? []
      : [`users log in with ${listed(sso.map(({ provider }) => provider))}`]),
  ];
}

function listed(keys: readonly string[]): string {
  const more = keys.length > 8 ? ` and ${keys.length - 8} more` : '';
  return `${keys.slice(0, 8).join(', ')}${more}`;
}

function conditionBefore({ status }: ConfiguredResource): ConditionResult | undefined {
  const found = status?.conditions?.find(({ type }) => type === CONFIGURATION_APPLIED);
  if (!found) return undefined;
  const { type, status: value, reason, message } = found;
  return { type, status: value, reason, message };
}
