import type { Binaries } from '../../../testbed/controlplane/binaries.js';
import { printProgress } from '../../../testbed/controlplane/progress.js';
import type { KedaProgram } from '../../../testbed/keda/keda.js';
import { ensureImage } from '../../../testbed/node/image.js';
import { installCrd } from '../../cluster/harness.js';
import type { Manifest } from '../../cluster/support/objects.js';
import type { E2e } from '../harness.js';
import { KEDA_IMAGE, kedaImage } from '../../../testbed/images/keda.js';

const NAMESPACE = 'keda';
const SERVICE = 'keda-metrics-apiserver';
const API_SERVICE = 'v1beta1.external.metrics.k8s.io';
const RBAC = 'rbac.authorization.k8s.io';
const GRPC_PORT = 9666;
const CERTIFICATES = '/certs';

/** KEDA in a cluster of real pods: its kinds, and its operator and metrics server in one pod. */
export class InstalledKeda {
  constructor(
    private readonly cluster: E2e,
    private readonly crds: readonly Manifest[],
  ) {}

  async install(programs: Binaries<KedaProgram>): Promise<void> {
    const { cluster } = this;
    await cluster.node.loadImage(await ensureImage(kedaImage(programs), printProgress));
    for (const crd of this.crds) await installCrd(cluster, crd);
    await cluster.apply('', ...this.#manifests());
    await cluster.until(
      'KEDA’s metrics are served',
      async () => {
        await cluster.node.api.request('GET', '/apis/external.metrics.k8s.io/v1beta1');
        return true;
      },
      120_000,
    );
  }

  /** As its users do it: the kinds first, while its operator can still remove finalizers. */
  async remove(): Promise<void> {
    const { cluster } = this;
    // Without a server behind it, an API keeps namespaces from being deleted.
    await cluster.delete('APIService', '', API_SERVICE);
    for (const { metadata } of this.crds) {
      await cluster.delete('CustomResourceDefinition', '', metadata.name);
    }
    for (const { metadata } of this.crds) {
      await cluster.deleted('CustomResourceDefinition', '', metadata.name, 60_000);
    }
    await cluster.delete('Namespace', '', NAMESPACE);
    for (const { kind, metadata } of access()) await cluster.delete(kind, '', metadata.name);
  }

  #manifests(): readonly Manifest[] {
    const { certificatePem, keyPem, authorityPem } = this.cluster.node.controlPlane.credential({
      commonName: SERVICE,
      hosts: ['localhost', `${SERVICE}.${NAMESPACE}.svc`],
    });
    const namespaced = (name: string) => ({ name, namespace: NAMESPACE });
    const labels = { 'app.kubernetes.io/name': 'keda-operator' };
    return [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: namespaced('keda-operator') },
      ...access(),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: namespaced('kedaorg-certs'),
        stringData: { 'tls.crt': certificatePem, 'tls.key': keyPem, 'ca.crt': authorityPem },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: namespaced(SERVICE),
        spec: { selector: labels, ports: [{ port: 443, targetPort: 6443 }] },
      },
      {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { name: API_SERVICE },
        spec: {
          group: 'external.metrics.k8s.io',
          version: 'v1beta1',
          groupPriorityMinimum: 100,
          versionPriority: 100,
          caBundle: Buffer.from(authorityPem).toString('base64'),
          service: { name: SERVICE, namespace: NAMESPACE, port: 443 },
        },
      },
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: namespaced('keda-operator'),
        spec: {
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              serviceAccountName: 'keda-operator',
              containers: [
                container('operator', [
                  `--metrics-service-bind-address=localhost:${GRPC_PORT}`,
                  '--enable-prometheus-metrics=false',
                ]),
                container('adapter', [
                  '--secure-port=6443',
                  '--port=8090',
                  `--metrics-service-address=localhost:${GRPC_PORT}`,
                  `--client-ca-file=${CERTIFICATES}/ca.crt`,
                  `--requestheader-client-ca-file=${CERTIFICATES}/ca.crt`,
                  '--authentication-skip-lookup',
                  `--tls-cert-file=${CERTIFICATES}/tls.crt`,
                  `--tls-private-key-file=${CERTIFICATES}/tls.key`,
                ]),
              ],
              volumes: [{ name: 'certificates', secret: { secretName: 'kedaorg-certs' } }],
            },
          },
        },
      },
    ];
  }
}

function container(program: KedaProgram, args: readonly string[]) {
  return {
    name: program,
    image: KEDA_IMAGE,
    imagePullPolicy: 'Never',
    command: [`/keda-${program}`, `--cert-dir=${CERTIFICATES}`, ...args],
    env: [
      { name: 'POD_NAMESPACE', value: NAMESPACE },
      { name: 'KEDA_CLUSTER_OBJECT_NAMESPACE', value: NAMESPACE },
      { name: 'WATCH_NAMESPACE', value: '' },
    ],
    volumeMounts: [{ name: 'certificates', mountPath: CERTIFICATES, readOnly: true }],
  };
}

/**
 * KEDA is a cluster administrator; its metrics are open, since this API server has no identity for
 * aggregated servers.
 */
function access(): readonly Manifest[] {
  const bind = (name: string, role: string, subject: Readonly<Record<string, string>>) => ({
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
    subjects: [subject],
  });
  return [
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'keda-metrics' },
      rules: [
        { apiGroups: ['external.metrics.k8s.io'], resources: ['*'], verbs: ['*'] },
        { nonResourceURLs: ['/apis/*', '/openapi/*'], verbs: ['get'] },
      ],
    },
    bind('keda-metrics', 'keda-metrics', {
      apiGroup: RBAC,
      kind: 'Group',
      name: 'system:unauthenticated',
    }),
    bind('keda-operator', 'cluster-admin', {
      kind: 'ServiceAccount',
      name: 'keda-operator',
      namespace: NAMESPACE,
    }),
  ];
}
