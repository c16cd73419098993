import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { benchNames, databaseName, serviceHost, siteNames } from '../../constructs/kit/names.js';
import { KINDS } from '../../constructs/registry.js';

const QUEUES = ['default', 'short', 'long'];

/** All names of a bench or a site: a function is called for every queue. */
function all(names: Readonly<Record<string, string | ((queue: string) => string)>>): string[] {
  return Object.values(names).flatMap((name) =>
    typeof name === 'string' ? [name] : QUEUES.map((queue) => name(queue)),
  );
}

suite('names are public API', () => {
  test('of a bench', () => {
    assert.deepEqual([...new Set(all(benchNames('b')))].sort(), [
      'b-config',
      'b-configuration',
      'b-db',
      'b-db-data',
      'b-db-root',
      'b-deny-ingress',
      'b-egress',
      'b-gunicorn',
      'b-init',
      'b-metrics',
      'b-nginx',
      'b-redis',
      'b-redis-auth',
      'b-redis-data',
      'b-redis-trigger',
      'b-scheduler',
      'b-sites',
      'b-socketio',
      'b-socketio-pods',
      'b-worker-default',
      'b-worker-long',
      'b-worker-short',
    ]);
  });
  test('of a site', () => {
    assert.deepEqual([...new Set(all(siteNames('s')))].sort(), [
      's-admin-password',
      's-configuration',
      's-db',
      's-db-data',
      's-db-root',
      's-documents',
      's-drop',
      's-encryption-key',
      's-gunicorn',
      's-ingress',
      's-init',
      's-reopen',
      's-tls',
      's-worker-default',
      's-worker-long',
      's-worker-short',
    ]);
  });
  test('of a Service in DNS', () => {
    assert.equal(
      serviceHost('b-nginx', 'team-a', 'cluster.local'),
      'b-nginx.team-a.svc.cluster.local',
    );
  });
});

suite('names fit where they go', () => {
  for (const { definition } of KINDS.slice(0, 2)) {
    test(`with the longest name of an ${definition.kind} each is a DNS label`, () => {
      const longest = 'x'.repeat(definition.maxNameLength);
      const names = definition.kind === 'AppBench' ? benchNames(longest) : siteNames(longest);
      for (const name of all(names)) {
        assert.match(name, /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/, name);
      }
    });
    test(`the pods of an ${definition.kind}'s StatefulSets get a label with their revision`, () => {
      const hash = '-1234567890';
      const longest = `${'x'.repeat(definition.maxNameLength)}-redis${hash}`;
      assert.ok(longest.length <= 63, longest);
    });
  }
  // Kinds without children of their own have no such label.
  for (const { definition } of KINDS.filter(({ owns }) => owns.length > 0)) {
    test(`the owner label takes the longest name of an ${definition.kind}`, () => {
      assert.ok(`${definition.kind}.`.length + definition.maxNameLength <= 63);
    });
  }
});

suite('the name of a database', () => {
  const PINNED: readonly (readonly [namespace: string, site: string, name: string])[] = [
    ['default', 'demo-site', 's_demo_site_95bed47d2d'],
    ['team-a', 'demo-site', 's_demo_site_4053e29aee'],
    ['default', 'a', 's_a_9efb36117d'],
    ['default', 'a-b', 's_a_b_99ac8dd510'],
    ['a', 'b-c', 's_b_c_b88f83c840'],
    ['a-b', 'c', 's_c_4e84717d75'],
  ];
  for (const [namespace, site, name] of PINNED) {
    test(`of ${namespace}/${site} is ${name} for ever: the data is found by it`, () => {
      assert.equal(databaseName(namespace, site), name);
    });
  }
  test('fits PostgreSQL and MariaDB, and needs no quotes', () => {
    for (const site of ['a', 'x'.repeat(45), 'a-'.repeat(22), `a${'-'.repeat(40)}b`]) {
      assert.match(databaseName('n'.repeat(63), site), /^[a-z_][a-z0-9_]{0,62}$/);
    }
  });
  test('is another one for every namespace and site, also where their letters are the same', () => {
    const pairs: (readonly [string, string])[] = [];
    for (const text of ['a-b-c-d', 'aa-b', 'a-bb', 'ns-ns-ns', `${'x'.repeat(44)}a-b`]) {
      for (let at = 1; at < text.length; at += 1) {
        pairs.push([text.slice(0, at), text.slice(at)], [text, text.slice(at)]);
      }
    }
    // Sites that differ after the part that is kept, and in what is replaced.
    pairs.push(
      ['n', `${'x'.repeat(44)}a`],
      ['n', `${'x'.repeat(44)}b`],
      ['n', 'a-a'],
      ['n', 'a--a'],
    );
    const distinct = new Set(pairs.map((pair) => pair.join('/')));
    assert.equal(new Set(pairs.map(([n, s]) => databaseName(n, s))).size, distinct.size);
  });
});
