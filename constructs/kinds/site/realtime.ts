import { nginxHost } from '../../frappe/pod.js';
import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import { NGINX_PORT } from '../../kit/constants.generated.js';
import type { ChartProps, Observation, RealtimeProbe } from '../../kit/kind.js';
import type { AppSite } from '../../api/site.js';
import type { SiteInputs } from './inputs.js';

const TYPE = 'RealtimeReady';

/** A websocket through the bench's proxy, if the bench has a realtime server. */
export function realtimeProbes({
  resource,
  inputs,
}: ChartProps<AppSite, SiteInputs>): readonly RealtimeProbe[] {
  const { componentReplicas } = inputs.bench;
  if (resource.spec.maintenance || componentReplicas.socketio === 0) return [];
  const { siteName } = resource.spec;
  return [
    {
      url: `http://${nginxHost(inputs.bench)}:${NGINX_PORT}/socket.io/?EIO=4&transport=websocket`,
      host: siteName,
      namespace: siteName,
    },
  ];
}

/** Whether the last websocket received an event: as before, where none was tried since. */
export function realtimeCondition(
  observation: Observation<AppSite, SiteInputs>,
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
