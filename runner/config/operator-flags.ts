import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { DEFAULT_IDS, DEFAULT_SETTINGS, MAX_ID } from '../../constructs/kit/operator-settings.js';
import type { ConfigFlag, Parser } from './flag-parser.js';
import {
  bindAddress,
  bool,
  domain,
  duration,
  integer,
  labelSelector,
  names,
  namespace,
  namespaces,
  oneOf,
  orNone,
  text,
} from './parsers.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type LogEncoder = 'json' | 'console';

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

/** Each flag of the operator, with its default. */
export const FLAGS = {
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
  'webhook-client-ca-file': flag(
    text,
    '',
    'PEM file of the authorities of the only webhook clients that are answered; everybody is answered when not given.',
  ),
  'webhook-client-names': flag(
    names,
    '',
    'Common names of the webhook clients that are answered, separated by commas. By default, all clients whose certificate an authority has signed.',
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
    'Resources of a kind that are reconciled at the same time; at most three quarters of them in one namespace.',
  ),
  'api-group': flag(domain(2), DEFAULT_API_GROUP, 'API group of the custom resources.'),
  'site-check': flag(bool, 'true', 'Check each site over HTTP before it becomes Ready.'),
  'resync-interval': flag(duration('1s'), '10h', 'How often every resource is reconciled again.'),
  'cluster-domain': flag(domain(1), DEFAULT_SETTINGS.clusterDomain, 'DNS domain of the cluster.'),
  'keda-namespace': flag(
    namespace,
    DEFAULT_SETTINGS.kedaNamespace,
    "Namespace of KEDA's operator: only from there it reaches the benches' Redis.",
  ),
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

/** An id that is not given stays open: the platform may assign one. */
function id(
  name: keyof typeof DEFAULT_IDS,
  least: number,
  help: string,
): ConfigFlag<number | null> {
  const preset = `${help}; ${DEFAULT_IDS[name]} when not given, or what the platform assigns.`;
  return flag(orNone(integer(least, MAX_ID)), '', preset);
}
