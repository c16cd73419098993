import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { aBench, aSite } from './support/builders.js';
import { type Cluster, startCluster } from './harness.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import { assertSameObjects, snapshot, type Snapshot } from './support/snapshot.js';
import { summaryOf } from './support/objects.js';
import type { Operator } from './support/operator.js';
import type { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import {
  afterFirst,
  answered,
  cutInTheMiddle,
  delayed,
  dropped,
  first,
  halved,
  lists,
  lost,
  refused,
  replaced,
  type Rule,
  split,
  stale,
  watches,
  writes,
} from '../../testbed/fault-proxy/faults.js';
import * as watch from '../../testbed/fault-proxy/watch-faults.js';

/** A row: what is wrong with the calls or the watch of a path. */
interface Row {
  readonly what: string;
  readonly rule?: Rule;
  readonly watchFault?: watch.WatchFault;
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
const HTML = '<html><body>502 Bad Gateway</body></html>\n';
/** A Deployment of another API, half an object, and what else is no event. */
const ODD_EVENTS: Readonly<Record<string, readonly watch.Part[]>> = {
  null: ['null\n'],
  HTML: [HTML],
  'half of JSON': ['{"type":"ADDED","obj\n'],
  'a list': ['[]\n'],
  'a number': ['7\n'],
  'an unknown type': [line({ type: 'RENAMED', object: { metadata: { name: 'x' } } })],
  'an event without an object': [line({ type: 'ADDED' })],
  'an object that is text': [line({ type: 'MODIFIED', object: 'text' })],
  'an object without metadata': [line({ type: 'MODIFIED', object: { kind: 'X' } })],
  'an error without a code': [watch.errorLine({})],
  'an error 500': [watch.errorLine({ code: 500, message: 'etcd' })],
  'an expired version': [watch.EXPIRED],
  'the end of the watch': [watch.END],
  'a cut': [watch.CUT],
};

const NOT_A_LIST: Readonly<Record<string, string>> = {
  HTML: HTML,
  null: 'null',
  'half of JSON': '{"kind":"List","items":[{"metada',
  'a list of another shape': '[]',
  'items that are null': '{"kind":"List","metadata":{"resourceVersion":"5"},"items":null}',
  'a Status': '{"kind":"Status","status":"Failure","code":500}',
  nothing: '',
};
/** Each list fails twice. */
const twice = (rule: Rule): Rule => lists(first(2, rule));
/** Each write fails the first time. */
const once = (rule: Rule): Rule => writes(first(1, rule));

const RETRY_AFTER: Readonly<Record<string, string>> = {
  seconds: '1',
  zero: '0',
  'a date': 'Wed, 21 Oct 2015 07:28:00 GMT',
  'a negative number': '-5',
  'an hour': '3600',
  text: 'soon',
};

const rows = <T>(
  values: Readonly<Record<string, T>>,
  row: (value: T, name: string) => Row,
): readonly Row[] => Object.entries(values).map(([name, value]) => row(value, name));

const GROUPS: Readonly<Record<string, readonly Row[]>> = {
  'events of watches': [
    { what: 'events in chunks of seven bytes', watchFault: watch.split(7) },
    { what: 'doubled events', watchFault: watch.doubled },
    { what: 'exchanged events', watchFault: watch.swapped },
    { what: 'older events again', watchFault: watch.replayed },
    { what: 'late events', watchFault: watch.delayed(700) },
    { what: 'no bookmarks', watchFault: watch.withoutBookmarks },
    { what: 'a cut in the middle of an event', watchFault: watch.cutInTheMiddle() },
    ...rows(ODD_EVENTS, (parts, name) => ({
      what: `${name} between events`,
      watchFault: watch.inserted(parts),
    })),
  ],
  'answers to lists and watches': [
    { what: 'lists in chunks of seven bytes', rule: lists(split(997)) },
    { what: 'lists that end in the middle', rule: twice(halved) },
    { what: 'lists that are cut', rule: twice(cutInTheMiddle) },
    { what: 'lists without an answer', rule: twice(dropped) },
    { what: 'lists of a cache that is behind', rule: lists(afterFirst(stale())) },
    ...rows(NOT_A_LIST, (text, name) => ({
      what: `lists answered with ${name}`,
      rule: twice(answered(text)),
    })),
    ...[401, 410, 500, 503, 504].map((status) => ({
      what: `lists refused with ${status}`,
      rule: twice(refused(status)),
    })),
    ...[410, 429, 500, 503].map((status) => ({
      what: `watches refused with ${status}`,
      rule: watches(first(2, refused(status, '1'))),
    })),
    { what: 'watches answered with HTML', rule: watches(first(2, answered(HTML))) },
    { what: 'watches answered with nothing', rule: watches(first(2, answered(''))) },
  ],
  'answers to writes': [
    { what: 'lost answers', rule: once(lost) },
    { what: 'no connection', rule: once(dropped) },
    { what: 'late writes', rule: once(delayed(700)) },
    { what: 'answers in the middle of which the connection ends', rule: once(cutInTheMiddle) },
    { what: 'answers in chunks of seven bytes', rule: writes(split(7)) },
    { what: 'answers of a cache that is behind', rule: writes(stale()) },
    ...rows(NOT_A_LIST, (text, name) => ({
      what: `writes carried out and answered with ${name}`,
      rule: once(replaced(text)),
    })),
    { what: 'writes carried out and answered with 504', rule: once(replaced('late', 504)) },
    ...[302, 401, 403, 404, 409, 500, 502, 503, 504].map((status) => ({
      what: `writes refused with ${status}`,
      rule: once(refused(status)),
    })),
    ...rows(RETRY_AFTER, (retryAfter, name) => ({
      what: `writes refused with 429 and Retry-After ${name}`,
      rule: once(refused(429, retryAfter)),
    })),
  ],
};

/** Few pods: what is compared is what the operator writes. */
const NONE = { workerDefault: 0, workerShort: 0, workerLong: 0, scheduler: 0, socketio: 0 };
const MANIFESTS = [
  aBench('b', { componentReplicas: NONE }),
  aSite('s', { bench: 'b', workloads: 'Shared' }),
];
/** Gives each row a namespace of its own: takes two minutes of a processor. */
const EACH = process.env['FAULT_MATRIX'] === 'each';
/** Namespaces of a group of rows. */
const NAMESPACES = 3;

let cluster: Cluster;
let operators: ProxiedOperators;
let undisturbed: Snapshot;

/**
 * Namespaces with faults, and the operator that serves them through a proxy. A path has the fault of one
 * row: the next path, or the same one of another namespace, has that of another row.
 */
class Scene {
  /** Rows whose fault has met a call, with the paths. */
  readonly met = new Map<Row, Set<string>>();
  readonly namespaces: string[] = [];
  proxy!: FaultProxy;
  operator!: Operator;
  readonly #rowOfPath = new Map<string, Row>();
  readonly #next = new Map<string, number>();

  private constructor(private readonly rows: readonly Row[]) {}

  static async make(rows: readonly Row[]): Promise<Scene> {
    const scene = new Scene(rows);
    const count = rows.length === 0 ? 1 : EACH ? rows.length : NAMESPACES;
    for (let index = 0; index < count; index++) {
      const namespace = await cluster.namespace();
      scene.namespaces.push(namespace);
      scene.#next.set(namespace, Math.floor((index * rows.length) / count));
      // The first lists have the resources, and none of their children.
      await cluster.apply(namespace, ...MANIFESTS);
    }
    scene.proxy = await operators.proxy();
    scene.proxy.rule = (call) => {
      const row = scene.#rowOf(call.path);
      if (!row?.rule || !(call.isList || call.isWatch || call.isWrite)) return undefined;
      return scene.#count(row, call.path, row.rule(call));
    };
    scene.proxy.watchFault = (path) => {
      const row = scene.#rowOf(path);
      return scene.#count(row, path, row?.watchFault);
    };
    scene.operator = await operators.start(scene.proxy, { namespaces: scene.namespaces });
    return scene;
  }

  #rowOf(path: string): Row | undefined {
    const namespace = /\/namespaces\/([^/]+)\/./.exec(path)?.[1] ?? '';
    const number = this.#next.get(namespace);
    if (number === undefined) return undefined;
    const key = EACH ? namespace : path;
    let row = this.#rowOfPath.get(key);
    if (!row) {
      row = this.rows[number % this.rows.length];
      if (!row) return undefined;
      this.#rowOfPath.set(key, row);
      this.#next.set(namespace, number + 1);
    }
    return row;
  }

  #count<T>(row: Row | undefined, path: string, fault: T): T {
    if (row && fault !== undefined) {
      const paths = this.met.get(row) ?? new Set();
      this.met.set(row, paths.add(path));
    }
    return fault;
  }

  /** What a namespace met, for the message of a failure. */
  faultsOf(namespace: string): string {
    const met = [...this.met].flatMap(([{ what }, paths]) =>
      [...paths]
        .filter((path) => path.includes(`/${namespace}/`))
        .map((path) => `${what}: ${path}`),
    );
    return met.join('\n');
  }

  /** Waits until all is Ready and applied. Polls seldom: this process is to take little time. */
  async ready(): Promise<void> {
    await cluster.until(
      'all to be Ready',
      async () => {
        await sleep(1_000);
        const all = [
          ...(await cluster.list('AppBench', '')),
          ...(await cluster.list('AppSite', '')),
        ];
        const here = all.filter(({ metadata }) =>
          this.namespaces.includes(metadata.namespace ?? ''),
        );
        const waiting = here.filter(
          ({ status }) => status?.['phase'] !== 'Ready' || !status['appliedHash'],
        );
        const [one] = waiting;
        if (one) throw new Error(`${one.metadata.namespace ?? ''}: ${summaryOf(one)}`);
        return here.length === 2 * this.namespaces.length;
      },
      240_000,
    );
  }

  /** The next lists have the children too. */
  expire(): void {
    for (const one of this.proxy.watches) one.expire();
  }

  async isUnharmed(namespace: string): Promise<void> {
    await cluster.until(
      'the objects to be as without faults',
      async () => {
        const now = await snapshot(cluster, namespace);
        assertSameObjects(now, undisturbed, this.faultsOf(namespace));
        return true;
      },
      30_000,
    );
  }
}

