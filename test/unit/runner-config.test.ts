import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { DEFAULT_SETTINGS } from '../../constructs/kit/operator-settings.js';
import { type Config, helpText, parseConfig, wantsHelp } from '../../runner/config/config.js';
import { parseDuration } from '../../constructs/kit/duration.js';
import { ConfigError } from '../../runner/config/flag-parser.js';

const DEFAULTS: Config = {
  logLevel: 'info',
  logEncoder: 'json',
  metricsBindAddress: { host: undefined, port: 8080 },
  metricsSecureBindAddress: { host: undefined, port: 8443 },
  metricsCertDir: undefined,
  healthProbeBindAddress: { host: undefined, port: 8081 },
  webhooks: false,
  webhookBindAddress: { host: undefined, port: 9443 },
  webhookClientCaFile: undefined,
  webhookClientNames: [],
  leaderElect: false,
  leaderElectLeaseMs: 15_000,
  leaderElectionNamespace: 'app-operator-system',
  watchNamespaces: [],
  watchLabelSelector: '',
  maxConcurrentReconciles: 10,
  apiGroup: 'app-operator.io',
  siteCheck: true,
  resyncIntervalMs: 10 * 3_600_000,
  kubeconfig: undefined,
  shutdownTimeoutMs: 10_000,
  settings: DEFAULT_SETTINGS,
};

describe('without flags and environment', () => {
  test('the defaults hold', () => {
    assert.deepEqual(parseConfig([], {}), DEFAULTS);
  });
  test('the Lease is in the namespace of the pod', () => {
    assert.equal(parseConfig([], {}, 'ops').leaderElectionNamespace, 'ops');
  });
  test('nothing can be changed afterwards', () => {
    const config = parseConfig([], {});
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.settings));
    assert.ok(Object.isFrozen(config.watchNamespaces));
  });
});

interface Accepted {
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly gives: Partial<Config>;
  readonly because?: string;
}

const accepted: readonly Accepted[] = [
  { argv: ['--zap-log-level=debug'], gives: { logLevel: 'debug' } },
  {
    argv: ['--zap-log-level', 'error'],
    gives: { logLevel: 'error' },
    because: 'a value may be apart',
  },
  { argv: ['--zap-log-level=5'], gives: { logLevel: 'debug' }, because: 'zap takes verbosities' },
  { env: { APP_ZAP_LOG_LEVEL: 'warn' }, gives: { logLevel: 'warn' } },
  {
    argv: ['--zap-log-level=error'],
    env: { APP_ZAP_LOG_LEVEL: 'warn' },
    gives: { logLevel: 'error' },
    because: 'a flag wins over the environment',
  },
  { env: { APP_ZAP_LOG_LEVEL: '' }, gives: {}, because: 'an empty variable counts as none' },
  { argv: ['--zap-encoder=console'], gives: { logEncoder: 'console' } },
  { argv: ['--metrics-bind-address=0'], gives: { metricsBindAddress: null }, because: '0 is off' },
  {
    argv: ['--metrics-bind-address=127.0.0.1:8080'],
    gives: { metricsBindAddress: { host: '127.0.0.1', port: 8080 } },
  },
  {
    argv: ['--metrics-secure-bind-address=[::1]:0'],
    gives: { metricsSecureBindAddress: { host: '::1', port: 0 } },
    because: 'port 0 is any free one',
  },
  { argv: ['--health-probe-bind-address=0'], gives: { healthProbeBindAddress: null } },
  { argv: ['--metrics-cert-dir=/certs'], gives: { metricsCertDir: '/certs' } },
  { argv: ['--leader-elect'], gives: { leaderElect: true }, because: 'a switch needs no value' },
  {
    argv: ['--leader-elect=false'],
    env: { APP_LEADER_ELECT: 'true' },
    gives: { leaderElect: false },
  },
  { argv: ['--leader-elect-lease-duration=1m'], gives: { leaderElectLeaseMs: 60_000 } },
  { argv: ['--leader-election-namespace=ops'], gives: { leaderElectionNamespace: 'ops' } },
  {
    argv: ['--watch-namespaces=b, a,b,'],
    gives: { watchNamespaces: ['b', 'a'] },
    because: 'a namespace counts once',
  },
  { argv: ['--watch-label-selector=team=web'], gives: { watchLabelSelector: 'team=web' } },
  {
    argv: ['--watch-label-selector', 'a in (b, c),!x,k8s.io/d!=e'],
    gives: { watchLabelSelector: 'a in (b, c),!x,k8s.io/d!=e' },
  },
  { argv: ['--max-concurrent-reconciles=1'], gives: { maxConcurrentReconciles: 1 } },
  {
    argv: ['--max-concurrent-reconciles=1', '--max-concurrent-reconciles=2'],
    gives: { maxConcurrentReconciles: 2 },
    because: 'the last one counts',
  },
  { env: { APP_API_GROUP: 'apps.example.com' }, gives: { apiGroup: 'apps.example.com' } },
  { argv: ['--site-check=false'], gives: { siteCheck: false } },
  { argv: ['--resync-interval=1h30m'], gives: { resyncIntervalMs: 5_400_000 } },
  { env: { KUBECONFIG: '/a:/b' }, gives: { kubeconfig: '/a:/b' } },
  { argv: ['--shutdown-timeout=0'], gives: { shutdownTimeoutMs: 0 } },
  {
    env: { APP_DEFAULT_UID: '2000', APP_DEFAULT_GID: '3000', APP_DEFAULT_FSGROUP: '4000' },
    gives: {
      settings: { ...DEFAULT_SETTINGS, defaultUid: 2000, defaultGid: 3000, defaultFsGroup: 4000 },
    },
  },
  {
    argv: ['--cluster-domain=k8s.example.com'],
    gives: { settings: { ...DEFAULT_SETTINGS, clusterDomain: 'k8s.example.com' } },
  },
];

