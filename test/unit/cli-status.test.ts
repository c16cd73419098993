import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { statusOf } from './cli-objects.js';
import { LastLogs } from '../../cli/commands/status/pod-logs.js';
import { renderTrees, type RenderOptions } from '../../cli/commands/status/render-tree.js';
import { footerOf } from '../../cli/commands/status/summary.js';
import { podHealth, restartsOf, wantedLog } from '../../cli/commands/status/pod-status.js';
import { lengthsIn } from '../../cli/commands/status/queue-lengths.js';
import { wantedOf } from '../../cli/commands/status/run.js';
import { UsageError } from '../../cli/arguments/help.js';
import { ApiError } from '../../runner/api/api-error.js';
import type { PodObject } from '../../runner/health/pod-diagnostics.js';
import * as objects from './cli-objects.js';

const NOW = Date.parse('2026-01-01T12:00:00Z');

const text = (nodes: ReturnType<typeof statusOf>, options: Partial<RenderOptions> = {}): string =>
  `\n${renderTrees(nodes, { colours: false, now: NOW, ...options }).join('\n')}\n`;

describe('the status tree', () => {
  test('folds what is well, and tells the replicas and the ages', () => {
    const { bench, site, database, config, secret, init } = objects;
    const nodes = statusOf([bench(), site(), database(), config(), secret(), init()]);
    assert.equal(
      text(nodes),
      `
✔ AppBench b  Ready  version-15  1 site  1h
├─ ✔ StatefulSet b-db  1/1  3h
├─ ✔ Job b-init  done  2h
├─ ✔ AppSite s  Ready  http://s.example.com  30m
└─ ✔ 2 more: ConfigMap, Secret
`,
    );
    assert.equal(
      text(nodes, { all: true }),
      `
✔ AppBench b  Ready  version-15  1 site  1h
├─ ✔ ConfigMap b-config  3h
├─ ✔ Secret b-db-root  3h
├─ ✔ StatefulSet b-db  1/1  3h
├─ ✔ Job b-init  done  2h
└─ ✔ AppSite s  Ready  http://s.example.com  30m
`,
    );
  });

  test('unfolds what is not well, down to the pod and the last lines of its log', () => {
    const { bench, site, failing, failedJob, failedPod } = objects;
    const logs = new Map([
      [
        'ns/s-init-x/pod-uid/init/0/true',
        {
          container: 'init',
          previous: false,
          lines: ['  Traceback', 'no \u001b[31mdatabase\u0007'],
        },
      ],
    ]);
    const nodes = statusOf([bench(), failing(site()), failedJob(), failedPod()], { logs });
    assert.equal(
      text(nodes, { columns: 60 }),
      `
✔ AppBench b  Ready  version-15  1 site  1h
└─ ✘ AppSite s  Failed  5m
   │   Job s-init: Job has reached the specified backoff
   │   limit: no database
   └─ ✘ Job s-init  6m
      │   Job has reached the specified backoff limit
      └─ ✘ Pod s-init-x  7m
             no database
             log of init:
                 Traceback
               no database
`,
    );
  });

  test('keeps within the width of the terminal, and paints only when asked', () => {
    const nodes = statusOf([objects.bench(), objects.failing(objects.site())]);
    for (const columns of [20, 40, 60]) {
      for (const line of renderTrees(nodes, { colours: false, columns, now: NOW }))
        assert.ok(line.length <= Math.max(columns, 30), `${columns}: ${line}`);
    }
    // eslint-disable-next-line no-control-regex -- what colours a terminal begins with an escape
    const escapes = /\x1b\[/;
    assert.doesNotMatch(text(nodes), escapes);
    assert.match(text(nodes, { colours: true }), escapes);
  });

  test('shows waiting jobs at the workers that take them, and the last backup at its site', () => {
    const { bench, site, worker, backup } = objects;
    const seen = [bench(), site(), worker(), backup('old', '2026-01-01T02:00:00Z'), backup('new')];
    const nodes = statusOf(seen, { queues: new Map([['ns/b-worker-long', 7]]) });
    const lines = text(nodes);
    assert.match(lines, /Deployment b-worker-long {2}1\/1 {2}7 queued/);
    assert.match(lines, /AppSite s .* backup 10h ago/);
    const [site0] = statusOf(seen.slice(1), {}, { kind: 'AppSite' });
    assert.equal(site0?.details.lastBackup, '2026-01-01T02:00:00Z');
    const never = statusOf([site(), backup('new')], {}, { kind: 'AppSite' });
    assert.equal(never[0]?.details.lastBackup, null);
    assert.match(text(never), /no backup yet/);
  });

  test('says of a resource without a status that the operator has not looked at it', () => {
    const { status: _, ...bare } = objects.bench();
    const [node] = statusOf([bare]);
    assert.deepEqual(
      [node?.state, node?.message],
      ['InProgress', 'the operator has not looked at it yet'],
    );
  });

  test('shows as failed what the operator calls so, though it is tried again by itself', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'JobFailed', message: 'no' }];
    const status = { phase: 'Failed', observedGeneration: 1, conditions };
    const site = { ...objects.site(), status };
    const [node] = statusOf([site]);
    assert.deepEqual([node?.state, node?.message], ['Failed', 'no']);
  });

  test('puts at the top what belongs to none, and what was asked for', () => {
    const { bench, site, backup } = objects;
    const orphan = objects.site('lost', 'nowhere');
    const names = (nodes: ReturnType<typeof statusOf>): string[] => nodes.map(({ name }) => name);
    assert.deepEqual(names(statusOf([bench(), site(), orphan])), ['b', 'lost']);
    assert.deepEqual(names(statusOf([bench(), site(), orphan], {}, { kind: 'AppSite' })), [
      'lost',
      's',
    ]);
    assert.deepEqual(
      names(statusOf([bench(), site(), backup('x')], {}, { kind: 'SiteBackup', name: 'x' })),
      ['x'],
    );
  });

  test('counts in the end, and says what was not shown', () => {
    const report = {
      version: 1,
      namespace: 'ns',
      resources: statusOf([objects.bench(), objects.failing(objects.site())]),
      omitted: [
        { what: 'secrets', namespace: 'ns', why: 'you may not list them' },
        { what: 'pods', namespace: 'ns', why: 'you may not list them' },
      ],
    } as const;
    assert.deepEqual(footerOf(report), [
      '',
      '2 resources, 1 not Ready.',
      'Not shown: secrets, pods (you may not list them).',
    ]);
    assert.deepEqual(footerOf({ ...report, resources: [], omitted: [] }), [
      'There is no bench and no site in namespace ns.',
    ]);
  });
});

