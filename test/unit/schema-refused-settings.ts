import { aBench, aSite, type Manifest } from './schema-manifests.js';
import type { Refused } from './schema-refused.js';

type Row = readonly [reason: string, value: unknown, ...paths: string[]];

/** Rows about one field: the paths are below it. */
function rows(
  what: string,
  path: string,
  manifest: (value: unknown) => Manifest,
  list: readonly Row[],
): readonly Refused[] {
  return list.map(([reason, value, ...paths]): Refused => [
    `${what}: ${reason}`,
    manifest(value),
    ...(paths.length > 0 ? paths : ['']).map((below) => `${path}${below}`),
  ]);
}

const GUNICORN: readonly Row[] = [
  ['no process', { workers: 0 }, '.workers'],
  ['too many processes', { workers: 65 }, '.workers'],
  ['processes that are text', { workers: '4' }, '.workers'],
  ['half a process', { workers: 2.5 }, '.workers'],
  ['no thread', { threads: 0 }, '.threads'],
  ['too many threads', { threads: 65 }, '.threads'],
  ['a time in another unit', { timeoutSeconds: '2m' }, '.timeoutSeconds'],
  ['a time that is too short', { timeoutSeconds: 9 }, '.timeoutSeconds'],
  ['a time that is too long', { timeoutSeconds: 3601 }, '.timeoutSeconds'],
  ['less than no request', { maxRequests: -1 }, '.maxRequests'],
  ['too many requests', { maxRequests: 1000001 }, '.maxRequests'],
  ['a jitter below nothing', { maxRequestsJitter: -1 }, '.maxRequestsJitter'],
  ['a jitter that is a switch', { maxRequestsJitter: true }, '.maxRequestsJitter'],
  ['arguments', ['--workers=4']],
  ['a number', 4],
];

const WEB: readonly Row[] = [
  ['no pod', { minReplicas: 0 }, '.minReplicas'],
  ['less than no pod', { minReplicas: -1 }, '.minReplicas'],
  ['no pod at most', { maxReplicas: 0 }, '.maxReplicas', ''],
  ['too many pods', { maxReplicas: 1001 }, '.maxReplicas'],
  ['half a pod', { maxReplicas: 2.5 }, '.maxReplicas'],
  ['pods that are text', { maxReplicas: '10' }, '.maxReplicas'],
  ['a least above the most', { minReplicas: 5, maxReplicas: 2 }],
  ['a switch that is text', { enabled: 'yes' }, '.enabled'],
  ['a target that is not measured', { target: { type: 'Memory' } }, '.target.type'],
  ['no load', { target: { value: 0 } }, '.target.value'],
  ['more than ten times the request', { target: { value: 1001 } }, '.target.value'],
  ['a load with a unit', { target: { value: '70%' } }, '.target.value'],
  ['a target that is a number', { target: 70 }, '.target'],
  ['a switch', true],
  ['a list', [{ maxReplicas: 10 }]],
];
/** Two that set one number. */
const TWICE = { webAutoscaling: { maxReplicas: 10 }, componentReplicas: { gunicorn: 3 } };

