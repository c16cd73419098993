/** Settings of components: what they make of the objects, and the problems that no schema finds. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { ProxySettings } from '../../constructs/api/bench.js';
import { proxySettings } from '../../constructs/kinds/bench/proxy-settings.js';
import { fieldsWithoutEffect } from '../../constructs/kinds/bench/without-effect.js';
import { benchProblems } from '../../constructs/kinds/bench/refusals.js';
import { queueLengthsOf } from '../../constructs/kinds/bench/status-view.js';
import { benchWarnings } from '../../constructs/kinds/bench/warnings.js';
import { gunicornSettings } from '../../constructs/frappe/gunicorn-settings.js';
import { queueDeclarations, workerGroups } from '../../constructs/frappe/worker.js';
import { Waiting, Stalled } from '../../constructs/kit/errors.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { aBench, aReadyBench, aReader, aSecret, aSite, KEDA } from '../golden/builders.js';
import { graphOf, kindOf } from '../golden/outcome.js';

type Fields = Readonly<Record<string, unknown>>;
interface Made extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly activeDeadlineSeconds?: number;
    readonly backoffLimit?: number;
    readonly template?: {
      readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
      readonly spec: {
        readonly affinity?: unknown;
        readonly terminationGracePeriodSeconds?: number;
        readonly containers: readonly {
          readonly command: readonly string[];
          readonly env: readonly { readonly name: string; readonly value?: string }[];
          readonly livenessProbe?: { readonly failureThreshold: number };
        }[];
      };
    };
    readonly triggers: readonly { readonly metadata: { readonly listName: string } }[];
  };
}

const SECRET = aSecret('demo-bench-redis-auth');

/** The objects of a resource, by kind and name. */
function childrenOf(
  resource: Resource,
  others: readonly KubeObject[] = [],
  serves: readonly ObjectKind[] = [],
): ReadonlyMap<string, Made> {
  const kind = kindOf(resource);
  const inputs = kind.resolve(resource, aReader([resource, SECRET, ...others], { serves }));
  const stages = graphOf(kind, resource, (scope, id) =>
    kind.chart(scope, id, { resource, inputs }),
  );
  return new Map(
    stages
      .flatMap(({ objects }) => objects)
      .map((object) => [`${object.kind} ${object.metadata.name}`, object as Made]),
  );
}

const containerOf = (children: ReadonlyMap<string, Made>, name: string) => {
  const [container] = children.get(name)?.spec?.template?.spec.containers ?? [];
  assert.ok(container, name);
  return container;
};

suite('the number of gunicorn’s processes', () => {
  for (const [reason, limits, workers] of [
    ['is 2 without limits', undefined, 2],
    ['is 2 with enough memory, and no limit of CPUs', { memory: '8Gi' }, 2],
    ['is 1 with memory for one', { memory: '300Mi' }, 1],
    ['is 1 also with memory for none', { memory: '100Mi' }, 1],
    ['is 3 with one CPU', { cpu: '1' }, 3],
    ['is 2 with half a CPU', { cpu: '500m' }, 2],
    ['is 1 with a tenth of a CPU', { cpu: '100m' }, 1],
    ['is one more than twice the CPUs', { cpu: '2', memory: '4Gi' }, 5],
    ['is what the memory holds where that is less', { cpu: '4', memory: '1Gi' }, 4],
    ['is 16 at most', { cpu: '64', memory: '64Gi' }, 16],
  ] as const) {
    test(reason, () => {
      assert.equal(gunicornSettings({}, limits && { limits }).workers, workers);
    });
  }
  test('is the one in the spec, whatever the limits', () => {
    const resources = { limits: { cpu: '4', memory: '128Mi' } };
    assert.equal(gunicornSettings({ workers: 12 }, resources).workers, 12);
  });
  test('is never below 1 nor above 16, for any limits', () => {
    const quantity = fc.tuple(fc.nat(), fc.constantFrom('', 'm', 'Ki', 'Mi', 'Gi'));
    fc.assert(
      fc.property(quantity, quantity, (cpu, memory) => {
        const limits = { cpu: cpu.join(''), memory: memory.join('') };
        const { workers } = gunicornSettings(undefined, { limits });
        return Number.isInteger(workers) && workers >= 1 && workers <= 16;
      }),
    );
  });
});

