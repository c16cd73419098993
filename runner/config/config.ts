import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { DEFAULT_IDS, DEFAULT_SETTINGS, type Settings } from '../../constructs/kit/settings.js';
import { helpFor, type Parser, parseConfigFlags, type ConfigFlag } from './flag-parser.js';
import {
  type BindAddress,
  bindAddress,
  bool,
  domain,
  duration,
  integer,
  labelSelector,
  namespace,
  namespaces,
  oneOf,
  orNone,
  text,
} from './parsers.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type LogEncoder = 'json' | 'console';

/** The operator's configuration. Nothing else reads flags or the environment. */
export interface Config {
  readonly logLevel: LogLevel;
  readonly logEncoder: LogEncoder;
  /** Plain HTTP; null is off. */
  readonly metricsBindAddress: BindAddress | null;
  /** HTTPS with authentication; null is off. */
  readonly metricsSecureBindAddress: BindAddress | null;
  /** Folder of `tls.crt` and `tls.key`; self-signed when undefined. */
  readonly metricsCertDir: string | undefined;
  readonly healthProbeBindAddress: BindAddress | null;
  /** Whether admission webhooks are served. */
  readonly webhooks: boolean;
  /** HTTPS; null is off. */
  readonly webhookBindAddress: BindAddress | null;
  readonly leaderElect: boolean;
  /** How long other replicas wait after the leader's last renewal. */
  readonly leaderElectLeaseMs: number;
  /** The namespace of the Lease. */
  readonly leaderElectionNamespace: string;
  /** Every namespace when empty. */
  readonly watchNamespaces: readonly string[];
  /** Every object when empty. */
  readonly watchLabelSelector: string;
  /** Per kind. */
  readonly maxConcurrentReconciles: number;
  readonly apiGroup: string;
  /** Whether a site becomes Ready only when it responds over HTTP. */
  readonly siteCheck: boolean;
  readonly resyncIntervalMs: number;
  /** One file, or several joined as in `KUBECONFIG`; the pod's service account when undefined. */
  readonly kubeconfig: string | undefined;
  readonly shutdownTimeoutMs: number;
  readonly settings: Settings;
}

const flag = <T>(value: Parser<T>, preset: string, help: string, env?: string): ConfigFlag<T> => ({
  value,
  default: preset,
  help,
  ...(env !== undefined && { env }),
});

/** The levels of zap: an integer is a verbosity, and any verbosity above 0 is debug. */
const logLevel: Parser<LogLevel> = {
  allowed: 'debug, info, warn, error, or an integer from 1 for verbosity',
  parse: (value) =>
    /^[1-9][0-9]{0,2}$/.test(value)
      ? 'debug'
      : oneOf({ debug: 'debug', info: 'info', warn: 'warn', error: 'error' }).parse(value),
};

const MAX_ID = 2147483647;

const FLAGS = {
  'zap-log-level': flag(logLevel, 'info', 'Least severe level that is logged.'),
  'zap-encoder': flag(
    oneOf<LogEncoder>({ json: 'json', console: 'console' }),
    'json',
    'Format of the log.',
  ),
  'metrics-bind-address': flag(bindAddress, ':8080', 'Where /metrics is served over plain HTTP.'),
  'metrics-secure-bind-address': flag(
    bindAddress,
    ':8443',
    'Where /metrics is served over HTTPS, to callers with the right to get it.',
  ),
  'metrics-cert-dir': flag(
    text,
    '',
    'Folder with tls.crt and tls.key for HTTPS; a self-signed certificate when not given.',
  ),
  'health-probe-bind-address': flag(bindAddress, ':8081', 'Where /healthz and /readyz are served.'),
  webhooks: flag(bool, 'false', 'Serve admission webhooks, and manage their certificates.'),
  'webhook-bind-address': flag(
    bindAddress,
    ':9443',
    'Where the admission webhooks are served over HTTPS.',
  ),
  'leader-elect': flag(
    bool,
    'false',
    'Run only while holding a Lease, so that several replicas can run.',
  ),
  'leader-elect-lease-duration': flag(
    duration('3s'),
    '15s',
    "How long other replicas wait after the leader's last renewal. The leader stops after two thirds of it without one.",
  ),
  'leader-election-namespace': flag(
    namespace,
    '',
    "Namespace of the Lease; the pod's own when not given.",
  ),
  'watch-namespaces': flag(
    namespaces,
    '',
    'Namespaces to watch, separated by commas; all when not given.',
  ),
  'watch-label-selector': flag(
    labelSelector,
    '',
    'Labels of the resources to watch; all when not given.',
  ),
  'max-concurrent-reconciles': flag(
    integer(1, 1000),
    '10',
    'Resources of a kind that are reconciled at the same time.',
  ),
  'api-group': flag(domain(2), DEFAULT_API_GROUP, 'API group of the custom resources.'),
  'site-check': flag(bool, 'true', 'Check each site over HTTP before it becomes Ready.'),
  'resync-interval': flag(duration('1s'), '10h', 'How often every resource is reconciled again.'),
  'cluster-domain': flag(domain(1), DEFAULT_SETTINGS.clusterDomain, 'DNS domain of the cluster.'),
  kubeconfig: flag(
    text,
    '',
    "Kubeconfig file; the pod's service account, then ~/.kube/config, when not given.",
    'KUBECONFIG',
  ),
  'shutdown-timeout': flag(
    duration('0s'),
    '10s',
    'How long reconciles in progress may take after SIGTERM.',
  ),
  'default-uid': id('defaultUid', 1, 'User of pods whose resource sets none'),
  'default-gid': id('defaultGid', 0, 'Group of pods whose resource sets none'),
  'default-fsgroup': id('defaultFsGroup', 0, 'Group of volumes of pods whose resource sets none'),
} as const;

