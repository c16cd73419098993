import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';

import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { Job } from '../../constructs/kit/object-kind.js';
import { childOf, type Child } from '../../runner/cache/child.js';
import { JobRuns } from '../../runner/health/job-runs.js';
import { controlledBy, PodApi } from './pod-api.js';

const METADATA_KEYS = metadataKeysFor('app-operator.io');

/** A Job as the API server has it; `failing` is on its way to `Failed`. */
function aJob(
  name: string,
  startTime: string,
  state: 'Running' | 'Complete' | 'FailureTarget',
  resourceVersion = '1',
): Child {
  return childOf(
    Job,
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion },
      status: {
        startTime,
        ...(state === 'Running' ? {} : { conditions: [{ type: state, status: 'True' }] }),
      },
    } as never,
    METADATA_KEYS,
  );
}

/** A pod of a Job, by the time of its creation. */
function aPod(job: string, created: string, status: object = {}) {
  return {
    metadata: {
      name: `${job}-${created}`,
      labels: { 'controller-uid': `uid-${job}` },
      creationTimestamp: created,
      ...controlledBy('Job', job, `uid-${job}`),
    },
    status,
  };
}

/** The status of a pod that has ended. */
function ended(exitCode: number, message: string) {
  return { containerStatuses: [{ state: { terminated: { exitCode, message } } }] };
}

/** The results of Jobs that are in the cache; none by default. */
function jobRuns(
  client: ConstructorParameters<typeof JobRuns>[0],
  { jobs = [], now }: { readonly jobs?: readonly Child[]; readonly now?: () => number } = {},
): JobRuns {
  const cached = new Map(jobs.map((job) => [job.id, job]));
  return new JobRuns(client, cached, now);
}

const RUNNING = { containerStatuses: [{ state: {} }] };
const A = aJob('a', '2026-01-01T00:00:00Z', 'Complete');

