import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { evaluateBenchPhase } from '../../constructs/kinds/bench/phase.js';
import { aReader, aReadyBench, aSecret } from '../golden/builders.js';
import { bench as kind } from '../../constructs/kinds/bench/index.js';

const imageDigest = {
  image: 'frappe/erpnext:version-15',
  digest: `sha256:${'a'.repeat(64)}`,
  init: 'r',
};

/** The message of a bench whose web processes are not ready. */
function messageOf(problem: string, status: object): string | undefined {
  const ready = aReadyBench();
  const resource = { ...ready, status: { ...ready.status, ...status } };
  const inputs = kind.resolve(resource, aReader([resource, aSecret('demo-bench-redis-auth')]));
  const health = { state: 'InProgress', message: `0 of 1 replicas are ready: ${problem}` } as const;
  const pending = [{ kind: 'Deployment', name: 'demo-bench-gunicorn', health }];
  const others = { runs: [], probes: [], complete: true, ready: false, child: () => undefined };
  return evaluateBenchPhase({ resource, inputs, pending, ...others }).ready.message;
}

suite('a digest that cannot be pulled', () => {
  const pull = 'container gunicorn: ImagePullBackOff: Back-off pulling image';
  test('is explained, with the field that asks for another one', () => {
    assert.match(
      messageOf(pull, { imageDigest }) ?? '',
      /ImagePullBackOff.*; if the registry no longer has this digest, set another spec\.image\.refresh: docs\/images\.md#when-a-digest-is-gone$/,
    );
  });
  test('is not suspected of a tag, or of another problem', () => {
    assert.doesNotMatch(messageOf(pull, {}) ?? '', /registry/);
    assert.doesNotMatch(
      messageOf('container gunicorn: OOMKilled', { imageDigest }) ?? '',
      /registry/,
    );
  });
});
