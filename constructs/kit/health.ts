import { messageOf } from './errors.js';
import { isObject } from './json/is-object.js';
import { TIMEOUT_FIELD } from './metadata-keys.js';
/** The health of an object, by the rules of kstatus. */
export interface Health {
  readonly state: 'Ready' | 'InProgress' | 'Failed' | 'Terminating' | 'Missing';
  /** What the object waits for or why it failed, in stable words; empty when it is ready. */
  readonly message: string;
  /**
   * Why, in one CamelCase word, where the state alone does not say it: of a failed Job, of a paused
   * ScaledObject.
   */
  readonly reason?: string;
  /** Whether the operator of the object has not reported any status yet. */
  readonly unobserved?: true;
  /** Of a Job that tries again: how many of its attempts have failed. */
  readonly failedAttempts?: number;
}

/** How the health of objects of a kind is evaluated. */
export interface HealthRule {
  /**
   * Why the object's operator refuses it; undefined where it does not. It is read before
   * `observedGeneration`, for operators that do not advance the generation of what they refuse.
   */
  refusal?(object: Observable): string | undefined;
  /**
   * Whether the object's operator always reports a `Ready` condition: until then the object is not
   * ready.
   */
  readonly reportsReady?: true;
  /**
   * The health of an object whose current generation is observed.
   * @param byReady the health by the conditions `Stalled` and `Ready` alone
   */
  evaluate?(object: Observable, byReady: Health): Health;
}

/** A condition in a status. */
export interface StatusCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** What is read of an object. */
export interface Observable {
  readonly kind: string;
  readonly metadata: {
    readonly name?: string;
    readonly generation?: number;
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly activeDeadlineSeconds?: number;
    readonly replicas?: number;
    readonly completions?: number;
    readonly paused?: boolean;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly readyReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly phase?: string;
    readonly failed?: number;
    readonly conditions?: readonly StatusCondition[];
  };
}

export const READY: Health = { state: 'Ready', message: '' };

/** The core kinds whose health is not their `Ready` condition. */
const CORE: Readonly<Record<string, HealthRule>> = {
  Deployment: { evaluate: deployment },
  StatefulSet: { evaluate: statefulSet },
  Job: { evaluate: job },
  Pod: { evaluate: pod },
  PersistentVolumeClaim: { evaluate: volumeClaim },
  HorizontalPodAutoscaler: { evaluate: podAutoscaler },
};

/**
 * The health of any object: of a core kind by its own rules, of others by their `Ready` condition. It
 * never throws: what has another type than it should have counts as not reported.
 * @param rule the rule of the object's kind, see `ObjectKind.health`
 */
export function healthOf(read: Observable, rule: HealthRule = CORE[read.kind] ?? {}): Health {
  const object = observable(read);
  try {
    return healthByRule(object, rule);
  } catch (error) {
    return invalid(error);
  }
}

/** The health of an invalid object. */
export function invalid(error: unknown): Health {
  return { state: 'Failed', reason: 'Unreadable', message: `is invalid: ${messageOf(error)}` };
}

function healthByRule(object: Observable, rule: HealthRule): Health {
  if (object.metadata.deletionTimestamp) {
    return { state: 'Terminating', message: 'is being deleted' };
  }
  const refusal = rule.refusal?.(object);
  if (refusal) return inProgress(refusal);
  const observed = object.status?.observedGeneration;
  if (observed !== undefined && observed < (object.metadata.generation ?? 0)) {
    return inProgress('the latest change is not observed yet');
  }
  const byReady = byReadyCondition(object, rule.reportsReady === true);
  return rule.evaluate?.(object, byReady) ?? byReady;
}

const TEXTS = ['currentRevision', 'updateRevision', 'phase', 'message'] as const;
const NUMBERS = [
  'observedGeneration',
  'replicas',
  'updatedReplicas',
  'availableReplicas',
  'readyReplicas',
  'failed',
] as const;