suite('the options of gunicorn', () => {
  const options = (spec: Fields, siteSpec: Fields): readonly string[] => {
    const children = childrenOf(aSite(siteSpec), [aReadyBench(spec)]);
    const { command } = containerOf(children, 'Deployment demo-site-gunicorn');
    return command.filter((word) => /^--(workers|threads|timeout|max)/.test(word));
  };
  test('of a site are its own, one by one over its bench’s', () => {
    const bench = { gunicorn: { workers: 8, threads: 2, timeoutSeconds: 60 } };
    assert.deepEqual(options(bench, { gunicorn: { workers: 3, maxRequests: 0 } }), [
      '--workers=3',
      '--threads=2',
      '--timeout=60',
      '--max-requests=0',
      '--max-requests-jitter=500',
    ]);
  });
  test('follow the limits of the site, not of its bench', () => {
    const bench = { componentResources: { gunicorn: { limits: { cpu: '4' } } } };
    const site = { componentResources: { gunicorn: { limits: { cpu: '1' } } } };
    assert.equal(options(bench, site)[0], '--workers=3');
    assert.equal(options(bench, {})[0], '--workers=9');
  });
  for (const [timeoutSeconds, failureThreshold] of [
    [undefined, 13],
    [10, 2],
    [65, 8],
    [600, 61],
  ] as const) {
    test(`leave it ${timeoutSeconds ?? 'its own'} seconds before the kubelet restarts it`, () => {
      const gunicorn = timeoutSeconds === undefined ? {} : { timeoutSeconds };
      const children = childrenOf(aReadyBench({ gunicorn }));
      const { livenessProbe } = containerOf(children, 'Deployment demo-bench-gunicorn');
      assert.equal(livenessProbe?.failureThreshold, failureThreshold);
    });
  }
});

suite('the memory of Redis', () => {
  const maxMemory = (memory: string | undefined): readonly (string | undefined)[] => {
    const redisConfig = memory === undefined ? {} : { resources: { limits: { memory } } };
    const servers = childrenOf(aReadyBench({ redisConfig })).get('StatefulSet demo-bench-redis');
    return (servers?.spec?.template?.spec.containers ?? []).map(
      ({ env }) => env.find(({ name }) => name === 'REDIS_MAXMEMORY')?.value,
    );
  };
  test('leaves a quarter of the cache’s limit, and for a fork 40 percent of the queue’s', () => {
    assert.deepEqual(maxMemory('1000Mi'), [String(750 * 2 ** 20), String(600 * 2 ** 20)]);
  });
  test('is 256Mi for the cache, and open for the queue, without a limit', () => {
    assert.deepEqual(maxMemory(undefined), [String(256 * 2 ** 20), undefined]);
  });
  test('is never 0, which would be no limit', () => {
    assert.deepEqual(maxMemory('1'), ['1', '1']);
  });
});

suite('a setting of the proxy that no schema finds is left out by name', () => {
  const outcome = (proxy: ProxySettings) => ({
    refused: benchProblems(aBench({ proxy })),
    ignored: fieldsWithoutEffect(aBench({ proxy })).map(
      ({ path, message }) => `${path} ${message}`,
    ),
    ranges: proxySettings(proxy).realIpFrom,
    headers: proxySettings(proxy).responseHeaders?.map(({ value }) => value),
  });

  test('a range whose address has too many groups', () => {
    const realIPFrom = ['10.0.0.0/8', '1:2:3:4:5:6::7:8:9/64', '203.0.113.7', '2001:DB8::5'];
    assert.deepEqual(outcome({ realIPFrom }), {
      refused: [],
      ignored: [
        'spec.proxy.realIPFrom[1] has no effect: "1:2:3:4:5:6::7:8:9/64" is no address, such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32',
      ],
      ranges: ['10.0.0.0/8', '203.0.113.7', '2001:DB8::5'],
      headers: undefined,
    });
  });
  test('a header in two spellings', () => {
    const responseHeaders = [
      { name: 'X-Team', value: 'a' },
      { name: 'x-team', value: 'b' },
      { name: 'X-Other', value: 'c' },
    ];
    const { refused, ignored, headers } = outcome({ responseHeaders });
    assert.deepEqual([refused, headers], [[], ['a', 'c']]);
    assert.deepEqual(ignored, [
      'spec.proxy.responseHeaders[1].name has no effect: the list has the header "x-team" in another spelling, which is the same name',
    ]);
  });
});

