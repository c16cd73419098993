/** How an object fares, by the rules of kstatus. */
export interface Health {
  readonly state: 'Ready' | 'InProgress' | 'Failed' | 'Terminating' | 'Missing';
  /** What it waits for or why it failed, in stable words; empty when it is ready. */
  readonly message: string;
  /** Why in one CamelCase word, where there is more to it than the state: the last word of a failed Job, or that KEDA's object is paused. */
  readonly reason?: string;
  /** Whether the operator that it belongs to has never said anything of it. */
  readonly unobserved?: true;
  /** Of a Job that tries again: how many of its attempts have failed. */
  readonly failedAttempts?: number;
}

const READY: Health = { state: 'Ready', message: '' };

interface StatusCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

interface Observable {
  readonly kind: string;
  readonly metadata: { readonly generation?: number; readonly deletionTimestamp?: string };
  readonly spec?: {
    readonly replicas?: number;
    readonly completions?: number;
    readonly paused?: boolean;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly applied?: boolean;
    readonly message?: string;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly readyReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly phase?: string;
    readonly failed?: number;
    readonly conditions?: readonly StatusCondition[];
    readonly ingress?: readonly { readonly conditions?: readonly StatusCondition[] }[];
  };
}

/** Judges any object: workloads and Jobs by their own rules, others by their `Ready` condition. */
export function healthOf(object: Observable): Health {
  if (object.metadata.deletionTimestamp)
    return { state: 'Terminating', message: 'is being deleted' };
  const refusal = refusalOf(object);
  if (refusal) return { state: 'InProgress', message: refusal };
  const observed = object.status?.observedGeneration;
  if (observed !== undefined && observed < (object.metadata.generation ?? 0)) {
    return { state: 'InProgress', message: 'the change has not been seen yet' };
  }
  switch (object.kind) {
    case 'Deployment':
      return deployment(object);
    case 'StatefulSet':
      return statefulSet(object);
    case 'Job':
      return job(object);
    case 'Pod':
      return pod(object);
    case 'PersistentVolumeClaim':
      return volumeClaim(object);
    case 'Certificate':
      return certificate(object);
    case 'ScaledObject':
      return scaledObject(object);
    case 'Route':
      return route(object);
    default:
      return byReadyCondition(object);
  }
}

function deployment(object: Observable): Health {
  const health = rollout(object);
  const failure = find(object.status?.conditions, 'ReplicaFailure');
  if (health.state === 'Ready' || failure?.status !== 'True' || !failure.message) return health;
  return { ...health, message: `${health.message}: ${refusedPod(failure.message)}` };
}

/** What a controller says of a pod that the API server does not take, without the names that change: quotas, admission. */
export function refusedPod(message: string): string {
  const words = message
    .replace(/^(?:create Pod \S+ in StatefulSet \S+ failed error|Error creating): /, '')
    .replace(/^pods "[^"]*" (?:is )?/, '');
  return `its pod is refused: ${words.slice(0, 300)}`;
}

function rollout({ spec, status }: Observable): Health {
  const progressing = find(status?.conditions, 'Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded') {
    return { state: 'Failed', message: 'the rollout makes no progress' };
  }
  const wanted = spec?.replicas ?? 1;
  const updated = status?.updatedReplicas ?? 0;
  const available = status?.availableReplicas ?? 0;
  // Without an observedGeneration no controller has looked at it, not even at "0 replicas".
  if (status?.observedGeneration === undefined) return replicas(0, wanted);
  if (updated < wanted) return replicas(updated, wanted, 'updated');
  if ((status.replicas ?? 0) > updated)
    return { state: 'InProgress', message: 'old replicas are going' };
  return available < wanted ? replicas(available, wanted) : READY;
}

function statefulSet({ spec, status }: Observable): Health {
  const wanted = spec?.replicas ?? 1;
  const ready = status?.readyReplicas ?? 0;
  if (status?.observedGeneration === undefined || ready < wanted) return replicas(ready, wanted);
  if (status.currentRevision !== status.updateRevision && (status.updatedReplicas ?? 0) < wanted) {
    return replicas(status.updatedReplicas ?? 0, wanted, 'updated');
  }
  return READY;
}

function replicas(have: number, wanted: number, word = 'available'): Health {
  return { state: 'InProgress', message: `${have} of ${wanted} replicas ${word}` };
}

