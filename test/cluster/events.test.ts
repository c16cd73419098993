import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { type Client, createClient } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { Events, type EventRecord } from '../../runner/reconcile/events.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { type Cluster, startCluster } from './harness.js';

interface EventObject extends KubeObject {
  readonly note: string;
  readonly reason: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

const START = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;

let cluster: Cluster;
let client: Client;
let namespace: string;
let path: string;
before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  const credentials = await loadCredentials(cluster.controlPlane.kubeconfig, {});
  client = createClient({ credentials });
});
after(async () => {
  await client.close();
  await cluster.stop();
});

/** Records events of one resource, one after the other, at times of the test's own clock. */
function recorder(name: string): (minutes: number, event: Partial<EventRecord>) => Promise<void> {
  let at = START;
  const log = createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough());
  const pending = new Set<Promise<unknown>>();
  const request: Client['request'] = (...call) => {
    const answer = client.request<never>(...call);
    pending.add(answer.catch(() => undefined));
    return answer;
  };
  const events = new Events({ client: { request }, log, instance: 't', now: () => new Date(at) });
  const resource: Resource = {
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'AppBench',
    metadata: { name, namespace, uid: `uid-${name}` },
    spec: {},
  };
  return async (minutes, event) => {
    at = START + minutes * MINUTE;
    const defaults = {
      type: 'Normal',
      reason: 'Ready',
      message: 'm',
      action: 'Reconcile',
    } as const;
    events.record(resource, { ...defaults, ...event });
    // A second call may follow the first.
    for (const answer of pending) {
      await answer;
      await setImmediate();
    }
    pending.clear();
  };
}

async function eventsOf(name: string): Promise<readonly EventObject[]> {
  const { items } = await client.request<{ items: readonly EventObject[] }>('GET', path, {
    query: { fieldSelector: `regarding.name=${name}` },
  });
  return items;
}

describe('events', () => {
  for (const [script, message, kept] of [
    ['Latin', 'a'.repeat(2_000), `${'a'.repeat(1_021)}…`],
    ['Cyrillic', 'ж'.repeat(1_000), `${'ж'.repeat(510)}…`],
    ['Chinese', '错'.repeat(900), `${'错'.repeat(340)}…`],
    ['an emoji', '😀'.repeat(400), `${'😀'.repeat(255)}…`],
    ['half an emoji', 'a\ud83d', 'a\ufffd'],
  ] as const) {
    test(`a long message in ${script} is recorded as far as the API allows`, async () => {
      const name = script.toLowerCase().replaceAll(' ', '-');
      await recorder(name)(0, { message });
      assert.deepEqual(
        (await eventsOf(name)).map(({ note }) => note),
        [kept],
      );
    });
  }

  test('a resource between two reasons has one event of each, with a count', async () => {
    const record = recorder('flapping');
    for (let minute = 0; minute < 10; minute++) {
      await record(minute, { reason: minute % 2 === 0 ? 'Ready' : 'PodFailed' });
    }
    const counts = (await eventsOf('flapping')).map(({ reason, series }) => [
      reason,
      series?.count,
    ]);
    assert.deepEqual(counts.sort(), [
      ['PodFailed', 5],
      ['Ready', 5],
    ]);
  });

  test('a repetition after a long time, or after its event has expired, is an event of its own', async () => {
    const record = recorder('again');
    await record(0, {});
    await record(60, {});
    assert.equal((await eventsOf('again')).length, 2);
    for (const { metadata } of await eventsOf('again')) {
      await client.request('DELETE', `${path}/${metadata.name}`);
    }
    await record(61, {});
    const [event, ...more] = await eventsOf('again');
    assert.deepEqual([event?.series, more], [undefined, []]);
  });

  test('a resource records 25 events at once, and then one in five minutes', async () => {
    const record = recorder('busy');
    for (let i = 0; i < 40; i++) await record(0, { message: `message ${i}` });
    assert.equal((await eventsOf('busy')).length, 25);
    await record(6, { message: 'later' });
    await record(6, { message: 'too many' });
    const notes = (await eventsOf('busy')).map(({ note }) => note);
    assert.equal(notes.length, 26);
    assert.ok(notes.includes('later'));
  });
});
