import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { complete } from '../../cli/commands/completion/complete.js';
import { STATUS_FLAGS } from '../../cli/commands/status/flags.js';
import { connected } from '../../cli/kube/connect.js';
import { ConfigError, parseArguments } from '../../runner/config/flag-parser.js';

describe('a flag with its value in one argument', () => {
  const namespaceOf = (...argv: readonly string[]) =>
    parseArguments(STATUS_FLAGS, argv).values.namespace;
  const outputOf = (...argv: readonly string[]) => parseArguments(STATUS_FLAGS, argv).values.output;

  test('reads -n=shop as -n shop, like kubectl', () => {
    assert.equal(namespaceOf('-n=shop'), 'shop');
    assert.equal(namespaceOf('-An=shop'), 'shop');
    assert.equal(namespaceOf('-nshop'), 'shop');
    assert.equal(namespaceOf('-n='), '');
  });

  test('drops one = only, and only after one letter', () => {
    assert.equal(namespaceOf('-n==shop'), '=shop');
    assert.equal(namespaceOf('-n', '=shop'), '=shop');
    assert.equal(namespaceOf('--namespace==shop'), '=shop');
    assert.equal(outputOf('-ojson'), 'json');
    assert.equal(outputOf('-o=json'), 'json');
    assert.throws(
      () => outputOf('--output==json'),
      (error) =>
        error instanceof ConfigError &&
        error.message === '--output: got "=json", allowed: tree, json, yaml',
    );
  });
});

test('completion of retained has kinds, not the names of resources that exist', async () => {
  assert.equal(await complete(['retained', '']), 'bench/\nsite/\n');
  assert.equal(await complete(['retained', 'bench/']), 'bench/\n');
});

test('completion asks no cluster, so that it has no values for namespaces and contexts', async () => {
  assert.equal(await complete(['status', '-n', '']), '');
  assert.equal(await complete(['status', '--context', '']), '');
  assert.equal(await complete(['status', 'site']), 'site/\n');
  assert.match(await complete(['render', '--serves', '']), /^keda\ncert-manager\n/);
  assert.equal(await complete(['render', '--serves=ked']), '--serves=keda\n');
});

describe('an empty namespace or context', () => {
  let dir: string;
  let env: Readonly<Record<string, string>>;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'app-operator-connect-'));
    const kubeconfig = (name: string, context: object) =>
      writeFileSync(
        join(dir, name),
        JSON.stringify({
          'current-context': 'c',
          contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', ...context } }],
          clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
          users: [{ name: 'u', user: {} }],
        }),
      );
    kubeconfig('shop', { namespace: 'shop' });
    kubeconfig('none', { namespace: '' });
    env = { KUBECONFIG: join(dir, 'shop') };
  });
  after(() => rmSync(dir, { recursive: true }));

  const namespaceOf = (values: Parameters<typeof connected>[0], given = env): Promise<string> =>
    connected(values, { env: given }, async ({ namespace }) => namespace);

  test('counts as not given', async () => {
    assert.equal(await namespaceOf({ namespace: '' }), 'shop');
    assert.equal(await namespaceOf({ context: '' }), 'shop');
    assert.equal(await namespaceOf({ namespace: 'other' }), 'other');
  });

  test('is default where the context has none', async () => {
    const none = { KUBECONFIG: join(dir, 'none') };
    assert.equal(await namespaceOf({ namespace: '' }, none), 'default');
    assert.equal(await namespaceOf({}, none), 'default');
  });
});
