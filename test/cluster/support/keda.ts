import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

import type { Binaries } from '../../../testbed/controlplane/binaries.js';
import { keda, type KedaProgram } from '../../../testbed/keda/keda.js';
import type { Cluster } from '../harness.js';
import { type Crds, crdsOf } from './modules.js';
import type { Manifest } from './objects.js';

/** The API by which the HPA controller reads the length of a queue from KEDA. */
const METRICS_API = 'v1beta1.external.metrics.k8s.io';
const NAMESPACE = 'keda';
const METRICS_SERVICE = 'keda-metrics-apiserver';

/** KEDA's programs and kinds, or why they are not to be had here. */
export async function kedaHere(): Promise<{
  readonly crds: Crds;
  readonly programs: Binaries<KedaProgram> | undefined;
  readonly skip: string | false;
}> {
  const crds = await crdsOf('keda.sh.ts', [
    'config/crd/bases/eventing.keda.sh_cloudeventsources.yaml',
    'config/crd/bases/eventing.keda.sh_clustercloudeventsources.yaml',
    'config/crd/bases/keda.sh_clustertriggerauthentications.yaml',
    'config/crd/bases/keda.sh_scaledjobs.yaml',
    'config/crd/bases/keda.sh_scaledobjects.yaml',
    'config/crd/bases/keda.sh_triggerauthentications.yaml',
  ]);
  if (crds.skip) return { crds, programs: undefined, skip: crds.skip };
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) {
    const skip = 'NOT TESTED: only root gives KEDA a hosts file of its own, instead of DNS';
    return { crds, programs: undefined, skip };
  }
  const found = await keda();
  return 'skip' in found
    ? { crds, programs: undefined, skip: found.skip }
    : { crds, programs: found.programs, skip: false };
}

/** KEDA beside a control plane without pods and DNS: as processes, with a hosts file of their own. */
export class Keda {
  #ports: { readonly grpc: number; readonly metrics: number } | undefined;

  /** @param hosts the address of each name that KEDA is to find */
  constructor(
    private readonly cluster: Cluster,
    private readonly programs: Binaries<KedaProgram>,
    private readonly hosts: Readonly<Record<string, string>>,
  ) {}

  /** Starts operator and metrics server, and waits until the API server can ask the latter. */
  async start(): Promise<void> {
    const { cluster } = this;
    const folder = this.#folder;
    await mkdir(folder, { recursive: true });
    const names = ['127.0.0.1 localhost'];
    for (const [name, address] of Object.entries(this.hosts)) names.push(`${address} ${name}`);
    await writeFile(path.join(folder, 'hosts'), `${names.join('\n')}\n`);
    const { certificatePem, keyPem, authorityPem } = cluster.controlPlane.credential({
      commonName: METRICS_SERVICE,
      hosts: ['localhost', '127.0.0.1', `${METRICS_SERVICE}.${NAMESPACE}.svc`],
    });
    await writeFile(path.join(folder, 'tls.crt'), certificatePem);
    await writeFile(path.join(folder, 'tls.key'), keyPem, { mode: 0o600 });
    await writeFile(path.join(folder, 'ca.crt'), authorityPem);
    this.#ports = { grpc: await cluster.freePort(), metrics: await cluster.freePort() };
    await cluster.apply('', ...this.#objects(authorityPem));
    await this.startOperator();
    await this.#start('adapter', [
      `--secure-port=${this.#ports.metrics}`,
      '--bind-address=127.0.0.1',
      `--port=${await cluster.freePort()}`,
      `--metrics-service-address=localhost:${this.#ports.grpc}`,
      `--client-ca-file=${folder}/ca.crt`,
      // This API server does not tell others which front proxies to trust.
      `--requestheader-client-ca-file=${folder}/ca.crt`,
      '--authentication-skip-lookup',
      `--tls-cert-file=${folder}/tls.crt`,
      `--tls-private-key-file=${folder}/tls.key`,
      `--cert-dir=${folder}`,
      ...['authentication', 'authorization', 'lister'].map(
        (use) => `--${use}-kubeconfig=${cluster.controlPlane.kubeconfig}`,
      ),
    ]);
    await cluster.until(
      'KEDA’s metrics are served',
      async () => {
        await cluster.controlPlane.api.request('GET', '/apis/external.metrics.k8s.io/v1beta1');
        return true;
      },
      60_000,
    );
  }

  async startOperator(): Promise<void> {
    await this.#start('operator', [
      `--metrics-service-bind-address=127.0.0.1:${this.#ports?.grpc ?? 0}`,
      `--cert-dir=${this.#folder}`,
      '--enable-prometheus-metrics=false',
      '--health-probe-bind-address=0',
      '--zap-log-level=info',
    ]);
  }

  stopOperator(): Promise<void> {
    return this.cluster.controlPlane.stopProcess('keda-operator', 'SIGKILL');
  }

  get #folder(): string {
    return path.join(this.cluster.controlPlane.dataDir, 'keda');
  }

  #start(program: KedaProgram, args: readonly string[]): Promise<void> {
    const { controlPlane } = this.cluster;
    // The address of the trigger is a Service's name, which there is no DNS for.
    const script = 'mount --bind "$1" /etc/hosts && shift && exec "$@"';
    return controlPlane.start(`keda-${program}`, 'unshare', [
      '--mount',
      'sh',
      '-c',
      script,
      'sh',
      path.join(this.#folder, 'hosts'),
      'env',
      `KUBECONFIG=${controlPlane.kubeconfig}`,
      `POD_NAMESPACE=${NAMESPACE}`,
      'WATCH_NAMESPACE=',
      `KEDA_CLUSTER_OBJECT_NAMESPACE=${NAMESPACE}`,
      this.programs[program],
      ...args,
    ]);
  }

  /** The API server takes a Service that is an external name for the way to the metrics server. */
  #objects(authorityPem: string): readonly Manifest[] {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'keda-metrics' } };
    return [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: METRICS_SERVICE, namespace: NAMESPACE },
        spec: { type: 'ExternalName', externalName: 'localhost' },
      },
      {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { name: METRICS_API },
        spec: {
          group: 'external.metrics.k8s.io',
          version: 'v1beta1',
          groupPriorityMinimum: 100,
          versionPriority: 100,
          caBundle: Buffer.from(authorityPem).toString('base64'),
          service: {
            name: METRICS_SERVICE,
            namespace: NAMESPACE,
            port: this.#ports?.metrics ?? 0,
          },
        },
      },
      // This API server proves no identity to other servers: to KEDA all clients are anonymous.
      {
        ...role,
        kind: 'ClusterRole',
        rules: [
          { apiGroups: ['external.metrics.k8s.io'], resources: ['*'], verbs: ['*'] },
          { nonResourceURLs: ['/apis/*', '/openapi/*'], verbs: ['get'] },
        ],
      },
      {
        ...role,
        kind: 'ClusterRoleBinding',
        roleRef: {
          apiGroup: 'rbac.authorization.k8s.io',
          kind: 'ClusterRole',
          name: 'keda-metrics',
        },
        subjects: [
          {
            apiGroup: 'rbac.authorization.k8s.io',
            kind: 'Group',
            name: 'system:unauthenticated',
          },
        ],
      },
    ];
  }
}
