import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import { DEFAULT_API_GROUP } from '../kit/definition.js';
import { DNS_CONFIG } from '../kit/well-known.js';
import { DEFAULT_IDS as IDS, DEFAULT_SETTINGS } from '../kit/operator-settings.js';
import {
  CONTROL_PLANE,
  OPERATOR,
  OPERATOR_LABELS,
  OPERATOR_SELECTOR,
  plainMetricsAddress,
  PORTS,
  servedPorts,
  WEBHOOK_PORT,
} from '../kit/operator-identity.js';

export interface ManagerProps {
  /** The operator's own namespace. */
  readonly namespace: string;
  readonly image: string;
  readonly replicas: number;
  readonly apiGroup: string;
  /** The namespaces that the operator works in. @default all */
  readonly watchNamespaces?: readonly string[] | undefined;
  /** The resources that the operator works for. @default all */
  readonly watchLabelSelector?: string | undefined;
  /** Whether it runs without a ClusterRole. @default false */
  readonly namespaced?: boolean | undefined;
  /** Whether the platform assigns the ids of the pods that it makes. @default false */
  readonly platformIds?: boolean | undefined;
  /** Whether it serves admission webhooks. */
  readonly webhooks: boolean;
  /** ConfigMap with the authorities of the only webhook clients. @default every client */
  readonly webhookClientCa?: string | undefined;
  /** The namespace of KEDA's operator. @default keda */
  readonly kedaNamespace?: string | undefined;
  /** Whether the metrics are served over plain HTTP too. @default false */
  readonly plainMetrics?: boolean | undefined;
}

/** Where the authorities of webhook clients are mounted. */
const CLIENT_CA = { volume: 'webhook-client-ca', folder: '/etc/app-operator/webhook-client-ca' };

/** Seconds: work in hand (10), the Lease given back (5), connections closed (2), and some air. */
const GRACE_SECONDS = 30;

/** The operator's Deployment, within what the `restricted` Pod Security Standard lets pods do. */
export class OperatorDeployment extends Construct {
  constructor(scope: Construct, id: string, props: ManagerProps) {
    super(scope, id);
    const { namespace, replicas } = props;
    const metadata = {
      name: OPERATOR.deployment,
      namespace,
      labels: { ...OPERATOR_LABELS, ...CONTROL_PLANE },
    };
    const selector = { matchLabels: { ...OPERATOR_SELECTOR } };
    new k8s.KubeDeployment(this, 'deployment', {
      metadata,
      spec: {
        replicas,
        revisionHistoryLimit: 3,
        // Immutable: an upgrade with another selector fails.
        selector: { matchLabels: { ...CONTROL_PLANE } },
        template: {
          metadata: {
            labels: metadata.labels,
            annotations: { 'kubectl.kubernetes.io/default-container': OPERATOR.container },
          },
          spec: {
            serviceAccountName: OPERATOR.serviceAccount,
            automountServiceAccountToken: true,
            enableServiceLinks: false,
            dnsConfig: DNS_CONFIG,
            terminationGracePeriodSeconds: GRACE_SECONDS,
            nodeSelector: { 'kubernetes.io/os': 'linux' },
            // Replicas share a node only where there is no other one.
            topologySpreadConstraints: [
              {
                maxSkew: 1,
                topologyKey: 'kubernetes.io/hostname',
                whenUnsatisfiable: 'ScheduleAnyway',
                labelSelector: selector,
              },
            ],
            // The user is the image's (1001): platforms that assign user ids put their own here.
            securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
            containers: [container(props)],
            ...clientCaVolume(props),
          },
        },
      },
    });
    if (replicas < 2) return;
    new k8s.KubePodDisruptionBudget(this, 'budget', {
      metadata,
      spec: { maxUnavailable: 1, selector },
    });
  }
}

/** What the pod mounts; its container mounts it by the same name. */
function clientCaVolume({ webhookClientCa: name }: ManagerProps): Pick<k8s.PodSpec, 'volumes'> {
  return name === undefined ? {} : { volumes: [{ name: CLIENT_CA.volume, configMap: { name } }] };
}

/** Defaults of pods whose bench names no user, group or group of volumes. */
const DEFAULT_IDS: k8s.EnvVar[] = [
  { name: 'APP_DEFAULT_UID', value: String(IDS.defaultUid) },
  { name: 'APP_DEFAULT_GID', value: String(IDS.defaultGid) },
  { name: 'APP_DEFAULT_FSGROUP', value: String(IDS.defaultFsGroup) },
];

function container(props: ManagerProps): k8s.Container {
  const check = (path: string): k8s.Probe => ({
    httpGet: { path, port: 'health' },
  });
  return {
    name: OPERATOR.container,
    image: props.image,
    imagePullPolicy: 'IfNotPresent',
    args: managerArgs(props),
    env: props.platformIds ? [] : DEFAULT_IDS,
    ports: Object.entries({
      ...servedPorts(props.plainMetrics),
      ...(props.webhooks ? { webhooks: WEBHOOK_PORT } : {}),
    }).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' })),
    livenessProbe: {
      ...check('/healthz'),
      initialDelaySeconds: 15,
      periodSeconds: 20,
      timeoutSeconds: 5,
    },
    readinessProbe: { ...check('/readyz'), initialDelaySeconds: 2, periodSeconds: 10 },
    // No limit on CPU: a leader that is throttled may lose its Lease.
    resources: {
      requests: {
        cpu: '100m',
        memory: '192Mi',
      },
      limits: { memory: '512Mi' },
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
    },
    ...(props.webhookClientCa === undefined
      ? {}
      : {
          volumeMounts: [{ name: CLIENT_CA.volume, mountPath: CLIENT_CA.folder, readOnly: true }],
        }),
  };
}

function managerArgs(props: ManagerProps): string[] {
  const { apiGroup, watchNamespaces = [], namespaced, webhooks } = props;
  const { kedaNamespace = DEFAULT_SETTINGS.kedaNamespace, watchLabelSelector } = props;
  return [
    '--leader-elect',
    `--metrics-bind-address=${plainMetricsAddress(props.plainMetrics)}`,
    // Who may read the metrics is for the cluster to say, which takes a ClusterRole to ask.
    `--metrics-secure-bind-address=${namespaced ? '0' : `:${PORTS.https}`}`,
    `--health-probe-bind-address=:${PORTS.health}`,
    ...(webhooks ? ['--webhooks', `--webhook-bind-address=:${WEBHOOK_PORT}`] : []),
    '--zap-encoder=json',
    '--zap-log-level=info',
    ...(apiGroup === DEFAULT_API_GROUP ? [] : [`--api-group=${apiGroup}`]),
    ...(kedaNamespace === DEFAULT_SETTINGS.kedaNamespace
      ? []
      : [`--keda-namespace=${kedaNamespace}`]),
    ...(watchNamespaces.length === 0 ? [] : [`--watch-namespaces=${watchNamespaces.join(',')}`]),
    ...(watchLabelSelector === undefined ? [] : [`--watch-label-selector=${watchLabelSelector}`]),
    ...(props.webhookClientCa === undefined
      ? []
      : [`--webhook-client-ca-file=${CLIENT_CA.folder}/ca.crt`]),
  ];
}