function job({ status }: Observable): Health {
  const failed = find(status?.conditions, 'Failed') ?? find(status?.conditions, 'FailureTarget');
  if (failed?.status === 'True') {
    return { state: 'Failed', message: failed.message ?? failed.reason ?? 'failed' };
  }
  if (find(status?.conditions, 'Complete')?.status === 'True') return READY;
  const failedAttempts = status?.failed ?? 0;
  if (failedAttempts === 0) return { state: 'InProgress', message: 'running' };
  const message = `running, after ${failedAttempts} failed attempts`;
  return { state: 'InProgress', message, failedAttempts };
}

/** Why it is as it is, its containers say: see `problemOfPod` of the runner. */
function pod({ status }: Observable): Health {
  if (status?.phase === 'Succeeded') return READY;
  if (status?.phase === 'Failed') return { state: 'Failed', message: 'has failed' };
  const ready = find(status?.conditions, 'Ready');
  if (ready?.status === 'True') return READY;
  return { state: 'InProgress', message: ready?.message ?? 'starts' };
}

/** A claim that binds with its first pod never binds before it, so only a lost volume is bad news. */
function volumeClaim({ status }: Observable): Health {
  return status?.phase === 'Lost' ? { state: 'Failed', message: 'its volume is lost' } : READY;
}

/** Each router says by itself whether it lets a Route in; where none does, nobody keeps it out. */
function route({ status }: Observable): Health {
  const refused = status?.ingress
    ?.map(({ conditions }) => find(conditions, 'Admitted'))
    .find((admitted) => admitted?.status === 'False');
  if (!refused) return READY;
  return { state: 'Failed', message: refused.message ?? refused.reason ?? 'not admitted' };
}

/** CloudNativePG says of a Database or a DatabaseRole whether it is applied, and why not, of whatever generation. */
function refusalOf({ kind, status }: Observable): string | undefined {
  const says = kind === 'Database' || kind === 'DatabaseRole';
  return says && status?.applied !== true ? status?.message : undefined;
}

/** An issuing that has failed says more than that there is no certificate. */
function certificate(object: Observable): Health {
  const health = byReadyCondition(object);
  const issuing = find(object.status?.conditions, 'Issuing');
  return health.state === 'InProgress' && issuing?.status === 'False' && issuing.message
    ? { ...health, message: issuing.message }
    : health;
}

/** KEDA says `Ready` also of one that is paused or cannot count: who owns the number is another matter, so these have a reason. */
function scaledObject(object: Observable): Health {
  const health = byReadyCondition(object);
  if (health.state !== 'Ready') return health;
  const { conditions } = object.status ?? {};
  const says = (type: string, status: string): StatusCondition | undefined => {
    const found = find(conditions, type);
    return found?.status === status ? found : undefined;
  };
  const because = (reason: string, message: string): Health => ({
    state: 'InProgress',
    reason,
    message,
  });
  if (says('Paused', 'True')) return because('Paused', 'is paused by an annotation');
  if (says('Fallback', 'True')) {
    return because('Fallback', 'KEDA cannot read the queue, and keeps to the fallback');
  }
  const hpa = says('HPAActive', 'False');
  return hpa ? because('HPAInactive', hpa.message ?? hpa.reason ?? 'its HPA does nothing') : health;
}

/** Kinds of other operators, which always say whether an object is ready, sooner or later. */
const REPORTS_READY = new Set([
  'ScaledObject',
  'Certificate',
  'Database',
  'User',
  'Grant',
  'DatabaseRole',
]);

function byReadyCondition({ kind, status }: Observable): Health {
  const stalled = find(status?.conditions, 'Stalled');
  if (stalled?.status === 'True') return { state: 'Failed', message: stalled.message ?? 'stalled' };
  const ready = find(status?.conditions, 'Ready');
  if (ready?.status === 'True' || status?.applied === true) return READY;
  if (!ready) {
    return REPORTS_READY.has(kind)
      ? { state: 'InProgress', message: 'its operator has not looked at it yet', unobserved: true }
      : READY;
  }
  return { state: 'InProgress', message: ready.message ?? ready.reason ?? 'not ready' };
}

function find(
  conditions: readonly StatusCondition[] | undefined,
  type: string,
): StatusCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
