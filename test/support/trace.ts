/** How the pods of a namespace came to run, from the times that the API has of them. */
import { at, type Live } from '../cluster/support/objects.js';

/** Times in milliseconds since the epoch; the API gives whole seconds. */
export interface PodTrace {
  /** The pod's name, without the random part that its controller adds. */
  readonly name: string;
  readonly created: number;
  /** First start of a container of the pod itself; init containers come before. */
  readonly started?: number;
  /** When it became ready, or its container ended. */
  readonly done?: number;
  readonly ended: boolean;
}

interface State {
  readonly startedAt?: string;
  readonly finishedAt?: string;
}
interface ContainerStatus {
  readonly state?: { readonly running?: State; readonly terminated?: State };
}
interface Condition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime: string;
}

/** The pods in the order of their creation. */
export function podTraces(pods: readonly Live[]): readonly PodTrace[] {
  return pods.map(podTrace).sort((a, b) => a.created - b.created || a.name.localeCompare(b.name));
}

function podTrace(pod: Live): PodTrace {
  const statuses = (at(pod, 'status.containerStatuses') ?? []) as readonly ContainerStatus[];
  const started = times(statuses.map(({ state }) => state?.running ?? state?.terminated)).min;
  const finished = statuses.map(({ state }) => state?.terminated);
  const ended = statuses.length > 0 && finished.every((state) => state !== undefined);
  const conditions = (at(pod, 'status.conditions') ?? []) as readonly Condition[];
  const ready = conditions.find(({ type, status }) => type === 'Ready' && status === 'True');
  const done = ended ? times(finished).max : ready && Date.parse(ready.lastTransitionTime);
  return {
    name: withoutRandomPart(pod),
    created: Date.parse(String(at(pod, 'metadata.creationTimestamp'))),
    ...(started === undefined ? {} : { started }),
    ...(done === undefined ? {} : { done }),
    ended,
  };
}

/** The first start and the last end. */
function times(states: readonly (State | undefined)[]): { min?: number; max?: number } {
  const of = (key: keyof State): readonly number[] =>
    states.flatMap((state) => (state?.[key] === undefined ? [] : [Date.parse(state[key])]));
  const [starts, ends] = [of('startedAt'), of('finishedAt')];
  return {
    ...(starts.length === 0 ? {} : { min: Math.min(...starts) }),
    ...(ends.length === 0 ? {} : { max: Math.max(...ends) }),
  };
}

function withoutRandomPart({ metadata }: Live): string {
  const labels = metadata.labels ?? {};
  const hash = labels['pod-template-hash'];
  const job = labels['job-name'];
  if (job !== undefined) return job;
  return hash === undefined ? metadata.name : (metadata.name.split(`-${hash}`)[0] ?? '');
}

/** `created +1 s, started +3 s, ready +9 s`, from a time on. */
export function describeTrace({ created, started, done, ended }: PodTrace, from: number): string {
  const since = (what: string, time: number | undefined): readonly string[] =>
    time === undefined
      ? []
      : [`${what} +${String(Math.max(0, Math.round((time - from) / 1_000)))} s`];
  const last = ended ? 'ended' : 'ready';
  return [...since('created', created), ...since('started', started), ...since(last, done)].join(
    ', ',
  );
}

/** A line of a log with its time, as `timestamps` of the API gives it. */
export interface LogLine {
  readonly time: number;
  readonly text: string;
}

export function logLines(log: string): readonly LogLine[] {
  return log.split('\n').flatMap((line) => {
    const [, time = '', text = ''] = /^(\d{4}-\S+) (.*)$/.exec(line) ?? [];
    return time === '' ? [] : [{ time: Date.parse(time), text }];
  });
}
