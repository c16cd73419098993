import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import type { NetworkPeer } from '../api/bench.js';
import { KEDA_OPERATOR } from '../integrations/keda/index.js';
import { OPERATOR_SELECTOR } from '../kit/operator-identity.js';
import { childLabels, COMPONENT_LABEL } from '../kit/labels.js';
import { dataLabels } from '../kit/deletion-policy.js';
import type { Resource } from '../kit/object.js';
import { NAMESPACE_NAME } from '../kit/well-known.js';
import type { BenchModel } from './bench-model.js';

/** Components of a bench that are no clients of Redis and of databases. */
const NO_CLIENTS = ['nginx', 'redis', 'database'];

/**
 * The pods of a bench and of its sites, by labels that no pod template overrides.
 * @param component one of them only
 */
export function benchPods({ metadataKeys, name }: BenchModel, component?: string) {
  return {
    matchLabels: {
      [metadataKeys.bench]: name,
      ...(component === undefined ? {} : { [COMPONENT_LABEL]: component }),
    },
  } satisfies k8s.LabelSelector;
}

/** The same without those of some components. */
export function benchPodsBut(bench: BenchModel, components: readonly string[]): k8s.LabelSelector {
  const values = [...components];
  return {
    ...benchPods(bench),
    matchExpressions: [{ key: COMPONENT_LABEL, operator: 'NotIn', values }],
  };
}

/** Pods of another namespace, by its name. */
function podsElsewhere(
  namespace: string,
  labels?: Readonly<Record<string, string>>,
): k8s.NetworkPolicyPeer {
  return {
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: namespace } },
    ...(labels ? { podSelector: { matchLabels: { ...labels } } } : {}),
  };
}

/** KEDA's operator, which reads the lengths of queues. */
export function kedaPeer({ network }: BenchModel): k8s.NetworkPolicyPeer {
  return podsElsewhere(network.kedaNamespace, { 'app.kubernetes.io/name': KEDA_OPERATOR });
}

/** This operator, which checks sites through the proxy. */
export function operatorPeer({ network }: BenchModel): k8s.NetworkPolicyPeer {
  return podsElsewhere(network.operatorNamespace, OPERATOR_SELECTOR);
}

/** A peer of a spec. */
export function peerOf({ cidr, namespace, podLabels }: NetworkPeer): k8s.NetworkPolicyPeer {
  if (cidr !== undefined) return { ipBlock: { cidr } };
  if (namespace !== undefined) return podsElsewhere(namespace, podLabels);
  return { podSelector: { matchLabels: { ...podLabels } } };
}

const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;

/**
 * Where a server is, as far as a NetworkPolicy can say it: an address, or the pods of the namespace
 * that a Service is in. A name outside of the cluster has no address that a policy could hold.
 */
export function serverPeer(host: string, bench: BenchModel): k8s.NetworkPolicyPeer | undefined {
  if (IPV4.test(host)) return { ipBlock: { cidr: `${host}/32` } };
  if (host.includes(':')) return { ipBlock: { cidr: `${host}/128` } };
  if (!host.includes('.')) return podsElsewhere(bench.namespace);
  const suffix = `.${bench.clusterDomain}`;
  const name = host.endsWith(suffix) ? host.slice(0, -suffix.length) : host;
  const [, namespace] = /\.([^.]+)\.svc$/.exec(name) ?? [];
  return namespace === undefined ? undefined : podsElsewhere(namespace);
}

export function tcp(port: number): k8s.NetworkPolicyPort {
  return { port: port, protocol: 'TCP' };
}

export function udp(port: number): k8s.NetworkPolicyPort {
  return { port: port, protocol: 'UDP' };
}

export interface NetworkRuleProps {
  readonly bench: BenchModel;
  readonly owner: Resource<{ readonly deletionPolicy: string }>;
  readonly name: string;
  readonly podSelector: k8s.LabelSelector;
  /** Who may connect to the pods, and to which ports; an empty list: none. @default every address */
  readonly ingress?: readonly k8s.NetworkPolicyIngressRule[];
  /** What the pods may connect to. @default everything */
  readonly egress?: readonly k8s.NetworkPolicyEgressRule[];
  /** Whether the pods outlive their owner, together with their data. @default false */
  readonly retained?: boolean;
}

/**
 * A NetworkPolicy; nothing where the bench has none. One that outlives its owner is data, which is
 * never pruned: there it admits everybody instead.
 */
export class NetworkRule extends Construct {
  constructor(scope: Construct, id: string, props: NetworkRuleProps) {
    super(scope, id);
    const { bench, owner, name, podSelector, egress, retained = false } = props;
    const { policies } = bench.network;
    if (!policies && !retained) return;
    const ingress = policies ? props.ingress : [{}];
    new k8s.KubeNetworkPolicy(this, 'policy', {
      metadata: {
        name,
        namespace: bench.namespace,
        labels: retained ? dataLabels(owner, 'network') : childLabels(owner, 'network'),
      },
      spec: {
        podSelector,
        policyTypes: [...(ingress ? ['Ingress'] : []), ...(egress ? ['Egress'] : [])],
        ...(ingress && ingress.length > 0 ? { ingress: [...ingress] } : {}),
        ...(egress && egress.length > 0 ? { egress: [...egress] } : {}),
      },
    });
  }
}

/** The rule that only clients in the bench and in its sites reach a server. */
export class OnlyFromBench extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: Pick<NetworkRuleProps, 'bench' | 'owner' | 'retained'> & {
      /** Value of the label `app` of the pods that are protected, and name of the policy. */
      readonly name: string;
      readonly ports: readonly number[];
      /** Who gets in too. */
      readonly alsoFrom?: readonly k8s.NetworkPolicyPeer[];
    },
  ) {
    super(scope, id);
    const { ports, alsoFrom = [], ...rule } = props;
    new NetworkRule(this, 'rule', {
      ...rule,
      podSelector: { matchLabels: { app: rule.name } },
      ingress: [
        {
          from: [{ podSelector: benchPodsBut(rule.bench, NO_CLIENTS) }, ...alsoFrom],
          ports: ports.map(tcp),
        },
      ],
    });
  }
}
