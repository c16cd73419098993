import { Construct } from 'constructs';
import type * as k8s from '../../kit/k8s.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import {
  benchPods,
  benchPodsBut,
  NetworkRule,
  operatorPeer,
  peerOf,
  serverPeer,
  tcp,
  udp,
} from '../../frappe/network-rule.js';
import { workerGroups } from '../../frappe/worker.js';
import {
  GUNICORN_PORT,
  METRICS_PORT,
  NGINX_PORT,
  SOCKETIO_PORT,
} from '../../kit/constants.generated.js';
import { benchNames } from '../../kit/names.js';
import type { AppBench, BenchNetworkPolicy, NetworkPeer } from '../../api/bench.js';

/** OpenShift's DNS pods listen on the second one. */
const DNS_PORTS = [53, 5353];

/** A database server that the operator does not run. */
export interface OutsideServer {
  readonly host: string;
  readonly port: number;
}

export interface BenchNetworkProps {
  readonly bench: BenchModel;
  readonly owner: AppBench;
  /** The database servers of the bench and of its sites that are none of its pods. */
  readonly databases: readonly OutsideServer[];
}

/**
 * Who may connect to the pods of a bench and of its sites. Each pod is selected by one policy for
 * ingress, so the policies come and go in any order without cutting off traffic. Those of Redis and
 * of databases are made with the servers.
 */
export class BenchNetwork extends Construct {
  constructor(scope: Construct, id: string, props: BenchNetworkProps) {
    super(scope, id);
    const { bench, owner } = props;
    const { spec } = owner;
    const { ingressFrom, metricsFrom, egress }: Partial<BenchNetworkPolicy> =
      spec.networkPolicy ?? {};
    const names = benchNames(bench.name);
    const common = { bench, owner };
    // They print pages, whose resources come from nginx.
    const printing = [
      'gunicorn',
      ...workerGroups(bench.workers).map((group) => `worker-${group.name}`),
    ];
    const behindProxy = [{ podSelector: benchPods(bench, 'nginx') }];
    const served = [
      {
        component: 'nginx',
        name: names.nginx,
        port: NGINX_PORT,
        from: ingressFrom && [
          ...ingressFrom.map(peerOf),
          operatorPeer(bench),
          { podSelector: benchPods(bench, 'socketio') },
          ...printing.map((component) => ({ podSelector: benchPods(bench, component) })),
        ],
      },
      { component: 'gunicorn', name: names.gunicorn, port: GUNICORN_PORT, from: behindProxy },
      { component: 'socketio', name: names.socketio, port: SOCKETIO_PORT, from: behindProxy },
      ...(spec.metrics.enabled
        ? [
            {
              component: 'metrics',
              name: names.metrics,
              port: METRICS_PORT,
              from: metricsFrom?.map(peerOf),
            },
          ]
        : []),
    ];
    for (const { component, name, port, from } of served) {
      new NetworkRule(this, component, {
        ...common,
        name,
        podSelector: benchPods(bench, component),
        ingress: onPort(port, from),
      });
    }
    // Workers, the scheduler, all Jobs, and whatever has no policy of its own.
    new NetworkRule(this, 'deny', {
      ...common,
      name: names.denyIngress,
      podSelector: benchPodsBut(bench, WITH_OWN_POLICY),
      ingress: [],
    });
    if (!egress?.enabled) return;
    new NetworkRule(this, 'egress', {
      ...common,
      name: names.egress,
      podSelector: benchPods(bench),
      egress: egressRules(props, egress.allow ?? []),
    });
  }
}

const WITH_OWN_POLICY = ['nginx', 'gunicorn', 'socketio', 'metrics', 'redis', 'database'];

/**
 * @param from undefined: every address. In a NetworkPolicy an empty list means that too, but here it
 *   means none.
 */
function onPort(
  port: number,
  from: readonly k8s.NetworkPolicyPeer[] | undefined,
): readonly k8s.NetworkPolicyIngressRule[] {
  if (from?.length === 0) return [];
  return [{ ...(from ? { from: [...from] } : {}), ports: [tcp(port)] }];
}

/** DNS, each other, databases elsewhere, and what the spec allows. */
function egressRules(
  { bench, databases }: BenchNetworkProps,
  allow: readonly { readonly to: readonly NetworkPeer[]; readonly ports?: readonly number[] }[],
): readonly k8s.NetworkPolicyEgressRule[] {
  return [
    // To any address: a cache of DNS on the node has one that no selector matches.
    { ports: DNS_PORTS.flatMap((port) => [udp(port), tcp(port)]) },
    { to: [{ podSelector: benchPods(bench) }] },
    ...databases.flatMap(({ host, port }) => {
      const peer = serverPeer(host, bench);
      return peer ? [{ to: [peer], ports: [tcp(port)] }] : [];
    }),
    ...allow.map(({ to, ports }) => ({
      to: to.map(peerOf),
      ...(ports && ports.length > 0 ? { ports: ports.map(tcp) } : {}),
    })),
  ];
}
