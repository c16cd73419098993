import type { AppSite } from '../../api/site.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { nginxHost } from '../../frappe/pod.js';
import { NGINX_PORT } from '../../kit/constants.generated.js';
import type { ChartProps, Probe, RealtimeProbe } from '../../kit/kind.js';

type Probed = ChartProps<AppSite, { readonly bench: BenchModel }>;

/** The ping of the site through the bench's proxy, and a websocket. In maintenance it answers neither. */
export function siteProbes({ resource, inputs }: Probed): readonly Probe[] {
  if (resource.spec.maintenance) return [];
  return [
    {
      url: `http://${nginxHost(inputs.bench)}:${NGINX_PORT}/api/method/ping`,
      host: resource.spec.siteName,
      expectStatus: 200,
      expectBody: { message: 'pong' },
    },
    ...realtimeProbes({ resource, inputs }),
  ];
}

/** A websocket through the bench's proxy, if the bench has a realtime server. */
export function realtimeProbes({ resource, inputs }: Probed): readonly RealtimeProbe[] {
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