suite('a problem of workers that no schema finds', () => {
  const problems = (spec: Fields) =>
    benchProblems(aBench(spec)).map(({ path, message }) => `${path}: ${message}`);

  test('is a queue with two times', () => {
    const workers = [
      { name: 'a', queues: ['slow', 'long'], timeoutSeconds: 60 },
      { name: 'b', queues: ['long', 'slow'] },
    ];
    assert.deepEqual(problems({ workers }), [
      'spec.workers[1].timeoutSeconds: Invalid value: 300: queue slow has 60 in the workers a, and a queue has one time',
    ]);
  });
  test('is none of queues of the framework, which keep their times', () => {
    const workers = [
      { name: 'a', queues: ['long'], timeoutSeconds: 60 },
      { name: 'b', queues: ['long'] },
    ];
    assert.deepEqual(problems({ workers }), []);
  });
});

test('trust in every address is warned of', () => {
  const warnings = benchWarnings(aBench({ proxy: { realIPFrom: ['0.0.0.0/0'] } }), aReader([]));
  assert.deepEqual(warnings, [
    {
      path: 'spec.proxy.realIPFrom[0]',
      message:
        '0.0.0.0/0 is every address: a client names itself as it likes, in logs and rate limits',
    },
  ]);
});

test('a template of workers is named as without effect where a bench has none of its own', () => {
  const componentPodTemplates = { workers: { metadata: { labels: { team: 'batch' } } } };
  const pathsOf = (spec: Fields): readonly string[] =>
    benchWarnings(aBench(spec), aReader([])).map(({ path }) => path);
  assert.deepEqual(pathsOf({ componentPodTemplates }), ['spec.componentPodTemplates.workers']);
  const workers = [{ name: 'imports', queues: ['imports'] }];
  assert.deepEqual(pathsOf({ componentPodTemplates, workers }), []);
});