const header = (name: unknown, value: unknown = 'x') => ({ responseHeaders: [{ name, value }] });
const PROXY: readonly Row[] = [
  ['a size in the notation of nginx', { maxBodySize: '50m' }, '.maxBodySize'],
  ['no size', { maxBodySize: '0' }, '.maxBodySize'],
  ['a size below zero', { maxBodySize: '-1Mi' }, '.maxBodySize', '.maxBodySize'],
  ['more than a tebibyte', { maxBodySize: '2Ti' }, '.maxBodySize'],
  ['a size with a command', { maxBodySize: '1Mi; }' }, '.maxBodySize'],
  ['a size that is a number', { maxBodySize: 50 }, '.maxBodySize'],
  ['no time to read', { readTimeoutSeconds: 0 }, '.readTimeoutSeconds'],
  ['more than a day to read', { readTimeoutSeconds: 86401 }, '.readTimeoutSeconds'],
  ['a time that is text', { sendTimeoutSeconds: '60s' }, '.sendTimeoutSeconds'],
  ['more than a minute to connect', { connectTimeoutSeconds: 61 }, '.connectTimeoutSeconds'],
  ['a header with a space', header('X Y'), '.responseHeaders[0].name'],
  ['a header with a directive', header('X;return'), '.responseHeaders[0].name'],
  ['a header without a name', header(''), '.responseHeaders[0].name'],
  ['a header without a value', header('X-A', ''), '.responseHeaders[0].value'],
  ['a value of two lines', header('X-A', 'a\nSet-Cookie: b'), '.responseHeaders[0].value'],
  ['a value with a carriage return', header('X-A', 'a\r'), '.responseHeaders[0].value'],
  ['a value in another alphabet', header('X-A', 'ä'), '.responseHeaders[0].value'],
  ['a value that ends in a space', header('X-A', 'a '), '.responseHeaders[0].value'],
  ['a value that is too long', header('X-A', 'a'.repeat(4097)), '.responseHeaders[0].value'],
  ['a value that is a number', header('X-A', 1), '.responseHeaders[0].value'],
  ['the length of the body', header('Content-Length'), '.responseHeaders[0].name'],
  ['a cookie for everybody', header('set-cookie'), '.responseHeaders[0].name'],
  ['an internal redirect', header('X-Accel-Redirect'), '.responseHeaders[0].name'],
  [
    'a header twice',
    {
      responseHeaders: [
        { name: 'X-A', value: 'a' },
        { name: 'X-A', value: 'b' },
      ],
    },
    '.responseHeaders[1]',
  ],
  ['an address with a port', { realIPFrom: ['10.0.0.1:80'] }, '.realIPFrom[0]'],
  ['a network that is none', { realIPFrom: ['10.0.0.0/33'] }, '.realIPFrom[0]'],
  ['a host name', { realIPFrom: ['proxy.example.com'] }, '.realIPFrom[0]'],
  ['a socket', { realIPFrom: ['unix:'] }, '.realIPFrom[0]'],
  ['a network with a command', { realIPFrom: ['10.0.0.0/8; }'] }, '.realIPFrom[0]'],
  ['a network twice', { realIPFrom: ['10.0.0.0/8', '10.0.0.0/8'] }, '.realIPFrom[1]'],
  ['another protocol', { realIPHeader: 'proxy_protocol' }, '.realIPHeader'],
  ['a header with a command', { realIPHeader: 'X; }' }, '.realIPHeader'],
];

