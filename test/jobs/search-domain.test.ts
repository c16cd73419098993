import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, test } from 'node:test';

import { projectRoot } from '../../testbed/project-root.js';
import { corpus, podTemplates } from '../golden/corpus.js';

const SCRIPT = path.join(projectRoot(), 'test/jobs/wildcard/lookup.py');
const REDIS = 'demo-bench-redis.shop.svc.cluster.local';
/** Pods that connect to no other one. */
const SERVERS = new Set(['redis', 'database']);
const canUnshare = spawnSync('unshare', ['--net', '--mount', 'ip', 'link']).status === 0;
const needsRoot = canUnshare ? {} : { skip: 'NOT TESTED: unshare --net --mount needs root' };

/** Addresses of names by the C library, where the node's search domain has a wildcard. */
function lookUp(ndots: string, ...names: readonly string[]): readonly string[] {
  const command = ['--net', '--mount', 'python3', SCRIPT, ndots, ...names];
  const { stdout, stderr, status } = spawnSync('unshare', command, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout.trim().split('\n');
}

describe('names that a wildcard in the search domain of the node answers too', needsRoot, () => {
  const dns = corpus()
    .filter(({ scenario }) => scenario !== 'bench-pod-templates')
    .flatMap(({ objects }) => podTemplates(objects))
    .filter(({ component }) => !SERVERS.has(component))
    .map(({ of, spec }) => ({ of, options: spec['dnsConfig'] as Dns | undefined }));
  const first = dns[0]?.options?.options[0]?.value ?? '5';

  test('are looked up with one option by every pod that connects to others', () => {
    assert.ok(dns.length > 50, `${dns.length} pods`);
    const expected = { options: [{ name: 'ndots', value: first }] };
    for (const { of, options } of dns) assert.deepEqual(options, expected, of);
  });

  test('get the address of the wildcard with the option of Kubernetes', () => {
    assert.deepEqual(lookUp('5', REDIS, 'db.example.com'), ['203.0.113.9', '203.0.113.9']);
  });

  test('get their own address in pods of a bench', () => {
    const names = [REDIS, 'db.example.com', 'mariadb.databases', 'mariadb.databases.svc'];
    assert.deepEqual(lookUp(first, ...names), [
      ...['10.96.0.5', '198.51.100.7', '10.96.0.6', '10.96.0.6'],
    ]);
  });
});

interface Dns {
  readonly options: readonly { readonly name: string; readonly value: string }[];
}
