import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { statusOf } from './cli-objects.js';
import { lastLogs } from '../../cli/commands/status/pod-logs.js';
import { renderTrees, type RenderOptions } from '../../cli/commands/status/render-tree.js';
import { summaryOf } from '../../cli/commands/status/summary.js';
import { podHealth, restartsOf, wantedLog } from '../../cli/commands/status/pod-status.js';
import { queueLengthsOf } from '../../constructs/kinds/bench/status-view.js';
import { selectionOf } from '../../cli/kube/kind-names.js';
import { UsageError } from '../../cli/arguments/errors.js';
import { KINDS, type AnyKind } from '../../constructs/registry.js';
import { ApiError } from '../../runner/api/api-error.js';
import type { PodObject } from '../../runner/health/pod-diagnostics.js';
import * as objects from './cli-objects.js';

const NOW = Date.parse('2026-01-01T12:00:00Z');

const text = (nodes: ReturnType<typeof statusOf>, options: Partial<RenderOptions> = {}): string =>
  `\n${renderTrees(nodes, { colours: false, now: NOW, ...options }).join('\n')}\n`;

describe('the status tree', () => {
  test('collapses healthy objects, and shows replicas and ages', () => {
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

  test('shows unhealthy objects down to the pod, with the last lines of its log', () => {
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

  test('fits the width of the terminal, and uses colours only on request', () => {
    const nodes = statusOf([objects.bench(), objects.failing(objects.site())]);
    for (const columns of [20, 40, 60]) {
      for (const line of renderTrees(nodes, { colours: false, columns, now: NOW }))
        assert.ok(line.length <= Math.max(columns, 30), `${columns}: ${line}`);
    }
    // eslint-disable-next-line no-control-regex -- escape sequences of colours begin with one
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

  test('reports a resource without a status as not reconciled', () => {
    const { status: _, ...bare } = objects.bench();
    const [node] = statusOf([bare]);
    assert.deepEqual([node?.state, node?.message], ['InProgress', 'not reconciled yet']);
  });

  test('shows a resource in phase Failed as failed, also while the operator retries it', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'JobFailed', message: 'no' }];
    const status = { phase: 'Failed', observedGeneration: 1, conditions };
    const site = { ...objects.site(), status };
    const [node] = statusOf([site]);
    assert.deepEqual([node?.state, node?.message], ['Failed', 'no']);
  });

  test('shows a site whose init Job has failed as failed, in whichever phase it is', () => {
    for (const reason of ['JobFailed', 'DatabaseExists']) {
      const conditions = [{ type: 'Ready', status: 'False', reason, message: 'no' }];
      const status = { phase: 'Provisioning', observedGeneration: 1, conditions };
      const site = { ...objects.site(), status };
      const [node] = statusOf([site]);
      assert.deepEqual([node?.state, node?.details.phase], ['Failed', 'Provisioning']);
    }
  });

  test('has resources without a parent, or the selected ones, at the top', () => {
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

  test('ends with the number of resources, and with what could not be read', () => {
    const report = {
      version: 1,
      namespace: 'ns',
      resources: statusOf([objects.bench(), objects.failing(objects.site())]),
      omitted: [
        { what: 'secrets', namespace: 'ns', why: 'forbidden: list' },
        { what: 'pods', namespace: 'ns', why: 'forbidden: list' },
      ],
    } as const;
    assert.deepEqual(summaryOf(report), [
      '',
      '2 resources, 1 not Ready.',
      'Not shown: secrets, pods (forbidden: list).',
    ]);
    assert.deepEqual(summaryOf({ ...report, resources: [], omitted: [] }), [
      'No resources found in namespace ns.',
    ]);
  });
});

describe('the status of another kind', () => {
  const [first] = KINDS;
  assert.ok(first);
  const invented: AnyKind = {
    ...first,
    definition: {
      ...first.definition,
      kind: 'Tenant',
      plural: 'tenants',
      singular: 'tenant',
      shortNames: ['tn'],
    },
    references: [{ field: 'siteRef', kind: 'AppSite', label: 'site' }],
    statusView: {
      details: ({ spec }) => ({ seats: (spec as { seats: number }).seats }),
      columns: ({ seats }) => [{ text: `${String(seats)} seats`, tone: 'warning' }],
      notice: () => 'the contract ends soon',
    },
  };
  const kinds = [...KINDS, invented];
  const tenant = {
    ...objects.bench(),
    kind: 'Tenant',
    metadata: { name: 't', namespace: 'ns', generation: 1, uid: 't-uid' },
    spec: { siteRef: { name: 's' }, seats: 5 },
  };

  test('is defined by its registration only', () => {
    const nodes = statusOf([objects.bench(), objects.site(), tenant], { kinds });
    assert.deepEqual(nodes[0]?.children[0]?.children[0]?.details, { phase: 'Ready', seats: 5 });
    assert.equal(
      text(nodes, { kinds, all: true }),
      `
✔ AppBench b  Ready  version-15  1 site  1h
└─ ✔ AppSite s  Ready  http://s.example.com  30m
   └─ ✔ Tenant t  Ready  5 seats  1h
          the contract ends soon
`,
    );
    const report = { version: 1, namespace: 'ns', resources: nodes, omitted: [] } as const;
    assert.deepEqual(summaryOf(report, undefined, kinds), ['', '3 resources, all Ready.']);
  });

  test('can be selected by its names', () => {
    const definitions = kinds.map(({ definition }) => definition);
    assert.deepEqual(selectionOf(['tn/t'], { definitions }), { kind: 'Tenant', name: 't' });
  });
});

describe('the log of a failing pod', () => {
  const pod = (status: object) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'ns', uid: 'u' },
    status,
  });
  const bad = { terminated: { exitCode: 1 } };

  test('is that of the run before the restart', () => {
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

  test('is that of the last run of a terminated container', () => {
    const ended = pod({ phase: 'Failed', containerStatuses: [{ name: 'init', state: bad }] });
    assert.deepEqual([wantedLog(ended)?.container, wantedLog(ended)?.previous], ['init', false]);
  });

  test('is missing for a Ready pod, a succeeded pod, and a pod without a terminated container', () => {
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

describe('the selection', () => {
  for (const words of [['bench'], ['benches'], ['appbench'], ['ab'], ['AppBench']]) {
    test(`${words.join(' ')} is AppBench`, () => {
      assert.deepEqual(selectionOf(words), { kind: 'AppBench', name: undefined });
    });
  }
  for (const name of [
    'appsite.app-operator.io',
    'appsites.app-operator.io',
    'appsites.v1alpha1.app-operator.io',
    'AppSite.v1alpha1.App-Operator.io',
    'as.app-operator.io',
    'APPSITES.app-operator',
  ]) {
    test(`${name}/shop is the AppSite shop`, () => {
      assert.deepEqual(selectionOf([`${name}/shop`]), { kind: 'AppSite', name: 'shop' });
      assert.deepEqual(selectionOf([name, 'shop']), { kind: 'AppSite', name: 'shop' });
    });
  }

  test('has the group of --api-group', () => {
    const apiGroup = 'benches.example.org';
    for (const name of ['appsite.benches.example.org', 'as.v1alpha1.benches.example.org'])
      assert.equal(selectionOf([name], { apiGroup }).kind, 'AppSite');
    for (const [name, group] of [
      ['appsite.app-operator.io', apiGroup],
      ['appsite.benches.example.org', undefined],
      ['appsite.v2.app-operator.io', undefined],
      ['appsites.v1alpha1', undefined],
    ] as const)
      assert.throws(
        () => selectionOf([name], { apiGroup: group }),
        ({ message }: Error) =>
          message ===
          `unknown kind "${name}": version and group are v1alpha1.${group ?? 'app-operator.io'}; for another group, use --api-group`,
      );
  });

  test('has its name after a slash or a space', () => {
    assert.deepEqual(selectionOf(['site/shop']), { kind: 'AppSite', name: 'shop' });
    assert.deepEqual(selectionOf(['site', 'shop']), { kind: 'AppSite', name: 'shop' });
    assert.deepEqual(selectionOf([]), {});
    for (const wrong of [['pods'], ['site/'], ['site/a/b'], ['site/a', 'b']])
      assert.throws(() => selectionOf(wrong), UsageError);
    assert.throws(
      () => selectionOf(['site/a', 'site/b']),
      /site\/a site\/b: expected one resource, such as site\/shop/,
    );
  });
});

test('queue lengths of a bench and of its sites are read from its exporter', () => {
  const exposition = [
    '# TYPE app_worker_queue_length gauge',
    'app_worker_queue_length{namespace="ns",bench="b",site="",queue="long"} 3',
    'app_worker_queue_length{namespace="ns",bench="b",site="-",queue="short"} 0',
    'app_worker_queue_length{namespace="ns",bench="b",site="s",queue="default"} 12',
    'other{queue="long"} 9',
  ].join('\n');
  assert.deepEqual(
    [...queueLengthsOf(exposition, 'b')],
    [
      ['b-worker-long', 3],
      ['b-worker-short', 0],
      ['s-worker-default', 12],
    ],
  );
});

describe('the logs of failing pods', () => {
  const pods = Array.from({ length: 12 }, (_, index) => {
    const pod = objects.failedPod();
    return { ...pod, metadata: { ...pod.metadata, name: `p${index}`, uid: `u${index}` } };
  }) as unknown as readonly PodObject[];
  const forbidden = () => new ApiError(403, 'Forbidden', {}, 'no');

  test('are read from ten, and what is forbidden is named', async () => {
    const requested: string[] = [];
    const client = {
      request: <T>(_method: string, path: string): Promise<T> => {
        const [, pod = ''] = /pods\/(\w+)\/log/.exec(path) ?? [];
        requested.push(pod);
        const readable = pod === 'p9';
        return readable ? Promise.resolve(`log of ${pod}\n` as T) : Promise.reject(forbidden());
      },
    };
    const { logs, omitted } = await lastLogs(client, pods);
    const why = 'forbidden: get pods/log';
    assert.deepEqual(omitted, [{ what: 'logs of pods', namespace: 'ns', why }]);
    assert.equal(requested.length, 10);
    assert.deepEqual(
      [...logs.values()].map(({ lines }) => lines),
      [['log of p9']],
    );
  });
});
