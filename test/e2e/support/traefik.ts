import { installCrd } from '../../cluster/harness.js';
import { Gateway, HttpRoute } from '../../../constructs/integrations/gateway-api/kinds.js';
import type { ObjectKind } from '../../../constructs/kit/object-kind.js';
import { addKind, type Manifest } from '../../cluster/support/objects.js';
import type { E2e } from '../harness.js';

const GATEWAY = 'gateway.networking.k8s.io/v1';
const NAME = 'traefik';
const KINDS: readonly ObjectKind[] = [
  HttpRoute,
  Gateway,
  { apiVersion: GATEWAY, kind: 'GatewayClass', plural: 'gatewayclasses', clusterScoped: true },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    plural: 'ingressclasses',
    clusterScoped: true,
  },
];
/** Ports of the node, which the listeners of a Gateway name. */
export const PORTS = { http: 8081, https: 8444 } as const;

/** Traefik beside a real node: a process in its network that serves Ingresses and Gateways. */
export class Traefik {
  constructor(
    private readonly cluster: E2e,
    private readonly crds: readonly Manifest[],
    private readonly program: string,
  ) {}

  get address(): string {
    return this.cluster.node.network.nodeAddress;
  }

  async start(): Promise<void> {
    const { cluster, address } = this;
    KINDS.forEach((kind) => addKind(kind));
    for (const crd of this.crds) await installCrd(cluster, crd);
    await cluster.apply(
      '',
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'IngressClass',
        metadata: { name: NAME },
        spec: { controller: 'traefik.io/ingress-controller' },
      },
      {
        apiVersion: GATEWAY,
        kind: 'GatewayClass',
        metadata: { name: NAME },
        spec: { controllerName: 'traefik.io/gateway-controller' },
      },
    );
    await cluster.node.controlPlane.start(NAME, 'env', [
      `KUBECONFIG=${cluster.node.kubeconfig}`,
      this.program,
      '--global.checknewversion=false',
      '--global.sendanonymoususage=false',
      `--entrypoints.web.address=${address}:${PORTS.http}`,
      `--entrypoints.websecure.address=${address}:${PORTS.https}`,
      '--providers.kubernetesingress=true',
      `--providers.kubernetesingress.ingressendpoint.ip=${address}`,
      '--providers.kubernetesgateway=true',
      `--providers.kubernetesgateway.statusaddress.ip=${address}`,
    ]);
  }

  async stop(): Promise<void> {
    const { cluster } = this;
    await cluster.node.controlPlane.stopProcess(NAME, 'SIGKILL');
    await cluster.delete('IngressClass', '', NAME);
    for (const { metadata } of this.crds) {
      await cluster.delete('CustomResourceDefinition', '', metadata.name);
    }
  }
}

/** A Gateway of Traefik's class, for HTTP and HTTPS of `*.example.com`. */
export function gateway(
  name: string,
  { certificate, namespaces }: { readonly certificate: string; readonly namespaces: object },
): Manifest {
  const both = { hostname: '*.example.com', allowedRoutes: { namespaces } };
  const tls = { certificateRefs: [{ name: certificate }] };
  return {
    apiVersion: GATEWAY,
    kind: 'Gateway',
    metadata: { name },
    spec: {
      gatewayClassName: NAME,
      listeners: [
        { name: 'http', protocol: 'HTTP', port: PORTS.http, ...both },
        { name: 'https', protocol: 'HTTPS', port: PORTS.https, ...both, tls },
      ],
    },
  };
}