suite('workers of further queues', () => {
  const WORKERS = [
    {
      name: 'imports',
      queues: ['imports', 'slow', 'short'],
      timeoutSeconds: 1000,
      autoscaling: { enabled: true, minReplicas: 0, queueLength: 5 },
    },
    { name: 'reports', queues: ['long'], replicas: 2 },
  ];

  test('are made known to the framework, without the queues that it knows', () => {
    assert.deepEqual(queueDeclarations(WORKERS), {
      imports: { timeout: 1000 },
      slow: { timeout: 1000 },
    });
    assert.equal(queueDeclarations([{ name: 'reports', queues: ['long'] }]), undefined);
  });
  test('get as long to end as the longest of their queues', () => {
    const groups = workerGroups(WORKERS).map(({ name, timeoutSeconds }) => [name, timeoutSeconds]);
    assert.deepEqual(Object.fromEntries(groups), {
      default: 300,
      short: 300,
      long: 1500,
      imports: 1000,
      reports: 1500,
    });
  });
  for (const [who, children] of [
    ['demo-bench', () => childrenOf(aReadyBench({ workers: WORKERS }), [], KEDA)],
    ['demo-site', () => childrenOf(aSite(), [aReadyBench({ workers: WORKERS })], KEDA)],
  ] as const) {
    test(`of ${who} take jobs from all their queues, and are scaled by each`, () => {
      const made = children();
      const { command } = containerOf(made, `Deployment ${who}-worker-imports`);
      assert.deepEqual(command.slice(-2), ['--queue', 'imports,slow,short']);
      const lists = made
        .get(`ScaledObject ${who}-worker-imports`)
        ?.spec?.triggers.map(({ metadata }) => metadata.listName.replace(/.*:/, ''));
      assert.deepEqual(lists, ['imports', 'slow', 'short']);
      assert.ok(made.has(`PodDisruptionBudget ${who}-worker-reports`));
    });
  }
  test('of a site have the site’s number, which ends their scaling', () => {
    const own = [{ name: 'imports', replicas: 3 }];
    const made = childrenOf(aSite({ workers: own }), [aReadyBench({ workers: WORKERS })], KEDA);
    assert.equal(made.get('Deployment demo-site-worker-imports')?.spec?.replicas, 3);
    assert.equal(made.get('Deployment demo-site-worker-reports')?.spec?.replicas, 2);
    assert.ok(!made.has('ScaledObject demo-site-worker-imports'));
  });
  for (const [what, workers, wait, deadline] of [
    ['the default without queues of its own', [], undefined, 21_600],
    ['the default if they take less time than the queue long', WORKERS, undefined, 21_600],
    [
      'as long as the longest, and two minutes',
      [...WORKERS, { name: 'nightly', queues: ['nightly'], timeoutSeconds: 3600 }],
      3720,
      21_600 + 4 * 3720,
    ],
    [
      'up to a day',
      [{ name: 'nightly', queues: ['nightly', 'long'], timeoutSeconds: 86_400 }],
      86_520,
      21_600 + 4 * 86_520,
    ],
  ] as const) {
    test(`hold up an upgrade of a site: ${what}`, () => {
      const made = childrenOf(aSite(), [aReadyBench({ workers })], KEDA);
      const { env } = containerOf(made, 'Job demo-site-init');
      const found = env.find(({ name }) => name === 'JOBS_WAIT_SECONDS')?.value;
      assert.equal(found, wait === undefined ? undefined : String(wait));
      const { activeDeadlineSeconds, backoffLimit } = made.get('Job demo-site-init')?.spec ?? {};
      assert.deepEqual([activeDeadlineSeconds, backoffLimit], [deadline, 3]);
    });
  }
  test('do not make the init Job of a site run again when they take more time', () => {
    const runOf = (timeoutSeconds: number) => {
      const workers = [{ name: 'imports', queues: ['imports'], timeoutSeconds }];
      const job = childrenOf(aSite(), [aReadyBench({ workers })], KEDA).get('Job demo-site-init');
      return job?.metadata.annotations?.['app-operator.io/run'];
    };
    assert.equal(typeof runOf(300), 'string');
    assert.equal(runOf(3600), runOf(300));
  });
  test('that its bench does not have are refused by name', () => {
    const bench = aReadyBench({ workers: WORKERS });
    assert.throws(
      () => childrenOf(aSite({ workers: [{ name: 'exports' }] }), [bench]),
      (error) =>
        error instanceof Stalled &&
        error.message ===
          'spec.workers[0].name: Unsupported value: "exports": the workers of bench demo-bench are: imports, reports',
    );
  });
  test('restart every process of the framework, since each reads the queues once', () => {
    const hashes = (workers: readonly object[]) => {
      const made = childrenOf(aReadyBench({ workers }));
      return ['gunicorn', 'scheduler', 'worker-short'].map((name) => {
        const pod = made.get(`Deployment demo-bench-${name}`)?.spec?.template?.metadata;
        return pod?.annotations['app-operator.io/config-hash'];
      });
    };
    const [before, more, after] = [
      hashes([]),
      hashes([{ name: 'reports', queues: ['long'] }]),
      hashes(WORKERS),
    ];
    assert.deepEqual(more, before);
    for (const [at, hash] of after.entries()) assert.notEqual(hash, before[at]);
  });
  test('have the waiting jobs of all their queues in app-operator status', () => {
    const line = (queue: string, length: number) =>
      `app_worker_queue_length{namespace="n",bench="b",site="",queue="${queue}"} ${length}`;
    const scrape = [line('imports', 3), line('slow', 4), line('long', 5), line('short', 0)];
    assert.deepEqual(Object.fromEntries(queueLengthsOf(scrape.join('\n'), 'b', WORKERS)), {
      'b-worker-imports': 7,
      'b-worker-long': 5,
      'b-worker-reports': 5,
      'b-worker-short': 0,
    });
  });
});