describe('accepted', () => {
  for (const { argv = [], env = {}, gives, because } of accepted) {
    const given = [...argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
    test(`${given.join(' ')}${because ? ` (${because})` : ''}`, () => {
      assert.deepEqual(parseConfig(argv, env), { ...DEFAULTS, ...gives });
    });
  }
});

interface Refused {
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly message: string;
}

const refused: readonly Refused[] = [
  {
    argv: ['--zap-log-level=loud'],
    message:
      '--zap-log-level: got "loud", allowed: debug, info, warn, error, or an integer from 1 for verbosity',
  },
  {
    argv: ['--zap-encoder=constructor'],
    message: '--zap-encoder: got "constructor", allowed: json, console',
  },
  {
    argv: ['--leader-elect=constructor'],
    message: '--leader-elect: got "constructor", allowed: true or false',
  },
  {
    argv: ['--leader-elect-lease-duration=1s'],
    message:
      '--leader-elect-lease-duration: got "1s", allowed: a duration of at least 3s, such as 10h or 5m30s',
  },
  {
    argv: ['--metrics-bind-address=8080'],
    message: '--metrics-bind-address: got "8080", allowed: host:port, :port, or 0 to turn it off',
  },
  {
    argv: ['--health-probe-bind-address=:65536'],
    message:
      '--health-probe-bind-address: got ":65536", allowed: host:port, :port, or 0 to turn it off',
  },
  {
    argv: ['--watch-namespaces=ok,Not_ok'],
    message:
      '--watch-namespaces: got "ok,Not_ok", allowed: names of namespaces, separated by commas',
  },
  {
    argv: ['--watch-label-selector=a in b'],
    message:
      '--watch-label-selector: got "a in b", allowed: a label selector, such as team=web,tier!=test or tier in (a,b)',
  },
  {
    argv: ['--max-concurrent-reconciles=0'],
    message: '--max-concurrent-reconciles: got "0", allowed: an integer from 1 to 1000',
  },
  {
    argv: ['--api-group=nodots'],
    message: '--api-group: got "nodots", allowed: a lower-case DNS name with a dot',
  },
  {
    argv: ['--resync-interval=10'],
    message:
      '--resync-interval: got "10", allowed: a duration of at least 1s, such as 10h or 5m30s',
  },
  {
    env: { APP_DEFAULT_UID: 'root' },
    message: 'APP_DEFAULT_UID: got "root", allowed: an integer from 1 to 2147483647',
  },
  {
    env: { APP_DEFAULT_FSGROUP: '-1' },
    message: 'APP_DEFAULT_FSGROUP: got "-1", allowed: an integer from 0 to 2147483647',
  },
  { argv: ['--nonsense'], message: '--nonsense: unknown flag; --help lists all' },
  { argv: ['--toString=1'], message: '--toString: unknown flag; --help lists all' },
  { argv: ['stray'], message: 'unexpected argument "stray": flags start with --' },
  { argv: ['--kubeconfig'], message: '--kubeconfig: got no value, allowed: text' },
];

describe('refused', () => {
  for (const { argv = [], env = {}, message } of refused) {
    test(message, () => {
      assert.throws(
        () => parseConfig(argv, env),
        (error) => error instanceof ConfigError && error.message === message,
      );
    });
  }

  test('all problems are reported together', () => {
    const argv = ['--zap-encoder=xml', '--nonsense', '--api-group=x'];
    assert.throws(
      () => parseConfig(argv, {}),
      (error) => error instanceof ConfigError && error.problems.length === 3,
    );
  });
});

describe('durations', () => {
  const cases: readonly (readonly [string, number | undefined])[] = [
    ['0', 0],
    ['10h', 36_000_000],
    ['5m30s', 330_000],
    ['1.5s', 1_500],
    ['250ms', 250],
    ['10', undefined],
    ['', undefined],
    ['h', undefined],
    ['-1s', undefined],
    ['1d', undefined],
  ];
  for (const [text, ms] of cases) {
    test(`"${text}" is ${ms ?? 'none'}`, () => {
      assert.equal(parseDuration(text), ms);
    });
  }
});

test('--help names every flag, its variable and its default', () => {
  assert.ok(wantsHelp(['--zap-encoder=json', '--help']) && !wantsHelp([]));
  const help = helpText();
  assert.match(help, /--max-concurrent-reconciles <an integer from 1 to 1000> \(default 10\)/);
  for (const variable of [
    'APP_API_GROUP',
    'KUBECONFIG',
    'APP_DEFAULT_FSGROUP',
    'APP_LEADER_ELECT',
  ]) {
    assert.ok(help.includes(`[${variable}]`), variable);
  }
});
