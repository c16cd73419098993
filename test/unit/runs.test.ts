import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { metadataKeysFor } from '../../constructs/kit/labels.js';
import { Job } from '../../constructs/kit/object-kind.js';
import { childOf, type Child } from '../../runner/cache/child.js';
import { JobRuns } from '../../runner/health/termination-message.js';

const METADATA_KEYS = metadataKeysFor('app-operator.io');

/** A Job as the API server has it; `failing` is on its way to `Failed`. */
function aJob(
  name: string,
  startTime: string,
  state: 'Running' | 'Complete' | 'FailureTarget',
): Child {
  return childOf(
    Job,
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name, namespace: 'ns', uid: `uid-${name}` },
      status: {
        startTime,
        ...(state === 'Running' ? {} : { conditions: [{ type: state, status: 'True' }] }),
      },
    } as never,
    METADATA_KEYS,
  );
}

/** A client that answers with these pods, by the uid of their Job. */
function aClient(pods: Readonly<Record<string, readonly unknown[]>>) {
  const requests: string[] = [];
  return {
    requests,
    pods: { ...pods } as Record<string, readonly unknown[]>,
    request<T>(
      _method: string,
      _path: string,
      options?: { query?: Record<string, string> },
    ): Promise<T> {
      const uid = options?.query?.['labelSelector']?.split('=')[1] ?? '';
      requests.push(uid);
      return Promise.resolve({ items: this.pods[uid] ?? [] } as T);
    },
  };
}

function aPod(created: string, exitCode: number, message: string) {
  return {
    metadata: { name: 'p', creationTimestamp: created },
    status: { containerStatuses: [{ state: { terminated: { exitCode, message } } }] },
  };
}

describe('the runs of Jobs', () => {
  test('are listed newest first, the two newest ended ones with their termination messages', async () => {
    const client = aClient({
      'uid-a': [aPod('2026-01-01T00:00:00Z', 0, 'a')],
      'uid-b': [aPod('2026-01-01T01:00:00Z', 1, 'first'), aPod('2026-01-01T01:01:00Z', 0, 'last')],
      'uid-c': [aPod('2026-01-01T02:00:00Z', 0, 'c')],
    });
    const runs = await new JobRuns(client).of([
      aJob('a', '2026-01-01T00:00:00Z', 'Complete'),
      aJob('c', '2026-01-01T02:00:00Z', 'Complete'),
      aJob('d', '2026-01-01T03:00:00Z', 'Running'),
      aJob('b', '2026-01-01T01:00:00Z', 'Complete'),
    ]);
    assert.deepEqual(
      runs.map(({ name, state, message }) => [name, state, message]),
      [
        ['d', 'Running', undefined],
        ['c', 'Succeeded', 'c'],
        ['b', 'Succeeded', 'last'],
        ['a', 'Succeeded', undefined],
      ],
    );
  });

  test('are requested once, except one whose pod has not ended yet', async () => {
    const running = { metadata: { name: 'p' }, status: { containerStatuses: [{ state: {} }] } };
    const client = aClient({ 'uid-a': [running] });
    const runs = new JobRuns(client);
    const job = aJob('a', '2026-01-01T00:00:00Z', 'FailureTarget');
    assert.equal(await runs.ended(job), undefined);
    client.pods['uid-a'] = [aPod('2026-01-01T00:00:00Z', 143, 'ended')];
    assert.deepEqual(await runs.ended(job), { exitCode: 143, message: 'ended' });
    await runs.ended(job);
    assert.equal(client.requests.length, 2);
  });

  test('one without pods is not read again', async () => {
    const client = aClient({});
    const runs = new JobRuns(client);
    const job = aJob('a', '2026-01-01T00:00:00Z', 'Complete');
    assert.equal(await runs.ended(job), undefined);
    assert.equal(await runs.ended(job), undefined);
    assert.equal(client.requests.length, 1);
  });

  test('compressed termination messages are decompressed', async () => {
    const packed = `gz:${gzipSync('{"results":{}}').toString('base64')}`;
    const client = aClient({ 'uid-a': [aPod('2026-01-01T00:00:00Z', 0, packed)] });
    const ended = await new JobRuns(client).ended(aJob('a', '2026-01-01T00:00:00Z', 'Complete'));
    assert.equal(ended?.message, '{"results":{}}');
  });

  test('truncated termination messages are ignored', async () => {
    const packed = `gz:${gzipSync('{"results":{}}').toString('base64').slice(0, 12)}`;
    const client = aClient({ 'uid-a': [aPod('2026-01-01T00:00:00Z', 0, packed)] });
    const ended = await new JobRuns(client).ended(aJob('a', '2026-01-01T00:00:00Z', 'Complete'));
    assert.deepEqual(ended, { exitCode: 0 });
  });
});