/** What is read of an object, where it has the types that it should have. */
function observable(object: Observable): Observable {
  const { spec, status } = object as { readonly spec?: unknown; readonly status?: unknown };
  const read = isObject(status) ? checkedStatus(status) : undefined;
  const { spec: _spec, status: _status, ...others } = object;
  return {
    ...others,
    ...(isObject(spec) ? { spec: withoutMisfits(spec, [], ['replicas', 'completions']) } : {}),
    ...(read ? { status: read } : {}),
  };
}

function checkedStatus(
  status: Readonly<Record<string, unknown>>,
): NonNullable<Observable['status']> {
  const { conditions, ...others } = status;
  const fitting = withoutMisfits(others, TEXTS, NUMBERS);
  return {
    ...fitting,
    ...(conditions === undefined ? {} : { conditions: conditionsOf(conditions) }),
  };
}

function withoutMisfits(
  fields: Readonly<Record<string, unknown>>,
  texts: readonly string[],
  numbers: readonly string[],
): Readonly<Record<string, unknown>> {
  const fits = ([name, value]: readonly [string, unknown]): boolean => {
    if (texts.includes(name)) return typeof value === 'string';
    return !numbers.includes(name) || typeof value === 'number';
  };
  return Object.fromEntries(Object.entries(fields).filter(fits));
}

/** The conditions in a status that another operator has written, or a user. */
export function conditionsOf(conditions: unknown): readonly StatusCondition[] {
  return recordsOf(conditions).flatMap(({ type, status, reason, message }) => {
    if (typeof type !== 'string' || typeof status !== 'string') return [];
    return [
      {
        type,
        status,
        ...(typeof reason === 'string' ? { reason } : {}),
        ...(typeof message === 'string' ? { message } : {}),
      },
    ];
  });
}

