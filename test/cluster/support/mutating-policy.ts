import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';

import { issue, newAuthority } from '../../../testbed/controlplane/certificate.js';
import type { Cluster } from '../harness.js';

/** An operation of a JSON patch. */
export interface PatchOperation {
  readonly op: 'add' | 'replace';
  readonly path: string;
  readonly value: unknown;
}

export interface PolicyOptions {
  readonly namespace: string;
  /** Of the objects that it changes, such as `jobs`. */
  readonly resources: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE')[];
  /** What it changes in each. */
  readonly patch: readonly PatchOperation[];
}

interface Review {
  readonly request: { readonly uid: string };
}

/** An admission policy of a cluster, as Kyverno has them: a mutating webhook for one namespace. */
export class MutatingPolicy {
  private constructor(private readonly server: Server) {}

  /** Starts it, and registers it with the API server; the lease of the cluster deletes it. */
  static async start(cluster: Cluster, options: PolicyOptions): Promise<MutatingPolicy> {
    const authority = newAuthority('policy');
    const { certificatePem: cert, keyPem: key } = issue(authority, {
      commonName: 'policy',
      hosts: ['127.0.0.1'],
    });
    const patch = Buffer.from(JSON.stringify(options.patch)).toString('base64');
    const server = createServer({ cert, key }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { uid } = (JSON.parse(Buffer.concat(chunks).toString()) as Review).request;
        const answer = { uid, allowed: true, patchType: 'JSONPatch', patch };
        response.setHeader('content-type', 'application/json');
        const apiVersion = 'admission.k8s.io/v1';
        response.end(JSON.stringify({ apiVersion, kind: 'AdmissionReview', response: answer }));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await register(cluster, options, {
      url: `https://127.0.0.1:${port}/`,
      caBundle: Buffer.from(authority.certificatePem).toString('base64'),
    });
    return new MutatingPolicy(server);
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

function register(
  cluster: Cluster,
  { namespace, resources, operations }: PolicyOptions,
  clientConfig: Readonly<Record<string, string>>,
): Promise<unknown> {
  const collection = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
  return cluster.controlPlane.api.request('POST', collection, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: `policy-${namespace}-${resources.join('-')}` },
    webhooks: [
      {
        name: 'policy.example.com',
        clientConfig,
        rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations, resources }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        timeoutSeconds: 30,
        // A test that has ended leaves nothing that could stop others.
        failurePolicy: 'Ignore',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
}
