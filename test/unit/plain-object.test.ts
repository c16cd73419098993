import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiObject, Chart, JsonPatch } from 'cdk8s';
import type { Construct } from 'constructs';
import { PlainObject } from '../../constructs/kit/plain-object.js';
import { synthesize } from '../../constructs/kit/synth.js';
import { reconcileScenario } from '../golden/outcome.js';
import { readScenario, scenarioNames } from '../golden/scenario.js';

// eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with its object
const { toJson } = PlainObject.prototype;
const METADATA = { name: 'a', labels: {}, annotations: { b: '1', a: '2' } };

/** Calls with each object that is written while scenarios are reconciled. */
function eachWritten(name: string, check: (object: PlainObject, written: unknown) => void): void {
  PlainObject.prototype.toJson = function (this: PlainObject) {
    const written = toJson.call(this);
    check(this, written);
    return written;
  };
  try {
    reconcileScenario(readScenario(name));
  } finally {
    PlainObject.prototype.toJson = toJson;
  }
}

function written(fields: object, change: (object: PlainObject) => void = () => undefined): unknown {
  const [stage] = synthesize((scope: Construct, id: string) => {
    const chart = new Chart(scope, id);
    const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: METADATA, ...fields };
    change(new PlainObject(chart, 'object', manifest));
    return chart;
  });
  return stage?.objects[0];
}

describe('an object of plain data', () => {
  test('is written as cdk8s writes it, in each scenario', () => {
    let count = 0;
    for (const name of scenarioNames()) {
      eachWritten(name, (object, json) => {
        count += 1;
        const expected: unknown = ApiObject.prototype.toJson.call(object);
        assert.equal(JSON.stringify(json), JSON.stringify(expected), `${name}: ${object.name}`);
      });
    }
    assert.ok(count > 1000, String(count));
  });
  test('has its fields in one order, and none that is undefined', () => {
    const spec = { b: [{ z: 1, a: undefined }], a: { d: {}, c: [] } };
    assert.equal(
      JSON.stringify(written({ spec, data: undefined })),
      '{"apiVersion":"v1","kind":"ConfigMap",' +
        '"metadata":{"annotations":{"a":"2","b":"1"},"name":"a"},' +
        '"spec":{"a":{"c":[],"d":{}},"b":[{"z":1}]}}',
    );
  });
  test('keeps a name that JavaScript knows', () => {
    const text = '"data":{"__proto__":"1","constructor":"2"}';
    const object = JSON.stringify(written(JSON.parse(`{${text}}`) as object));
    assert.ok(object.includes(text), object);
  });
  test('is a copy', () => {
    const data = { a: '1' };
    const { data: copied } = written({ data }) as { readonly data: object };
    assert.deepEqual(copied, data);
    assert.notEqual(copied, data);
  });
  test('takes patches and annotations like any other', () => {
    const changed = written({ data: { a: '1' } }, (object) => {
      object.addJsonPatch(JsonPatch.add('/data/b', '2'));
      object.metadata.addAnnotation('c', '3');
    });
    assert.deepEqual(changed, {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1', b: '2' } },
      metadata: { name: 'a', annotations: { a: '2', b: '1', c: '3' } },
    });
  });
});