describe('the runs of Jobs', () => {
  test('have what the runtime names as the image of the last pod, also beside a long message', async () => {
    const imageID = `docker.io/frappe/erpnext@sha256:${'a'.repeat(64)}`;
    const packed = `gz:${gzipSync('long').toString('base64')}`;
    const terminated = { exitCode: 0, message: packed };
    const api = new PodApi([
      aPod('a', '2026-01-01T00:00:00Z', {
        containerStatuses: [{ imageID, state: { terminated } }],
      }),
    ]);
    const [run] = await jobRuns(api).of([A]);
    assert.deepEqual([run?.message, run?.imageId], ['long', imageID]);
  });
  test('are listed newest first, the two newest ended ones with their termination messages', async () => {
    const api = new PodApi([
      aPod('a', '2026-01-01T00:00:00Z', ended(0, 'a')),
      aPod('b', '2026-01-01T01:00:00Z', ended(1, 'first')),
      aPod('b', '2026-01-01T01:01:00Z', ended(0, 'last')),
      aPod('c', '2026-01-01T02:00:00Z', ended(0, 'c')),
    ]);
    const runs = await jobRuns(api).of([
      A,
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

  test('are read by the metadata of the pods, and the one pod that ended last', async () => {
    const first = aPod('a', '2026-01-01T00:00:00Z', ended(1, 'first'));
    const api = new PodApi([first, aPod('a', '2026-01-01T00:01:00Z', ended(0, 'last'))]);
    assert.equal((await jobRuns(api).ended(A))?.message, 'last');
    assert.deepEqual(api.calls, [
      'LIST controller-uid=uid-a 20 metadata',
      'GET a-2026-01-01T00:01:00Z',
    ]);
  });

  test('are requested once; if no pod has ended, again when the Job changes or after a while', async () => {
    let now = 0;
    const api = new PodApi([aPod('a', '2026-01-01T00:00:00Z', RUNNING)]);
    const runs = jobRuns(api, { now: () => now });
    const failing = (version: string): Child =>
      aJob('a', '2026-01-01T00:00:00Z', 'FailureTarget', version);
    assert.equal(await runs.ended(failing('1')), undefined);
    assert.equal(await runs.ended(failing('1')), undefined);
    assert.equal(api.lists.length, 1, 'the same Job, too soon');
    assert.equal(await runs.ended(failing('2')), undefined);
    assert.equal(api.lists.length, 2, 'the Job has changed');
    api.pods = [aPod('a', '2026-01-01T00:00:00Z', ended(143, 'ended'))];
    now = 10_000;
    assert.deepEqual(await runs.ended(failing('2')), { exitCode: 143, message: 'ended' });
    await runs.ended(failing('3'));
    assert.equal(api.lists.length, 3, 'the result is known');
  });

  test('are read once, however many Jobs there are', async () => {
    const api = new PodApi();
    const jobs = Array.from({ length: 5_001 }, (_, index) =>
      aJob(`job-${index}`, '2026-01-01T00:00:00Z', 'Complete'),
    );
    const runs = jobRuns(api, { jobs });
    for (const job of jobs) await runs.ended(job);
    api.calls.length = 0;
    for (const job of jobs) await runs.ended(job);
    assert.equal(api.calls.length, 0);
  });

  test('of deleted Jobs are forgotten', async () => {
    const api = new PodApi();
    const jobs = Array.from({ length: 1_000 }, (_, index) =>
      aJob(`job-${index}`, '2026-01-01T00:00:00Z', 'Complete'),
    );
    const runs = jobRuns(api, { jobs: jobs.slice(500) });
    for (const job of jobs) await runs.ended(job);
    const readAgain = async (some: readonly Child[]): Promise<number> => {
      api.calls.length = 0;
      for (const job of some) await runs.ended(job);
      return api.calls.length;
    };
    assert.equal(await readAgain(jobs.slice(500)), 0);
    assert.equal(await readAgain(jobs.slice(0, 500)), 500);
  });

  test('one without pods is not read again', async () => {
    const api = new PodApi();
    const runs = jobRuns(api);
    assert.equal(await runs.ended(A), undefined);
    assert.equal(await runs.ended(A), undefined);
    assert.equal(api.calls.length, 1);
  });

  test('a pod of others with the label of the Job is ignored, and never read', async () => {
    const others = [controlledBy('Job', 'b', 'uid-b'), { ownerReferences: [] }].map(
      (owner, index) => {
        const { metadata, status } = aPod('a', `2026-01-02T00:0${index}:00Z`, ended(0, 'forged'));
        return { metadata: { ...metadata, ...owner }, status };
      },
    );
    const own = aPod('a', '2026-01-01T00:00:00Z', ended(1, 'own'));
    const api = new PodApi([...others, own]);
    assert.deepEqual(await jobRuns(api).ended(A), { exitCode: 1, message: 'own' });
    assert.deepEqual(
      api.calls.filter((call) => call.startsWith('GET')),
      [`GET ${own.metadata.name}`],
    );
  });

  test('many pods of others do not hide the Job’s own: their metadata is listed page by page', async () => {
    const forged = Array.from({ length: 190 }, (_, index) => ({
      metadata: { name: `0-${index}`, labels: { 'controller-uid': 'uid-a' } },
    }));
    const api = new PodApi([...forged, aPod('a', '2026-01-01T00:00:00Z', ended(0, 'own'))]);
    assert.equal((await jobRuns(api).ended(A))?.message, 'own');
    assert.equal(api.lists.length, 10);
  });

  test('a number of pods is never exceeded, of others and with a forged owner', async () => {
    const forged = Array.from({ length: 1000 }, (_, index) => {
      const { metadata } = aPod('a', '2026-01-01T00:00:00Z');
      return { metadata: { ...metadata, name: `0-${index}` } };
    });
    const api = new PodApi(forged);
    assert.equal(await jobRuns(api).ended(A), undefined);
    assert.equal(api.lists.length, 10);
    assert.equal(api.calls.length, 15);
  });

  test('a pod that was deleted after the list is skipped', async () => {
    const gone = aPod('a', '2026-01-01T00:01:00Z', ended(0, 'gone'));
    const api = new PodApi([aPod('a', '2026-01-01T00:00:00Z', ended(1, 'left')), gone]);
    const client = {
      request: async <T>(...call: Parameters<PodApi['request']>): Promise<T> => {
        const answer = await api.request<T>(...call);
        api.pods = api.pods.filter((pod) => pod !== gone);
        return answer;
      },
    };
    assert.equal((await jobRuns(client).ended(A))?.message, 'left');
  });

  test('are kept as their pods have them: unpacked, a message may have 1 MB', async () => {
    const packed = `gz:${gzipSync('0'.repeat(1_000_000)).toString('base64')}`;
    const api = new PodApi([aPod('a', '2026-01-01T00:00:00Z', ended(0, packed))]);
    const runs = jobRuns(api);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 300; index++) {
      const name = `j${index}`;
      api.pods = [aPod(name, '2026-01-01T00:00:00Z', ended(0, packed))];
      const result = await runs.ended(aJob(name, '2026-01-01T00:00:00Z', 'Complete'));
      assert.equal(result?.message?.length, 1_000_000);
    }
    collect();
    const kept = process.memoryUsage().heapUsed - before;
    assert.ok(kept < 100_000_000, `${kept} bytes are kept`);
  });

  test('compressed termination messages are decompressed', async () => {
    const packed = `gz:${gzipSync('{"results":{}}').toString('base64')}`;
    const api = new PodApi([aPod('a', '2026-01-01T00:00:00Z', ended(0, packed))]);
    assert.equal((await jobRuns(api).ended(A))?.message, '{"results":{}}');
  });

  test('truncated termination messages are ignored', async () => {
    const packed = `gz:${gzipSync('{"results":{}}').toString('base64').slice(0, 12)}`;
    const api = new PodApi([aPod('a', '2026-01-01T00:00:00Z', ended(0, packed))]);
    assert.deepEqual(await jobRuns(api).ended(A), { exitCode: 0 });
  });
});
