import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import { NGINX_PORT } from '../kit/constants.generated.js';
import { NAMESPACE_NAME } from '../kit/well-known.js';
import {
  OPERATOR,
  OPERATOR_LABELS,
  OPERATOR_SELECTOR,
  PORTS,
  servedPorts,
  WEBHOOK_PORT,
} from '../kit/operator-identity.js';

export interface OperatorNetworkProps {
  /** The operator's own namespace. */
  readonly namespace: string;
  /** Whether it serves admission webhooks. */
  readonly webhooks: boolean;
  /** Whether what the operator may reach is limited too. @default false */
  readonly egress?: boolean;
  /** The namespace from which alone the metrics are read. @default all */
  readonly metricsNamespace?: string | undefined;
  /** Whether the metrics are served over plain HTTP too. @default false */
  readonly plainMetrics?: boolean | undefined;
}

/** Ports that an API server listens on: behind its Service, and on its node. */
const API_SERVER_PORTS = [443, 6443];
const DNS_PORTS = [53, 5353];

/**
 * Ingress to the operator is allowed on its served ports only. Who calls the webhooks and the health
 * port is not named: the API server and the kubelet call from addresses of nodes, which no selector
 * matches.
 *
 * Egress is limited on request only: some networks see the API server behind
 * its Service under another port, and an operator that is cut off from it does nothing at all.
 */
export class OperatorNetwork extends Construct {
  constructor(scope: Construct, id: string, props: OperatorNetworkProps) {
    super(scope, id);
    const { namespace, webhooks, egress = false } = props;
    new k8s.KubeNetworkPolicy(this, 'policy', {
      metadata: { name: OPERATOR.networkPolicy, namespace, labels: OPERATOR_LABELS },
      spec: {
        podSelector: { matchLabels: { ...OPERATOR_SELECTOR } },
        policyTypes: egress ? ['Ingress', 'Egress'] : ['Ingress'],
        ingress: [...servedRules(props), ...(webhooks ? [{ ports: [tcp(WEBHOOK_PORT)] }] : [])],
        ...(egress
          ? {
              egress: [
                { ports: DNS_PORTS.flatMap((port) => [udp(port), tcp(port)]) },
                { ports: API_SERVER_PORTS.map(tcp) },
                { to: [{ namespaceSelector: {} }], ports: [tcp(NGINX_PORT)] },
              ],
            }
          : {}),
      },
    });
  }
}

function servedRules(props: OperatorNetworkProps): k8s.NetworkPolicyIngressRule[] {
  const { metricsNamespace, plainMetrics } = props;
  const ports = servedPorts(plainMetrics);
  if (!metricsNamespace) return [{ ports: Object.values(ports).map(tcp) }];
  const matchLabels = { [NAMESPACE_NAME]: metricsNamespace };
  return [
    {
      from: [{ namespaceSelector: { matchLabels } }],
      ports: Object.values(ports).filter(isMetrics).map(tcp),
    },
    { ports: [tcp(PORTS.health)] },
  ];
}

function isMetrics(port: number): boolean {
  return port !== PORTS.health;
}

function tcp(port: number): k8s.NetworkPolicyPort {
  return { port: port, protocol: 'TCP' };
}

function udp(port: number): k8s.NetworkPolicyPort {
  return { port: port, protocol: 'UDP' };
}