const workers = (change: object) => [{ name: 'imports', queues: ['imports'], ...change }];
const WORKERS: readonly Row[] = [
  ['no name', [{ queues: ['a'] }], '[0].name'],
  ['no queues', [{ name: 'imports' }], '[0].queues'],
  ['an empty list of queues', workers({ queues: [] }), '[0].queues'],
  ['a queue twice', workers({ queues: ['a', 'a'] }), '[0].queues[1]'],
  ['a queue with a comma', workers({ queues: ['a,b'] }), '[0].queues[0]'],
  ['a queue with a colon', workers({ queues: ['a:b'] }), '[0].queues[0]'],
  ['a queue in capitals', workers({ queues: ['Imports'] }), '[0].queues[0]'],
  ['a queue that is an option', workers({ queues: ['--burst'] }), '[0].queues[0]'],
  ['queues as text', workers({ queues: 'imports' }), '[0].queues'],
  ['a name of the framework', workers({ name: 'default' }), '[0].name'],
  ['a name of another component', workers({ name: 'gunicorn' }), '[0].name'],
  ["a name that another bench's workers have", workers({ name: 'worker-a' }), '[0].name'],
  ['a name with a dot', workers({ name: 'a.b' }), '[0].name'],
  ['a name that is too long', workers({ name: 'a'.repeat(11) }), '[0].name'],
  [
    'two of one name',
    [
      { name: 'imports', queues: ['a'] },
      { name: 'imports', queues: ['b'] },
    ],
    '[1]',
  ],
  ['no time', workers({ timeoutSeconds: 0 }), '[0].timeoutSeconds'],
  ['more than a day', workers({ timeoutSeconds: 86401 }), '[0].timeoutSeconds'],
  ['a time in another unit', workers({ timeoutSeconds: '1h' }), '[0].timeoutSeconds'],
  ['less than no worker', workers({ replicas: -1 }), '[0].replicas'],
  [
    'least workers above most',
    workers({ autoscaling: { minReplicas: 3, maxReplicas: 2 } }),
    '[0].autoscaling',
  ],
  [
    'a request above its limit',
    workers({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
    '[0].resources',
  ],
  ['a map', { imports: { timeout: 300 } }],
];

const SITE_WORKERS: readonly Row[] = [
  ['no name', [{ replicas: 1 }], '[0].name'],
  ['a name in capitals', [{ name: 'Imports' }], '[0].name'],
  ['a name that is too long', [{ name: 'a'.repeat(11) }], '[0].name'],
  ['too many', [{ name: 'imports', replicas: 1001 }], '[0].replicas'],
  ['a number that is text', [{ name: 'imports', replicas: '2' }], '[0].replicas'],
  ['two of one name', [{ name: 'imports' }, { name: 'imports' }], '[1]'],
  [
    'a quantity that is none',
    [{ name: 'imports', resources: { limits: { memory: 'lots' } } }],
    '[0].resources.limits.memory',
  ],
  [
    'a request above its limit',
    [{ name: 'imports', resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }],
    '[0].resources',
  ],
  ['a map', { imports: 2 }],
  ['text', 'imports'],
];

const TICK: readonly Row[] = [
  ['nothing', 0],
  ['less than ten seconds', 9],
  ['more than an hour', 3601],
  ['a time in another unit', '1m'],
  ['text', '60'],
  ['half a second', 10.5],
  ['less than nothing', -60],
  ['a list', [60]],
  ['a map', { seconds: 60 }],
  ['a switch', true],
];

const NO_CLAIMS: readonly Row[] = [
  ['no name', ''],
  ['a name in capitals', 'Team'],
  ['a name with a path', '../team'],
  ['a name with a space', 'a b'],
  ['a name with a namespace', 'team/files'],
  ['a name that is too long', 'a'.repeat(254)],
  ['a reference', { name: 'files' }],
  ['a number', 1],
  ['a switch', true],
  ['a list', ['files']],
];

/** Manifests with settings of components that admission refuses. */
export const REFUSED_SETTINGS: readonly Refused[] = [
  ...rows('gunicorn', 'spec.gunicorn', (gunicorn) => aBench({ gunicorn }), GUNICORN),
  ...rows('gunicorn', 'spec.gunicorn', (gunicorn) => aSite({ gunicorn }), GUNICORN),
  ...rows('web scaling', 'spec.webAutoscaling', (value) => aBench({ webAutoscaling: value }), WEB),
  ...rows('web scaling', 'spec.webAutoscaling', (value) => aSite({ webAutoscaling: value }), WEB),
  ['web scaling: a fixed number too', aBench(TWICE), 'spec'],
  ['web scaling: a fixed number too', aSite(TWICE), 'spec'],
  ...rows('the proxy', 'spec.proxy', (proxy) => aBench({ proxy }), PROXY),
  ...rows('workers', 'spec.workers', (value) => aBench({ workers: value }), WORKERS),
  ...rows('workers', 'spec.workers', (value) => aSite({ workers: value }), SITE_WORKERS),
  ...rows(
    'the tick of the scheduler',
    'spec.schedulerTickIntervalSeconds',
    (schedulerTickIntervalSeconds) => aBench({ schedulerTickIntervalSeconds }),
    TICK,
  ),
  ...rows(
    'a claim for the sites',
    'spec.storage.existingClaim',
    (existingClaim) => aBench({ storage: { existingClaim } }),
    NO_CLAIMS,
  ),
  ...rows(
    'a claim for Redis',
    'spec.redisConfig.storage.existingClaim',
    (existingClaim) => aBench({ redisConfig: { storage: { existingClaim } } }),
    NO_CLAIMS,
  ),
  ...rows(
    "a claim for a site's database",
    'spec.dbConfig.storage.existingClaim',
    (existingClaim) => aSite({ dbConfig: { mode: 'dedicated', storage: { existingClaim } } }),
    NO_CLAIMS,
  ),
  [
    'a claim for the sites, and a storage class',
    aBench({ storage: { existingClaim: 'files', className: 'fast' } }),
    'spec.storage',
  ],
  [
    'a claim for Redis, and a size',
    aBench({ redisConfig: { storage: { existingClaim: 'queue', size: '1Gi' } } }),
    'spec.redisConfig.storage',
  ],
  [
    'a claim for a database that the operator does not run',
    aBench({
      dbConfig: {
        mode: 'external',
        host: 'db',
        rootSecretRef: { name: 'root' },
        storage: { existingClaim: 'data' },
      },
    }),
    'spec.dbConfig',
  ],
];
