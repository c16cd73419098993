import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { DEFAULT_IDS, DEFAULT_SETTINGS, type Settings } from '../../constructs/kit/settings.js';
import { type OperatorFlag, helpFor, parseFlags, type Parser } from './flags.js';
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
  /** Whether readiness includes the kinds' HTTP checks. */
  readonly siteCheck: boolean;
  readonly resyncIntervalMs: number;
  /** One file, or several joined as in `KUBECONFIG`; the pod's service account when undefined. */
  readonly kubeconfig: string | undefined;
  readonly shutdownTimeoutMs: number;
  readonly settings: Settings;
}

const flag = <T>(
  value: Parser<T>,
  preset: string,
  help: string,
  env?: string,
): OperatorFlag<T> => ({
  value,
  default: preset,
  help,
  ...(env !== undefined && { env }),
});

/** As in zap: an integer is a verbosity, and 1 is debug. */
const logLevel: Parser<LogLevel> = {
  allowed: 'debug, info, warn, error, or an integer from 1 for verbosity',
  parse: (value) =>
    /^[1-9][0-9]{0,2}$/.test(value)
      ? 'debug'
      : oneOf({ debug: 'debug', info: 'info', warn: 'warn', error: 'error' }).parse(value),
};

const MAX_ID = 2147483647;

const FLAGS = {
  'zap-log-level': flag(logLevel, 'info', 'Lowest level that is logged.'),
  'zap-encoder': flag(
    oneOf<LogEncoder>({ json: 'json', console: 'console' }),
    'json',
    'Format of the log.',
  ),
  'metrics-bind-address': flag(bindAddress, ':8080', 'Address of /metrics over plain HTTP.'),
  'metrics-secure-bind-address': flag(
    bindAddress,
    ':8443',
    'Address of /metrics over HTTPS, for authorized callers.',
  ),
  'metrics-cert-dir': flag(
    text,
    '',
    'Folder with tls.crt and tls.key for HTTPS; without it the certificate is self-signed.',
  ),
  'health-probe-bind-address': flag(bindAddress, ':8081', 'Address of /healthz and /readyz.'),
  webhooks: flag(bool, 'false', 'Serve admission webhooks and maintain their certificates.'),
  'webhook-bind-address': flag(
    bindAddress,
    ':9443',
    'Address of the admission webhooks over HTTPS.',
  ),
  'leader-elect': flag(
    bool,
    'false',
    'Run only while holding a Lease, so that several replicas can run.',
  ),
  'leader-elect-lease-duration': flag(
    duration('3s'),
    '15s',
    "How long other replicas wait after the leader's last renewal; the leader itself stops after two thirds of it.",
  ),
  'leader-election-namespace': flag(
    namespace,
    '',
    "Namespace of the Lease; without it the pod's namespace.",
  ),
  'watch-namespaces': flag(
    namespaces,
    '',
    'Namespaces to watch, separated by commas; without it all namespaces.',
  ),
  'watch-label-selector': flag(
    labelSelector,
    '',
    'Label selector of the resources to watch; without it all resources.',
  ),
  'max-concurrent-reconciles': flag(integer(1, 1000), '10', 'Concurrent reconciles of each kind.'),
  'api-group': flag(domain(2), DEFAULT_API_GROUP, 'API group of the custom resources.'),
  'site-check': flag(bool, 'true', 'Check each site over HTTP before it is Ready.'),
  'resync-interval': flag(
    duration('1s'),
    '10h',
    'Interval in which every resource is reconciled without a change.',
  ),
  'cluster-domain': flag(domain(1), DEFAULT_SETTINGS.clusterDomain, 'DNS domain of the cluster.'),
  kubeconfig: flag(
    text,
    '',
    "Kubeconfig file; without it the pod's service account, then ~/.kube/config.",
    'KUBECONFIG',
  ),
  'shutdown-timeout': flag(
    duration('0s'),
    '10s',
    'How long running reconciles may take after SIGTERM.',
  ),
  'default-uid': id('defaultUid', 1, 'User of pods that set none'),
  'default-gid': id('defaultGid', 0, 'Group of pods that set none'),
  'default-fsgroup': id('defaultFsGroup', 0, 'Group of volumes of pods that set none'),
} as const;

/** The default namespace of the Lease outside of a cluster. */
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
  const values = parseFlags(FLAGS, argv, env);
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

/** Whether the arguments request help. */
export function wantsHelp(argv: readonly string[]): boolean {
  return argv.includes('--help') || argv.includes('-h');
}

/** The output of `--help`. */
export function helpText(): string {
  return `Each flag has an environment variable, in brackets; the flag wins.\n\n${helpFor(FLAGS)}\n`;
}

/** An id without a value is decided later: the platform may assign one. */
function id(
  name: keyof typeof DEFAULT_IDS,
  least: number,
  help: string,
): OperatorFlag<number | null> {
  const preset = `${help}; without it ${DEFAULT_IDS[name]}, or what the platform assigns.`;
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