before(async () => {
  cluster = await startCluster({ persistentVolumes: 250, audit: true });
  operators = new ProxiedOperators(cluster);
  const scene = await Scene.make([]);
  await scene.ready();
  undisturbed = await snapshot(cluster, scene.namespaces[0] ?? '');
  await scene.operator.stop();
});
after(async () => {
  await operators.stop();
  await cluster.stop();
});

describe('an operator reaches the same end as without a fault', { concurrency: 3 }, () => {
  for (const [group, all] of Object.entries(GROUPS)) {
    test(`of ${group}`, async (t) => {
      const scene = await Scene.make(all);
      await scene.ready();
      scene.expire();
      for (const namespace of scene.namespaces) await scene.isUnharmed(namespace);
      // What the new lists cause is written by now.
      await sleep(3_000);
      for (const namespace of scene.namespaces) await scene.isUnharmed(namespace);
      assert.ok(scene.operator.running, `the same process serves them:\n${scene.operator.tail()}`);
      await scene.operator.stop();
      const missed = all.filter((row) => !scene.met.has(row)).map(({ what }) => what);
      assert.deepEqual(missed, [], 'each fault has met a call');
      const cases = [...scene.met.values()].reduce((sum, { size }) => sum + size, 0);
      t.diagnostic(`${group}: ${all.length} faults, ${cases} cases tried, ${cases} passed`);
    });
  }
});
