import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { admit } from '../../constructs/kit/schema/admit.js';
import { kindOf, outcomesOf } from '../golden/outcome.js';
import { readScenario, scenarioNames } from '../golden/scenario.js';

suite('the status of every golden scenario', () => {
  for (const name of scenarioNames()) {
    test(`${name} is what the schema of statuses allows`, () => {
      for (const { resource, status } of outcomesOf(readScenario(name))) {
        const { definition } = kindOf(resource);
        // A status is checked like a spec: what the schema does not know would be lost.
        const { problems, pruned } = admit(
          { ...definition, spec: definition.status },
          { ...resource, spec: status, status: undefined },
        );
        assert.deepEqual({ problems, pruned }, { problems: [], pruned: [] });
      }
    });
    test(`${name} is readable by kstatus`, () => {
      for (const { status } of outcomesOf(readScenario(name))) {
        const valueOf = (type: string) =>
          status.conditions?.find((one) => one.type === type)?.status;
        assert.ok(valueOf('Ready'), 'every status has the condition Ready');
        assert.equal(status.observedGeneration, 1);
        if (valueOf('Ready') === 'True') {
          assert.deepEqual([valueOf('Reconciling'), valueOf('Stalled')], [undefined, undefined]);
        } else {
          assert.notEqual(valueOf('Reconciling') === 'True', valueOf('Stalled') === 'True');
        }
      }
    });
    test(`${name} writes nothing that changes between two reconciliations`, () => {
      for (const { status } of outcomesOf(readScenario(name))) {
        for (const { reason, message } of status.conditions ?? []) {
          assert.match(reason, /^[A-Z][A-Za-z]+$/);
          assert.notEqual(message, '');
          assert.doesNotMatch(message, /\d{4}-\d\d-\d\dT|undefined|\[object/);
        }
      }
    });
  }
});
