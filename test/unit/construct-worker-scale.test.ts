import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { QueueScaling } from '../../constructs/bench/api.js';
import { workerScale, type WorkerScale } from '../../constructs/framework/worker.js';

const scaling = (some: Partial<QueueScaling>): QueueScaling => ({
  enabled: true,
  minReplicas: 1,
  maxReplicas: 5,
  queueLength: 5,
  ...some,
});
const fixed = (replicas: number): WorkerScale => ({ mode: 'static', replicas });

const CASES: readonly (readonly [
  reason: string,
  scaling: QueueScaling | undefined,
  replicas: number | undefined,
  keda: boolean,
  scale: WorkerScale,
])[] = [
  ['nothing is said: one', undefined, undefined, true, fixed(1)],
  ['a number of replicas', undefined, 3, true, fixed(3)],
  ['no replicas', undefined, 0, true, fixed(0)],
  ['scaling switched off', scaling({ enabled: false }), undefined, true, fixed(1)],
  ['… with a number of its own', scaling({ enabled: false, staticReplicas: 2 }), 4, true, fixed(2)],
  ['… with the replicas of the component', scaling({ enabled: false }), 4, true, fixed(4)],
  ['scaling with KEDA', scaling({}), 4, true, { mode: 'autoscaled', scaling: scaling({}) }],
  ['scaling without KEDA: the least', scaling({ minReplicas: 3 }), undefined, false, fixed(3)],
  [
    '… but at least one, or nothing would work',
    scaling({ minReplicas: 0 }),
    undefined,
    false,
    fixed(1),
  ],
  ['… or the number for this case', scaling({ staticReplicas: 2 }), undefined, false, fixed(2)],
  ['… or the replicas of the component', scaling({}), 4, false, fixed(4)],
];

suite('the workers of a queue', () => {
  for (const [reason, queue, replicas, keda, scale] of CASES) {
    test(reason, () => {
      assert.deepEqual(workerScale(queue, replicas, keda), scale);
    });
  }
});
