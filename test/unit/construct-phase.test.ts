import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { evaluatePhase } from '../../constructs/frappe/tree-status.js';
import type { Observation } from '../../constructs/kit/kind.js';
import type { Resource } from '../../constructs/kit/object.js';

type View = Observation<Resource<unknown, { readonly phase?: string }>, undefined>;

function aView(seen: Partial<View> & { readonly phase?: string }): View {
  const { phase, ...rest } = seen;
  return {
    resource: {
      apiVersion: 'app-operator.io/v1alpha1',
      kind: 'AppBench',
      metadata: { name: 'b' },
      spec: {},
      ...(phase === undefined ? {} : { status: { phase } }),
    },
    inputs: undefined,
    pending: [],
    runs: [],
    probes: [],
    complete: true,
    ready: false,
    child: () => undefined,
    ...rest,
  };
}

const running = {
  kind: 'Job',
  name: 'b-init',
  health: { state: 'InProgress', message: 'running' },
} as const;
const missing = {
  kind: 'Deployment',
  name: 'b-nginx',
  health: { state: 'Missing', message: 'not created yet' },
} as const;
const failed = {
  kind: 'Deployment',
  name: 'b-gunicorn',
  health: { state: 'Failed', message: 'the rollout makes no progress' },
} as const;

const CASES: readonly (readonly [
  reason: string,
  seen: Parameters<typeof aView>[0],
  phase: string,
  ready: readonly [status: string, reason: string, message: string],
])[] = [
  ['all is there', { ready: true }, 'Ready', ['True', 'Ready', 'everything is available']],
  [
    'one child is on its way',
    { pending: [running] },
    'Provisioning',
    ['False', 'Provisioning', 'waiting for Job b-init: running'],
  ],
  [
    'several are: the first is named',
    { pending: [running, missing] },
    'Provisioning',
    ['False', 'Provisioning', 'waiting for Job b-init: running (and 1 more)'],
  ],
  [
    'it was ready before',
    { pending: [running], phase: 'Ready' },
    'Updating',
    ['False', 'Updating', 'waiting for Job b-init: running'],
  ],
  [
    'it has been updating',
    { pending: [running], phase: 'Updating' },
    'Updating',
    ['False', 'Updating', 'waiting for Job b-init: running'],
  ],
  [
    'it recovers from a failure: whether it was ever ready is not known',
    { pending: [running], phase: 'Failed' },
    'Provisioning',
    ['False', 'Provisioning', 'waiting for Job b-init: running'],
  ],
  [
    'a child has failed: it is named before the pending children',
    { pending: [running, failed], phase: 'Ready' },
    'Failed',
    ['False', 'DeploymentFailed', 'Deployment b-gunicorn: the rollout makes no progress'],
  ],
  [
    'it does not answer',
    {
      probes: [
        { ok: true, message: '' },
        { ok: false, message: 'answers 503, not 200' },
      ],
    },
    'Provisioning',
    ['False', 'Provisioning', 'answers 503, not 200'],
  ],
  [
    'it is not probed yet',
    {},
    'Provisioning',
    ['False', 'Provisioning', 'waiting for the first answer'],
  ],
];

suite('a resource whose tree could be made', () => {
  for (const [reason, seen, phase, [status, why, message]] of CASES) {
    test(`${reason}: ${phase}`, () => {
      assert.deepEqual(evaluatePhase(aView(seen)), {
        phase,
        ready: { type: 'Ready', status, reason: why, message },
      });
    });
  }
});