suite('another tick of the scheduler', () => {
  test('restarts the scheduler only', () => {
    const hashes = (spec: Fields) =>
      [...childrenOf(aReadyBench(spec))]
        .filter(([id]) => id.startsWith('Deployment'))
        .map(([id, { spec: made }]) => [id, JSON.stringify(made?.template)] as const);
    const before = new Map(hashes({}));
    const changed = hashes({ schedulerTickIntervalSeconds: 30 }).filter(
      ([id, template]) => before.get(id) !== template,
    );
    assert.deepEqual(
      changed.map(([id]) => id),
      ['Deployment demo-bench-scheduler'],
    );
  });
});

suite('a claim of the user’s own', () => {
  const aClaim = (spec: Fields, metadata: Fields = {}, phase = 'Bound'): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'files', namespace: 'default', ...metadata },
      spec,
      status: { phase },
    }) as unknown as KubeObject;
  const RWX = { accessModes: ['ReadWriteOnce', 'ReadWriteMany'] };
  const FIELDS: readonly (readonly [string, Fields])[] = [
    ['spec.storage.existingClaim', { storage: { existingClaim: 'files' } }],
    [
      'spec.redisConfig.storage.existingClaim',
      { redisConfig: { storage: { existingClaim: 'files' } } },
    ],
    ['spec.dbConfig.storage.existingClaim', { dbConfig: { storage: { existingClaim: 'files' } } }],
  ];
  const refusal = (resource: Resource, claims: readonly KubeObject[]): string => {
    try {
      childrenOf(resource, claims);
    } catch (error) {
      assert.ok(error instanceof Waiting);
      return `${error.reason}: ${error.message}`;
    }
    return '';
  };
  for (const [path, spec] of FIELDS) {
    test(`is used and not made: ${path}`, () => {
      const own = childrenOf(aReadyBench());
      const made = childrenOf(aReadyBench(spec), [aClaim(RWX)]);
      const missing = [...own.keys()].filter((id) => !made.has(id));
      assert.equal(missing.length, 1);
      assert.match(missing[0] ?? '', /^PersistentVolumeClaim /);
      const [, name = ''] = (missing[0] ?? '').split(' ');
      const text = JSON.stringify([...made.values()]);
      assert.ok(text.includes('"claimName":"files"'));
      assert.ok(!text.includes(`"claimName":"${name}"`));
    });
    test(`is waited for: ${path}`, () => {
      assert.equal(
        refusal(aReadyBench(spec), []),
        `ClaimMissing: ${path}: there is no PersistentVolumeClaim "files" in namespace default; create it`,
      );
    });
  }
  test('of a site’s database is used and waited for', () => {
    const site = aSite({ dbConfig: { mode: 'dedicated', storage: { existingClaim: 'files' } } });
    assert.match(refusal(site, [aReadyBench()]), /^ClaimMissing: spec\.dbConfig\.storage\./);
    const made = childrenOf(site, [aReadyBench(), aClaim(RWX)]);
    assert.ok(!made.has('PersistentVolumeClaim demo-site-db-data'));
  });
  const FILES = { storage: { existingClaim: 'files' } };
  for (const [reason, claim, message] of [
    [
      'has another access mode',
      aClaim({ accessModes: ['ReadWriteOnce'] }),
      'has access mode ReadWriteOnce, not ReadWriteMany; use another claim',
    ],
    ['is being deleted', aClaim(RWX, { deletionTimestamp: 'x' }), 'is being deleted'],
    ['has lost its volume', aClaim(RWX, {}, 'Lost'), 'has lost its volume'],
    [
      'is one of the operator’s',
      aClaim(RWX, { labels: { 'app.kubernetes.io/managed-by': 'app-operator' } }),
      'is one that the operator makes and deletes; name another one, or none',
    ],
  ] as const) {
    test(`is refused where it ${reason}`, () => {
      assert.equal(
        refusal(aReadyBench(FILES), [claim]),
        `ClaimUnusable: spec.storage.existingClaim: PersistentVolumeClaim "files" ${message}`,
      );
    });
  }

  const created = (second: number): Fields => ({
    creationTimestamp: `2026-01-01T00:00:0${second}Z`,
  });
  const aged = <R extends Resource>(resource: R, name: string, second: number): R => ({
    ...resource,
    metadata: { ...resource.metadata, name, ...created(second) },
  });
  test('is the volume of one bench or site, the oldest that names it', () => {
    const old = aged(aReadyBench(FILES), 'old', 1);
    const young = aged(aReadyBench({ dbConfig: FILES }), 'young', 2);
    const objects = [aClaim(RWX), old, young];
    assert.equal(refusal(old, objects), '');
    const message = `PersistentVolumeClaim "files" is the volume of AppBench "old", which is older; each volume needs a claim of its own`;
    assert.equal(
      refusal(young, objects),
      `ClaimUnusable: spec.dbConfig.storage.existingClaim: ${message}`,
    );
    const spec = { dbConfig: { mode: 'dedicated', storage: { existingClaim: 'files' } } };
    const site = aged(aSite(spec), 'shop', 3);
    assert.equal(
      refusal(site, [aReadyBench(), ...objects, site]),
      `ClaimUnusable: spec.dbConfig.storage.existingClaim: ${message}`,
    );
    assert.equal(refusal(young, [aClaim(RWX), young]), '');
  });
  test('is one volume of a bench', () => {
    assert.equal(
      refusal(aReadyBench({ ...FILES, redisConfig: FILES }), [aClaim(RWX)]),
      'ClaimUnusable: spec.redisConfig.storage.existingClaim: PersistentVolumeClaim "files" is that of spec.storage.existingClaim too; each volume needs a claim of its own',
    );
  });
});

