import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Live } from '../cluster/support/objects.js';
import { describeTrace, logLines, podTraces } from '../support/trace.js';

const clock = (second: number): string => `2026-11-25T10:00:${String(second).padStart(2, '0')}Z`;
const pod = (name: string, created: number, labels: object, status: object): Live =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', creationTimestamp: clock(created), labels },
    status,
  }) as unknown as Live;
const job = pod(
  'demo-init-x7x9z',
  2,
  { 'job-name': 'demo-init' },
  {
    containerStatuses: [
      { state: { terminated: { startedAt: clock(4), finishedAt: clock(9) } } },
      { state: { terminated: { startedAt: clock(5), finishedAt: clock(8) } } },
    ],
    conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: clock(9) }],
  },
);
const web = pod(
  'demo-gunicorn-5d9c-abcde',
  1,
  { 'pod-template-hash': '5d9c' },
  {
    containerStatuses: [{ state: { running: { startedAt: clock(3) } } }],
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: clock(7) }],
  },
);
const waiting = pod('demo-mariadb-0', 3, {}, { containerStatuses: [{ state: { waiting: {} } }] });

describe('the trace of pods', () => {
  const from = Date.parse(clock(1));

  it('says when each was created, started, and was ready or ended', () => {
    const rows = podTraces([job, waiting, web]).map(
      (trace) => `${trace.name}: ${describeTrace(trace, from)}`,
    );
    assert.deepEqual(rows, [
      'demo-gunicorn: created +0 s, started +2 s, ready +6 s',
      'demo-init: created +1 s, started +3 s, ended +8 s',
      'demo-mariadb-0: created +2 s',
    ]);
  });

  it('reads the times of a log', () => {
    const log = '2026-11-25T10:00:04.250000000Z creating demo\nbroken line\n';
    assert.deepEqual(logLines(log), [{ time: Date.parse(clock(4)) + 250, text: 'creating demo' }]);
  });
});
