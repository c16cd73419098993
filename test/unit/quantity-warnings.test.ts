import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { quantityWarnings } from '../../constructs/kit/quantity-warnings.js';
import { bench as kind } from '../../constructs/kinds/bench/index.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { validate } from '../../runner/admission/validate.js';
import { aBench } from './schema-manifests.js';

const memory = (amount: string) => ({
  componentResources: { nginx: { requests: { memory: amount } } },
});
const cpu = (amount: string) => ({ resources: { limits: { cpu: amount } } });
const size = (amount: string) => ({ dbConfig: { storage: { size: amount } } });

const ODD: readonly (readonly [object, string])[] = [
  [memory('512m'), 'spec.componentResources.nginx.requests.memory: 512m is 0.512 bytes: m stands for thousandths: did you mean 512Mi?'],
  [memory('512'), 'spec.componentResources.nginx.requests.memory: 512 is 512 bytes: did you mean 512Mi?'],
  [memory('1E'), 'spec.componentResources.nginx.requests.memory: 1E is more than 64 TiB: no node or volume has that'],
  [memory('99999999999999999999Ei'), 'spec.componentResources.nginx.requests.memory: 99999999999999999999Ei is more than 64 TiB: no node or volume has that'],
  [cpu('500'), 'spec.resources.limits.cpu: 500 is 500 cores: did you mean 500m?'],
  [cpu('0.0001'), 'spec.resources.limits.cpu: 0.0001 is less than 1m, a thousandth of a core'],
  [size('10'), 'spec.dbConfig.storage.size: 10 is 10 bytes: did you mean 10Mi?'],
  [size('1m'), 'spec.dbConfig.storage.size: 1m is 0.001 bytes: m stands for thousandths: did you mean 1Mi?'],
  [size('0'), 'spec.dbConfig.storage.size: 0 is 0 bytes: did you mean 0Mi?'],
  [size('2Ei'), 'spec.dbConfig.storage.size: 2Ei is more than 1024 TiB: no node or volume has that'],
]; // prettier-ignore

describe('quantities that are seldom meant', () => {
  for (const [spec, message] of ODD) {
    test(message, () => {
      const found = quantityWarnings(spec).map((one) => `${one.path}: ${one.message}`);
      assert.deepEqual(found, [message]);
    });
  }

  test('usual ones, zero as a request, and other resources are none', () => {
    const specs = [
      ...['0', '64Mi', '512M', '1.5Gi', '0.5G', '1e9', '4Ti'].map(memory),
      ...['0', '1m', '0.5', '64', '100m', '2'].map(cpu),
      ...['1Gi', '100G', '500Ti'].map(size),
      { resources: { limits: { 'example.com/gpu': '999' } } },
      { resources: { limits: { memory: 'much' } }, storage: 'x', requests: null },
    ];
    for (const spec of specs) assert.deepEqual(quantityWarnings(spec), [], JSON.stringify(spec));
    assert.deepEqual(quantityWarnings(undefined), []);
  });

  test('are warnings at admission', () => {
    const object = aBench(memory('512m')) as never;
    const reader = new StaticReader({ objects: [] });
    const change = {
      kind: kind as never,
      group: 'app-operator.io',
      object,
      old: undefined,
      reader,
    };
    const { problems, warnings } = validate(change);
    assert.deepEqual(problems, []);
    assert.match(warnings.map(({ message }) => message).join(), /did you mean 512Mi/);
  });
});
