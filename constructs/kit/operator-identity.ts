/**
 * Names and ports of the operator's own objects. Monitoring and runbooks rely on them, so they are
 * fixed.
 */
export const OPERATOR = {
  namespace: 'app-operator-system',
  deployment: 'app-operator-controller-manager',
  serviceAccount: 'app-operator-controller-manager',
  container: 'manager',
  metricsService: 'app-operator-controller-manager-metrics-service',
  serviceMonitor: 'app-operator-metrics',
  /** ServiceMonitor of the benches' exporters. */
  workloadMonitor: 'app-operator-workloads',
  prometheusRule: 'app-operator',
  /** ConfigMap of the dashboard. */
  dashboard: 'app-operator-dashboard',
  networkPolicy: 'app-operator-controller-manager',
  webhookService: 'app-operator-webhook-service',
  /** The Secret with the webhooks' authority and certificate, which the operator makes. */
  webhookSecret: 'app-operator-webhook-keys',
  /** Both webhook configurations: the validating one and the mutating one. */
  webhookConfiguration: 'app-operator-webhook-configuration',
  /** Policies by kind: who may set the fields by which an author decides about pods. */
  authorsPolicy: 'app-operator-authors',
  /** Policies by kind: what no author may set unless an administrator allows it. */
  limitsPolicy: 'app-operator-limits',
  /** The ConfigMap with what an administrator allows. */
  limits: 'app-operator-limits',
  validatePath: '/validate',
  mutatePath: '/mutate',
  /** The Lease that the leader holds. */
  lease: 'app-operator-leader',
  /** ClusterRole of the operator, and Role of it in each namespace where it is confined. */
  managerRole: 'app-operator-manager-role',
  /** Role of the operator in its own namespace. */
  ownRole: 'app-operator-own-namespace-role',
  metricsReaderRole: 'app-operator-metrics-reader',
  viewRole: 'app-operator-view',
  editRole: 'app-operator-edit',
} as const;

/**
 * The name of an object of the operator outside of its own namespace. An installation that is not in the
 * default namespace has objects of its own there, so that several installations share none.
 */
export function outsideName(name: string, namespace: string): string {
  return namespace === OPERATOR.namespace ? name : `${name}-${namespace}`;
}

/** Named ports of the operator's pod and of its Service. */
export const PORTS = { https: 8443, health: 8081 } as const;

/** Port of the admission webhooks. */
export const WEBHOOK_PORT = 9443;

/** Port of plain metrics. */
const PLAIN_METRICS_PORT = 8080;

/**
 * Plain metrics listen on loopback only, unless the administrator wants them on the network: there
 * everyone who reaches the port reads them.
 */
const PLAIN_METRICS_ADDRESS = `127.0.0.1:${PLAIN_METRICS_PORT}`;

/** Named ports of the operator's pod and of its Service, with plain metrics or without. */
export function servedPorts(plainMetrics = false): Readonly<Record<string, number>> {
  return { ...PORTS, ...(plainMetrics ? { metrics: PLAIN_METRICS_PORT } : {}) };
}

/** Where the operator serves plain metrics. */
export function plainMetricsAddress(plainMetrics = false): string {
  return plainMetrics ? `:${PLAIN_METRICS_PORT}` : PLAIN_METRICS_ADDRESS;
}

/** The label of the operator's pods and, for scraping, of its Service. Other operators have it too. */
export const CONTROL_PLANE = { 'control-plane': 'controller-manager' } as const;

/**
 * Labels of the operator's own objects. There is no `managed-by` among them: what carries that one
 * was made by the operator.
 */
export const OPERATOR_LABELS = {
  'app.kubernetes.io/name': 'app-operator',
  'app.kubernetes.io/part-of': 'app-operator',
} as const;

/**
 * Selects the operator's pods and metrics Service, also in a namespace shared with other operators. The
 * Deployment selects by CONTROL_PLANE alone: its selector is immutable.
 */
export const OPERATOR_SELECTOR = {
  'app.kubernetes.io/name': OPERATOR_LABELS['app.kubernetes.io/name'],
  ...CONTROL_PLANE,
} as const;
