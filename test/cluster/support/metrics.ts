import { createServer, type Server } from 'node:https';

import type { Cluster } from '../harness.js';
import type { Live } from './objects.js';

const GROUP = 'metrics.k8s.io';

/** What a pod of gunicorn uses. */
export interface Used {
  readonly pod: Live;
  readonly cpu: number;
  /** RFC 3339. */
  readonly time: string;
}

type Credentials = Pick<Cluster['controlPlane'], 'credential'>;

/**
 * The API of a metrics server, which a test serves. The API server, and the controller that scales, are the
 * real ones.
 */
export class ServedMetrics {
  #server: Server | undefined;

  constructor(
    private readonly credentials: Credentials,
    private readonly cluster: Pick<Cluster, 'apply' | 'list'>,
    /** The milli CPUs of some pods of one Deployment. */
    private readonly usage: (pods: readonly Live[]) => Promise<readonly Used[]>,
  ) {}

  /** @param address of this machine, as the API server reaches it */
  async start(port: number, address = 'localhost'): Promise<void> {
    const { cluster } = this;
    const name = 'metrics-server';
    const { certificatePem, keyPem, authorityPem } = this.credentials.credential({
      commonName: name,
      hosts: [`${name}.kube-system.svc`],
    });
    this.#server = createServer({ cert: certificatePem, key: keyPem }, (request, response) => {
      void this.#answer(request.url ?? '').then((body) => {
        response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
      });
    }).listen(port, address);
    await cluster.apply(
      '',
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, namespace: 'kube-system' },
        spec: { type: 'ExternalName', externalName: address },
      },
      {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { name: `v1beta1.${GROUP}` },
        spec: {
          group: GROUP,
          version: 'v1beta1',
          groupPriorityMinimum: 100,
          versionPriority: 100,
          caBundle: Buffer.from(authorityPem).toString('base64'),
          service: { name, namespace: 'kube-system', port },
        },
      },
    );
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  async #answer(path: string): Promise<unknown> {
    const url = new URL(path, 'https://localhost');
    const [, namespace] = /\/namespaces\/([^/]+)\/pods/.exec(url.pathname) ?? [];
    if (namespace === undefined) {
      const pods = { name: 'pods', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] };
      return {
        kind: 'APIResourceList',
        apiVersion: 'v1',
        groupVersion: `${GROUP}/v1beta1`,
        resources: [{ ...pods, singularName: '' }],
      };
    }
    const selector = url.searchParams.get('labelSelector') ?? '';
    const pods = await this.cluster.list('Pod', namespace, selector);
    return {
      kind: 'PodMetricsList',
      apiVersion: `${GROUP}/v1beta1`,
      metadata: {},
      items: (await this.usage(pods)).map(({ pod: { metadata }, cpu, time }) => ({
        metadata: { name: metadata.name, namespace, labels: metadata.labels },
        timestamp: time,
        window: '1s',
        containers: [{ name: 'gunicorn', usage: { cpu: `${cpu}m`, memory: '64Mi' } }],
      })),
    };
  }
}
