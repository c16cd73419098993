import {
  DEFAULT_SETTINGS,
  type DEFAULT_IDS,
  type Settings,
} from '../../constructs/kit/operator-settings.js';
import { helpFor, parseConfigFlags } from './flag-parser.js';
import { FLAGS, type LogEncoder, type LogLevel } from './operator-flags.js';
import type { BindAddress } from './parsers.js';

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
  /** PEM file of the authorities of webhook clients; every client is answered when undefined. */
  readonly webhookClientCaFile: string | undefined;
  /** Common names of webhook clients; all of the authorities' when empty. */
  readonly webhookClientNames: readonly string[];
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
    webhookClientCaFile: values['webhook-client-ca-file'] || undefined,
    webhookClientNames: values['webhook-client-names'],
    leaderElect: values['leader-elect'],
    leaderElectLeaseMs: values['leader-elect-lease-duration'],
    leaderElectionNamespace:
      values['leader-election-namespace'] || podNamespace || DEFAULT_SETTINGS.operatorNamespace,
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
      kedaNamespace: values['keda-namespace'],
      operatorNamespace: podNamespace || DEFAULT_SETTINGS.operatorNamespace,
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
