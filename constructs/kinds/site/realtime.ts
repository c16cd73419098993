import type { BenchModel } from '../../frappe/bench-model.js';
import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import type { Observation } from '../../kit/kind.js';
import type { AppSite } from '../../api/site.js';
import { realtimeProbes } from './probes.js';

const TYPE = 'RealtimeReady';

/** Whether the last websocket received an event: as before, where none was tried since. */
export function realtimeCondition(
  observation: Observation<AppSite, { readonly bench: BenchModel }>,
): readonly ConditionResult[] {
  if (realtimeProbes(observation).length === 0) return [];
  const last = observation.probes.find(({ advisory }) => advisory);
  if (!last) return before(observation.resource);
  return last.ok
    ? [conditionResult(TYPE, 'True', 'EventReceived', 'a websocket joined and received an event')]
    : [conditionResult(TYPE, 'False', 'NoEvent', last.message)];
}

function before({ status }: AppSite): readonly ConditionResult[] {
  return (status?.conditions ?? [])
    .filter(({ type }) => type === TYPE)
    .map(({ type, status: is, reason, message }) => ({ type, status: is, reason, message }));
}