describe('the log that tells why a pod is in trouble', () => {
  const pod = (status: object) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'ns', uid: 'u' },
    status,
  });
  const bad = { terminated: { exitCode: 1 } };

  test('is that of the run before, for a container that was started again', () => {
    const waiting = {
      waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting' },
    };
    const crashing = pod({
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'False' }],
      initContainerStatuses: [{ name: 'wait', state: { terminated: { exitCode: 0 } } }],
      containerStatuses: [{ name: 'web', restartCount: 4, state: waiting, lastState: bad }],
    });
    const { container, previous, key } = wantedLog(crashing) ?? {};
    assert.deepEqual([container, previous], ['web', true]);
    assert.match(key ?? '', /\/4\//, 'another run has another log');
    assert.equal(restartsOf(crashing), 4);
    assert.equal(podHealth(crashing).state, 'InProgress');
    assert.match(podHealth(crashing).message, /^container web: CrashLoopBackOff/);
  });

  test('is that of the last run, for a container that has ended', () => {
    const ended = pod({ phase: 'Failed', containerStatuses: [{ name: 'init', state: bad }] });
    assert.deepEqual([wantedLog(ended)?.container, wantedLog(ended)?.previous], ['init', false]);
  });

  test('is none for a pod that is well, has succeeded, or has run nothing', () => {
    const conditions = [{ type: 'Ready', status: 'True' }];
    const recovered = {
      phase: 'Running',
      conditions,
      containerStatuses: [{ name: 'web', lastState: bad }],
    };
    const pulling = {
      phase: 'Pending',
      containerStatuses: [{ name: 'web', state: { waiting: { reason: 'ErrImagePull' } } }],
    };
    for (const status of [recovered, { phase: 'Succeeded' }, pulling, {}])
      assert.equal(wantedLog(pod(status)), undefined, JSON.stringify(status));
    assert.match(podHealth(pod(pulling)).message, /ErrImagePull/);
  });
});

