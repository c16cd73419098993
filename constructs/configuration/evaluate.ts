import type { SiteConfigStatus } from '../kit/api.js';
import { conditionResult, type ConditionResult } from '../kit/condition.js';
import { defined } from '../kit/json/defined.js';
import type { Observation, StatusResult } from '../kit/kind.js';
import { decide, type Policy } from '../kit/policy.js';
import type { FirstLogin } from './first-login.js';
import type { ConfigurationResult } from './request.js';
import { CONFIGURATION_APPLIED, type ConfigurationSync, type ConfiguredResource } from './sync.js';

/** What the declared keys add to the status of a resource. */
export interface ConfigurationEvaluation extends Required<
  Pick<StatusResult, 'conditions' | 'fields' | 'reconcileAgain' | 'batchObjects'>
> {
  /** Why the resource is not ready: it has never had its keys. */
  readonly notReady: string | undefined;
}

interface Context extends ConfigurationSync {
  readonly before: SiteConfigStatus | undefined;
  readonly keys: readonly string[];
  readonly last: ConditionResult | undefined;
  /** Whether the Job may run: the file exists. */
  readonly prepared: boolean;
  /** Whether every workload runs what the tree says. */
  readonly rolledOut: boolean;
}

interface Evaluated {
  readonly condition?: ConditionResult;
  readonly status: SiteConfigStatus | undefined;
}

const NOTHING: ConfigurationEvaluation = {
  conditions: [],
  fields: {},
  reconcileAgain: false,
  batchObjects: [],
  notReady: undefined,
};

/** What the declared keys add to a status. */
export function evaluateConfiguration<R extends ConfiguredResource, F>(
  observation: Observation<R, F>,
  sync: ConfigurationSync | undefined,
): ConfigurationEvaluation {
  if (!sync) return NOTHING;
  const context = contextOf(observation, sync);
  const { prepared } = context;
  const { condition, status: siteConfig } = decide(POLICIES, context);
  const isReported = sync.first && prepared && condition?.status === 'False';
  return {
    conditions: condition ? [condition] : [],
    fields: { siteConfig },
    // The next comparison is scheduled from now on.
    reconcileAgain: sync.result !== undefined && !sync.missing,
    batchObjects: sync.wanted && !sync.missing && prepared ? [sync.wanted] : [],
    notReady: isReported ? condition.message : undefined,
  };
}

function contextOf<R extends ConfiguredResource, F>(
  { resource, pending, complete }: Observation<R, F>,
  sync: ConfigurationSync,
): Context {
  const before = resource.status?.siteConfig;
  const init = pending.find(({ kind, name }) => kind === 'Job' && name === sync.initJob);
  return {
    ...sync,
    before,
    keys: (resource.spec.siteConfig ?? []).map(({ key }) => key).sort(),
    last: conditionBefore(resource),
    prepared: !init || (init.health.state === 'Failed' && before !== undefined),
    rolledOut: complete && !pending.some(({ kind }) => kind === 'Deployment'),
  };
}

/** Why the workloads of a resource that was never ready do not start yet. */
export function configurationBlock(sync: ConfigurationSync | undefined): string | undefined {
  if (!sync?.first) return undefined;
  return sync.missing ? missingMessage(sync) : `waiting for Job ${sync.job}`;
}

const POLICIES: readonly Policy<Context, Evaluated>[] = [
  {
    applies: ({ missing }) => missing !== undefined,
    result: (context) => ({
      condition: conditionResult(
        CONFIGURATION_APPLIED,
        'False',
        context.missing?.kind === 'ConfigMap' ? 'ConfigMapMissing' : 'SecretMissing',
        missingMessage(context),
      ),
      status: context.before,
    }),
  },
  {
    applies: ({ result }) => result?.outcome === 'Failed',
    result({ result, before, hash, init }) {
      const { message = '', time = '' } = result ?? {};
      const isMissing = result?.reason === 'KeyMissing';
      const invalid = result?.reason === 'SetupFailed' ? 'SetupFailed' : 'ValueInvalid';
      const reason = isMissing ? 'KeyMissing' : invalid;
      const failed = { hash, init, lastSyncTime: time, outcome: 'Failed' } as const;
      return {
        condition: conditionResult(
          CONFIGURATION_APPLIED,
          'False',
          reason,
          `${message}; no key was changed`,
        ),
        status: { keys: [], ...before, ...failed },
      };
    },
  },
  {
    // All keys are removed.
    applies: ({ result, keys, login }) =>
      result !== undefined && keys.length === 0 && !login?.setup && !login?.sso?.length,
    // Processes that have read a removed key at their start get another hash, and restart.
    result: () => ({ status: undefined }),
  },
  {
    applies: ({ result }) => result !== undefined,
    result(context) {
      const { result } = context;
      const status = result && appliedStatus(context, result);
      return status ? { condition: applied(context, status), status } : { status };
    },
  },
  {
    // An earlier result holds.
    applies: ({ known }) => known,
    result(context) {
      const { before, last, rolledOut } = context;
      // What is known was recorded.
      if (!before) return { status: undefined };
      if (before.outcome === 'Failed') {
        return { ...(last ? { condition: last } : {}), status: before };
      }
      const { restarting, ...rest } = before;
      const status = restarting && !rolledOut ? { ...rest, restarting } : rest;
      return { condition: applied(context, status), status };
    },
  },
  {
    // Waiting for the Job.
    applies: () => true,
    result({ stuck, job, initJob, prepared, before, file, login }) {
      const purpose = login ? 'configure the site' : `set the keys of ${file}`;
      const waiting = `waiting for Job ${prepared ? job : initJob} to ${purpose}`;
      return {
        condition: conditionResult(
          CONFIGURATION_APPLIED,
          'False',
          stuck?.reason ?? 'Applying',
          stuck?.message ?? waiting,
        ),
        status: before,
      };
    },
  },
];

function appliedStatus(context: Context, { time }: ConfigurationResult): SiteConfigStatus {
  const { before, hash, init, keys, restart } = context;
  const restarting = before !== undefined && (before.restart !== restart || before.restarting);
  return defined({
    hash,
    outcome: 'Applied',
    keys,
    lastSyncTime: time,
    init,
    restart,
    restarting: restarting ? true : undefined,
    repaired: repairOf(context) ?? before?.repaired,
  }) as SiteConfigStatus;
}

/** Keys that differed although they were known to be as declared. */
function repairOf({ result, before, known }: Context): SiteConfigStatus['repaired'] {
  if (!result || !known || before?.outcome !== 'Applied' || result.keys.length === 0) {
    return undefined;
  }
  return { time: result.time, keys: result.keys };
}

function applied(
  { file, keys, login }: Context,
  { restarting }: SiteConfigStatus,
): ConditionResult {
  if (restarting) {
    const message = `the keys of ${file} are set; processes that read them at their start are being restarted`;
    return conditionResult(CONFIGURATION_APPLIED, 'False', 'Restarting', message);
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

function missingMessage({ missing }: Pick<ConfigurationSync, 'missing'>): string {
  return `${missing?.path ?? ''}: ${missing?.problem ?? ''}; create it`;
}

function conditionBefore({ status }: ConfiguredResource): ConditionResult | undefined {
  const found = status?.conditions?.find(({ type }) => type === CONFIGURATION_APPLIED);
  if (!found) return undefined;
  const { type, status: value, reason, message } = found;
  return { type, status: value, reason, message };
}