/** The namespace of the Lease when the operator runs outside of a cluster and no flag sets it. */
const DEFAULT_NAMESPACE = 'app-operator-system';

/**
 * @param argv arguments without the program
 * @param podNamespace the namespace that the operator's pod runs in, if it runs in one
 * @throws ConfigError
 */
export function parseConfig(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  podNamespace?: string,
): Config {
  const values = parseConfigFlags(FLAGS, argv, env);
  return deepFreeze({
    logLevel: values['zap-log-level'],
    logEncoder: values['zap-encoder'],
    metricsBindAddress: values['metrics-bind-address'],
    metricsSecureBindAddress: values['metrics-secure-bind-address'],
    metricsCertDir: values['metrics-cert-dir'] || undefined,
    healthProbeBindAddress: values['health-probe-bind-address'],
    webhooks: values.webhooks,
    webhookBindAddress: values['webhook-bind-address'],
    leaderElect: values['leader-elect'],
    leaderElectLeaseMs: values['leader-elect-lease-duration'],
    leaderElectionNamespace:
      values['leader-election-namespace'] || podNamespace || DEFAULT_NAMESPACE,
    watchNamespaces: values['watch-namespaces'],
    watchLabelSelector: values['watch-label-selector'],
    maxConcurrentReconciles: values['max-concurrent-reconciles'],
    apiGroup: values['api-group'],
    siteCheck: values['site-check'],
    resyncIntervalMs: values['resync-interval'],
    kubeconfig: values.kubeconfig || undefined,
    shutdownTimeoutMs: values['shutdown-timeout'],
    settings: {
      ...given('defaultUid', values['default-uid']),
      ...given('defaultGid', values['default-gid']),
      ...given('defaultFsGroup', values['default-fsgroup']),
      clusterDomain: values['cluster-domain'],
    },
  });
}

export function wantsHelp(argv: readonly string[]): boolean {
  return argv.includes('--help') || argv.includes('-h');
}

/** What `--help` prints. */
export function helpText(): string {
  return `Each flag has an environment variable, in brackets; the flag wins.\n\n${helpFor(FLAGS)}\n`;
}

/** An id that is not given stays open: the platform may assign one. */
function id(
  name: keyof typeof DEFAULT_IDS,
  least: number,
  help: string,
): ConfigFlag<number | null> {
  const preset = `${help}; ${DEFAULT_IDS[name]} when not given, or what the platform assigns.`;
  return flag(orNone(integer(least, MAX_ID)), '', preset);
}

function given<K extends keyof typeof DEFAULT_IDS>(
  name: K,
  value: number | null,
): { readonly [k in K]?: number } {
  return (value === null ? {} : { [name]: value }) as { readonly [k in K]?: number };
}

function deepFreeze<T extends object>(value: T): Readonly<T> {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner as object);
  }
  return Object.freeze(value);
}
