import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { bench as kind } from '../../constructs/kinds/bench/index.js';
import { scriptModules } from '../../constructs/frappe/script-modules.js';
import type { StatusResult } from '../../constructs/kit/kind.js';
import { aBench, aReader } from '../golden/builders.js';

const EXPORTER = {
  kind: 'Deployment',
  name: 'demo-metrics',
  health: { state: 'InProgress', message: '0 of 1 pods are ready' },
} as const;

/** A bench whose children are all ready but its exporter, where that is pending. */
function evaluate(complete: boolean, pending: readonly (typeof EXPORTER)[]): StatusResult {
  const resource = aBench({}, { name: 'demo' });
  const inputs = kind.resolve(resource, aReader([resource]));
  const ready = complete && pending.length === 0;
  const rest = { runs: [], probes: [], child: () => undefined };
  return kind.evaluate({ resource, inputs, pending, complete, ready, ...rest });
}

suite('a bench and its exporter', () => {
  test('the hash of its pods covers the modules that its script imports', () => {
    assert.deepEqual(scriptModules('bench_metrics.py').toSorted(), [
      'bench_metrics.py',
      'database_relay.py',
      'database_tls.py',
      'job_environment.py',
      'job_result.py',
      'job_secrets.py',
      'operator_constants.py',
      'secret_redaction.py',
      'secret_text.py',
      'volume_files.py',
    ]);
  });

  test('it is Ready without', () => {
    assert.equal(evaluate(true, [EXPORTER]).ready.status, 'True');
    assert.equal(evaluate(true, []).ready.status, 'True');
  });

  test('it is not Ready while some of its tree is not applied, exporter or not', () => {
    assert.equal(evaluate(false, []).ready.status, 'False');
    assert.equal(evaluate(false, [EXPORTER]).ready.status, 'False');
  });
});