suite('a volume that one node can mount', () => {
  const NODE = { storage: { accessMode: 'ReadWriteOnce' }, componentReplicas: { gunicorn: 2 } };
  const affinity = (made: ReadonlyMap<string, Made>, id: string): unknown =>
    made.get(id)?.spec?.template?.spec.affinity;
  const TERM = {
    labelSelector: {
      matchExpressions: [
        {
          key: 'app.kubernetes.io/component',
          operator: 'NotIn',
          values: ['redis', 'database'],
        },
      ],
      matchLabels: { 'app-operator.io/bench': 'demo-bench' },
    },
    topologyKey: 'kubernetes.io/hostname',
  };
  const required = (...terms: readonly unknown[]) => ({
    podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms },
  });

  test('keeps all pods that mount it together, and no others', () => {
    const made = childrenOf(aReadyBench(NODE));
    for (const [id, { spec }] of made) {
      const text = JSON.stringify(spec ?? {});
      const mounts = text.includes('"claimName":"demo-bench-sites"');
      assert.deepEqual(affinity(made, id), mounts ? required(TERM) : undefined, id);
    }
    const site = childrenOf(aSite(), [aReadyBench(NODE)]);
    assert.deepEqual(affinity(site, 'Deployment demo-site-gunicorn'), required(TERM));
    assert.deepEqual(affinity(site, 'Job demo-site-init'), required(TERM));
  });
  test('keeps the affinity of the pod template', () => {
    const mine = { topologyKey: 'zone', labelSelector: {} };
    const podTemplate = { affinity: { nodeAffinity: {}, ...required(mine) } };
    const made = childrenOf(aReadyBench({ ...NODE, podTemplate }));
    assert.deepEqual(affinity(made, 'Deployment demo-bench-nginx'), {
      nodeAffinity: {},
      ...required(mine, TERM),
    });
    assert.deepEqual(affinity(made, 'StatefulSet demo-bench-redis'), podTemplate.affinity);
  });
  test('has no budget, which would stop a drain of its node', () => {
    const budget = 'PodDisruptionBudget demo-bench-gunicorn';
    assert.ok(!childrenOf(aReadyBench(NODE)).has(budget));
    assert.ok(childrenOf(aReadyBench({ ...NODE, storage: {} })).has(budget));
  });
  test('does not bind pods of other access modes', () => {
    const made = childrenOf(aReadyBench());
    assert.equal(affinity(made, 'Deployment demo-bench-nginx'), undefined);
  });
});