/** The items of a list that are objects; none where it is no list. */
export function recordsOf(list: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** The condition of a type. */
export function findCondition(
  object: Observable,
  type: string,
  status?: string,
): StatusCondition | undefined {
  const found = object.status?.conditions?.find((condition) => condition.type === type);
  return status === undefined || found?.status === status ? found : undefined;
}

function byReadyCondition(object: Observable, reportsReady: boolean): Health {
  const stalled = findCondition(object, 'Stalled', 'True');
  if (stalled) return { state: 'Failed', message: stalled.message ?? 'stalled' };
  const ready = findCondition(object, 'Ready');
  if (ready) return ready.status === 'True' ? READY : inProgress(detailOf(ready, 'not ready'));
  if (!reportsReady) return READY;
  return { ...inProgress('its operator has not observed it yet'), unobserved: true };
}

function deployment(object: Observable): Health {
  const health = rollout(object);
  const failure = findCondition(object, 'ReplicaFailure', 'True');
  if (health.state === 'Ready' || !failure?.message) return health;
  return {
    ...health,
    message: `${health.message}: ${refusedPod(failure.message, object.metadata.name ?? '')}`,
  };
}

/**
 * Why the API server refuses a pod (quota, admission), without the names that change with each
 * attempt.
 * @param owner the name of what makes the pods
 */
export function refusedPod(message: string, owner: string): string {
  const generated = new RegExp(
    `\\b${owner.replaceAll('.', '[.]')}(-[a-z0-9]{1,10})?-[a-z0-9]{5}\\b`,
    'g',
  );
  const words = message
    .replace(/^\(combined from similar events\): /, '')
    .replace(/^(?:[Cc]reate Pod \S+ in StatefulSet \S+ failed error|Error creating): /, '')
    .replace(/^[Pp]ods? "[^"]*" (?:is )?/, '')
    .replace(generated, owner);
  return `its pod is refused: ${words.slice(0, 300)}`;
}

function rollout(object: Observable): Health {
  if (findCondition(object, 'Progressing')?.reason === 'ProgressDeadlineExceeded') {
    return { state: 'Failed', message: 'the rollout makes no progress' };
  }
  return rolledOut(object.spec?.replicas ?? 1, object.status ?? {});
}

function rolledOut(wanted: number, status: NonNullable<Observable['status']>): Health {
  const { updatedReplicas: updated = 0, availableReplicas: available = 0 } = status;
  // Without an observedGeneration no controller has observed it, not even at 0 replicas.
  if (status.observedGeneration === undefined) return replicas(0, wanted);
  if (updated < wanted) return replicas(updated, wanted, 'updated');
  if ((status.replicas ?? 0) > updated) return inProgress('old replicas are terminating');
  return available < wanted ? replicas(available, wanted) : READY;
}

function statefulSet({ spec, status = {} }: Observable): Health {
  const wanted = spec?.replicas ?? 1;
  const { readyReplicas: ready = 0, updatedReplicas: updated = 0 } = status;
  if (status.observedGeneration === undefined || ready < wanted) return replicas(ready, wanted);
  const complete = status.currentRevision === status.updateRevision;
  return complete || updated >= wanted ? READY : replicas(updated, wanted, 'updated');
}

function replicas(have: number, wanted: number, word = 'available'): Health {
  return inProgress(`${have} of ${wanted} replicas ${word}`);
}

function job(object: Observable): Health {
  const failed = findCondition(object, 'Failed') ?? findCondition(object, 'FailureTarget');
  if (failed?.status === 'True') return { state: 'Failed', message: jobFailure(object, failed) };
  if (findCondition(object, 'Complete', 'True')) return READY;
  const failedAttempts = object.status?.failed ?? 0;
  if (failedAttempts === 0) return inProgress('running');
  const attempts = failedAttempts === 1 ? '1 failed attempt' : `${failedAttempts} failed attempts`;
  return { ...inProgress(`running, after ${attempts}`), failedAttempts };
}

function jobFailure({ metadata, spec }: Observable, failed: StatusCondition): string {
  if (failed.reason !== 'DeadlineExceeded') return detailOf(failed, 'failed');
  const [, field] =
    Object.entries(metadata.annotations ?? {}).find(([name]) => name.endsWith(TIMEOUT_FIELD)) ?? [];
  const seconds = spec?.activeDeadlineSeconds;
  const limit = seconds === undefined ? 'its limit of time' : `its limit of ${seconds} seconds`;
  return `took longer than ${limit}${field === undefined ? '' : `; ${field} sets it`}`;
}

/**
 * Why a pod is not ready is in the status of its containers: see `PodDiagnostics` of the runner.
 */
function pod(object: Observable): Health {
  const { phase } = object.status ?? {};
  if (phase === 'Succeeded') return READY;
  if (phase === 'Failed') return { state: 'Failed', message: 'failed' };
  const ready = findCondition(object, 'Ready');
  return ready?.status === 'True' ? READY : inProgress(ready?.message ?? 'starting');
}

/**
 * A claim that binds with its first pod is not bound before, so only a lost volume is a failure.
 */
function volumeClaim({ status }: Observable): Health {
  return status?.phase === 'Lost' ? { state: 'Failed', message: 'its volume is lost' } : READY;
}

/** One that does not scale has the reason of Kubernetes, such as `FailedGetContainerResourceMetric`. */
function podAutoscaler(object: Observable): Health {
  const able = findCondition(object, 'AbleToScale');
  if (!able) return { ...inProgress('its controller has not observed it yet'), unobserved: true };
  const failing = [able, findCondition(object, 'ScalingActive')].find(
    (condition) => condition?.status === 'False',
  );
  if (!failing) return READY;
  return inProgress(`${failing.reason ?? failing.type}: ${detailOf(failing, 'does not scale')}`);
}

/** The message of a condition, or its reason. */
export function detailOf({ message, reason }: StatusCondition, otherwise: string): string {
  return message ?? reason ?? otherwise;
}

function inProgress(message: string): Health {
  return { state: 'InProgress', message };
}
