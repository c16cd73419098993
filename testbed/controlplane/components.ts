import path from 'node:path';

import { KWOK_KINDS } from './kwok-kinds.js';
import type { Place } from './options.js';
import type { Pki } from './pki.js';

/** What the command lines depend on. */
export interface Setup {
  readonly dataDir: string;
  readonly pki: Pki;
  readonly ports: {
    readonly etcd: number;
    readonly etcdPeer: number;
    readonly apiServer: number;
    readonly kubelet: number;
  };
  /** Paths of kubeconfig files, by user. */
  readonly kubeconfigs: {
    readonly admin: string;
    readonly controllerManager: string;
    readonly scheduler: string;
    readonly kwok: string;
  };
  /** Where real pods run too. */
  readonly place?: Place | undefined;
  readonly audit?: { readonly policy: string; readonly log: string };
  /** Path of the AdmissionConfiguration. */
  readonly admission?: string;
}

/** High client limits: the machine, not a client's own rate limit, sets the pace of tests. */
const FAST_CLIENT = ['--kube-api-qps=1000', '--kube-api-burst=2000'];

export function etcd({ dataDir, ports }: Setup): string[] {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return [
    '--name=default',
    `--data-dir=${path.join(dataDir, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    // Only a crash of the whole machine could lose what is in the page cache.
    '--unsafe-no-fsync',
    '--log-level=warn',
    '--quota-backend-bytes=4294967296',
  ];
}

export function apiServer(setup: Setup): string[] {
  const { dataDir, pki, ports, audit, place, admission } = setup;
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    `--secure-port=${ports.apiServer}`,
    ...(place ? servesPods(setup, place) : servesThisMachine()),
    `--cert-dir=${path.join(dataDir, 'apiserver')}`,
    `--tls-cert-file=${pki.files.server}`,
    `--tls-private-key-file=${pki.files.serverKey}`,
    `--client-ca-file=${pki.files.authority}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${pki.files.serviceAccount}`,
    `--service-account-signing-key-file=${pki.files.serviceAccountKey}`,
    '--kubelet-preferred-address-types=InternalIP',
    '--allow-privileged',
    // At SIGTERM end the watches too, which otherwise hold the process for a minute.
    '--shutdown-watch-termination-grace-period=1s',
    ...(admission === undefined ? [] : [`--admission-control-config-file=${admission}`]),
    ...(audit === undefined
      ? []
      : [
          `--audit-policy-file=${audit.policy}`,
          `--audit-log-path=${audit.log}`,
          '--audit-log-mode=blocking',
          // In megabytes: one file, so that a reader sees every event.
          '--audit-log-maxsize=100000',
        ]),
  ];
}

function servesThisMachine(): string[] {
  return [
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    // An endpoint of the Service `kubernetes` may not be a loopback address.
    '--endpoint-reconciler-type=none',
    '--authorization-mode=RBAC',
    // Fair queues take a goroutine and a stack for each request.
    '--enable-priority-and-fairness=false',
    '--service-cluster-ip-range=10.32.0.0/16',
  ];
}

function servesPods({ pki }: Setup, { address, serviceRange }: Place): string[] {
  return [
    '--bind-address=0.0.0.0',
    `--advertise-address=${address}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    `--service-cluster-ip-range=${serviceRange}`,
    // To the kubelet, for logs and exec.
    `--kubelet-client-certificate=${pki.files.kubeletClient}`,
    `--kubelet-client-key=${pki.files.kubeletClientKey}`,
  ];
}

/** Controllers of endpoints. */
const UNUSED_CONTROLLERS = [
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
];

export function controllerManager({ pki, kubeconfigs, place }: Setup): string[] {
  return [
    `--kubeconfig=${kubeconfigs.controllerManager}`,
    '--secure-port=0',
    '--leader-elect=false',
    '--use-service-account-credentials',
    `--root-ca-file=${pki.files.authority}`,
    `--service-account-private-key-file=${pki.files.serviceAccountKey}`,
    `--cluster-signing-cert-file=${pki.files.authority}`,
    `--cluster-signing-key-file=${pki.files.authorityKey}`,
    ...(place ? [] : SIMULATED),
    '--concurrent-deployment-syncs=10',
    '--concurrent-replicaset-syncs=10',
    '--concurrent-gc-syncs=20',
    '--horizontal-pod-autoscaler-sync-period=2s',
    ...FAST_CLIENT,
  ];
}

const SIMULATED = [
  // Simulated nodes do not fail: a machine under load must not have its pods evicted.
  '--node-monitor-grace-period=1h',
  // Nothing connects to simulated pods.
  `--controllers=${['*', ...UNUSED_CONTROLLERS.map((name) => `-${name}`)].join(',')}`,
];

export function scheduler({ kubeconfigs }: Setup): string[] {
  return [
    `--kubeconfig=${kubeconfigs.scheduler}`,
    '--secure-port=0',
    '--leader-elect=false',
    // The scheduler may try a pod before it sees the pod's volume claim bound. It gets no event
    // then and would retry after five minutes; with this flag it retries every half a minute.
    '--pod-max-in-unschedulable-pods-duration=1s',
    ...FAST_CLIENT,
  ];
}

export function kwok({ pki, ports, kubeconfigs }: Setup): string[] {
  return [
    `--kubeconfig=${kubeconfigs.kwok}`,
    '--manage-all-nodes=true',
    `--enable-crds=${KWOK_KINDS.join(',')}`,
    // A pod's address; the default range has 254.
    '--cidr=10.64.0.1/12',
    '--node-ip=127.0.0.1',
    // The address of every node; the API server requests logs there.
    `--server-address=127.0.0.1:${ports.kubelet}`,
    `--node-port=${ports.kubelet}`,
    `--tls-cert-file=${pki.files.server}`,
    `--tls-private-key-file=${pki.files.serverKey}`,
    '--node-lease-duration-seconds=40',
  ];
}

/**
 * Metadata of every request, once, when it has been answered.
 * @param own also of requests of Kubernetes' own components, which are most of all
 */
export function auditPolicy(own: boolean): object {
  const users = [
    'kwok',
    'system:apiserver',
    'system:kube-controller-manager',
    'system:kube-scheduler',
  ];
  return {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [
      ...(own
        ? []
        : [
            { level: 'None', users },
            { level: 'None', userGroups: ['system:serviceaccounts:kube-system'] },
          ]),
      { level: 'Metadata' },
    ],
  };
}

/** An AdmissionConfiguration: the API server's webhooks use the credentials of a kubeconfig. */
export function admissionConfiguration(kubeconfig: string): object {
  const plugin = (name: string): object => ({
    name,
    configuration: {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'WebhookAdmissionConfiguration',
      kubeConfigFile: kubeconfig,
    },
  });
  return {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: ['ValidatingAdmissionWebhook', 'MutatingAdmissionWebhook'].map(plugin),
  };
}
