import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { optionalApisOf } from '../../cli/commands/render/optional-apis.js';
import { site } from '../../constructs/kinds/site/index.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import { DnsRecord } from '../invented-integration/index.js';
import type { Proof } from '../invented-integration/proof.js';

const PROGRAM = fileURLToPath(new URL('../invented-integration/proof.js', import.meta.url));

suite('an integration that is one folder and one line', () => {
  const proof = JSON.parse(
    execFileSync(process.execPath, [PROGRAM], { encoding: 'utf8' }),
  ) as Proof;

  test('adds its object to the tree of a site', () => {
    const [record] = proof.records;
    assert.equal(record?.metadata.name, 'demo-site-ingress');
    assert.deepEqual((record as { spec?: unknown } | undefined)?.spec, {
      hosts: ['demo.example.com'],
    });
  });
  test('is detected: without its API the tree has no object of it', () => {
    assert.deepEqual(proof.unserved, []);
    assert.ok(proof.isOptional);
  });
  test('gives the operator the rights that its object needs', () => {
    assert.deepEqual(proof.rules, [
      {
        apiGroups: ['dns.invented.example'],
        resources: ['dnsrecords'],
        verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
      },
    ]);
  });
  test('evaluates the health of its object', () => {
    const [unobserved, rejected, ready] = proof.health;
    assert.equal(unobserved?.unobserved, true);
    assert.equal(rejected?.message, 'its zone does not exist');
    assert.equal(ready?.state, 'Ready');
  });
  test('can be named in render --serves', () => {
    assert.ok(proof.names.includes('invented-dns'));
    assert.deepEqual(proof.apis, [kindId(DnsRecord)]);
    assert.throws(() => optionalApisOf(['invented-dns']), /got "invented-dns", allowed: /);
  });
  test('changes nothing for those who do not register it', () => {
    assert.ok(!site.owns.includes(DnsRecord));
  });
});