describe('what is asked for', () => {
  for (const words of [['bench'], ['benches'], ['appbench'], ['ab'], ['AppBench']]) {
    test(`${words.join(' ')} is AppBench`, () => {
      assert.deepEqual(wantedOf(words), { kind: 'AppBench', name: undefined });
    });
  }
  test('a name comes after a slash or a space', () => {
    assert.deepEqual(wantedOf(['site/shop']), { kind: 'AppSite', name: 'shop' });
    assert.deepEqual(wantedOf(['site', 'shop']), { kind: 'AppSite', name: 'shop' });
    assert.deepEqual(wantedOf([]), {});
    for (const wrong of [['pods'], ['site/'], ['site/a/b'], ['site/a', 'b']])
      assert.throws(() => wantedOf(wrong), UsageError);
  });
});

test('lengths of queues are read from the exporter, of the bench and of its sites', () => {
  const exposition = [
    '# TYPE app_worker_queue_length gauge',
    'app_worker_queue_length{namespace="ns",bench="b",site="",queue="long"} 3',
    'app_worker_queue_length{namespace="ns",bench="b",site="-",queue="short"} 0',
    'app_worker_queue_length{namespace="ns",bench="b",site="s",queue="default"} 12',
    'other{queue="long"} 9',
  ].join('\n');
  assert.deepEqual(
    [...lengthsIn(exposition, 'b')],
    [
      ['b-worker-long', 3],
      ['b-worker-short', 0],
      ['s-worker-default', 12],
    ],
  );
});

describe('the last words of pods in trouble', () => {
  const pods = Array.from({ length: 12 }, (_, index) => {
    const pod = objects.failedPod();
    return { ...pod, metadata: { ...pod.metadata, name: `p${index}`, uid: `u${index}` } };
  }) as unknown as readonly PodObject[];
  const forbidden = () => new ApiError(403, 'Forbidden', {}, 'no');

  test('are not asked for again at once where they cannot be read, and those of others are', async () => {
    let now = 0;
    let denied = true;
    const asked: string[] = [];
    const client = {
      request: <T>(_method: string, path: string): Promise<T> => {
        const [, pod = ''] = /pods\/(\w+)\/log/.exec(path) ?? [];
        asked.push(pod);
        const readable = !denied || pod === 'p11';
        return readable ? Promise.resolve(`words of ${pod}\n` as T) : Promise.reject(forbidden());
      },
    };
    const logs = new LastLogs(client, () => now);
    const omitted = [{ what: 'logs of pods', namespace: 'ns', why: 'you may not get pods/log' }];

    assert.deepEqual((await logs.of(pods)).omitted, omitted);
    assert.equal(asked.length, 10);
    now = 5_000;
    const second = await logs.of(pods);
    assert.deepEqual(asked.slice(10).sort(), ['p10', 'p11'], 'those that had no turn yet');
    assert.deepEqual(
      [...second.logs.values()].map(({ lines }) => lines),
      [['words of p11']],
    );
    now = 10_000;
    assert.deepEqual((await logs.of(pods)).omitted, omitted, 'it is still said what is not shown');
    assert.equal(asked.length, 12);
    assert.deepEqual((await logs.of([])).omitted, [], 'of pods that are gone nothing is said');

    denied = false;
    now = 40_000;
    await logs.of(pods);
    now = 41_000;
    const last = await logs.of(pods);
    assert.deepEqual([last.logs.size, last.omitted], [12, []]);
  });
});
