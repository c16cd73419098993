import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSite, WORKERS } from '../cluster/support/builders.js';
import { at, conditionOf, isReady, type Live, nameOf } from '../cluster/support/objects.js';

let cluster: Cluster;
/** Has the benches `b` and `s`, which are Ready. */
let namespace: string;
before(async () => {
  cluster = await startCluster();
  await cluster.operator([], { timeFactor: 5 });
  namespace = await cluster.namespace();
  await cluster.apply(
    namespace,
    aBench('b'),
    aBench('s', { domainConfig: { suffix: 'example.com' } }),
  );
  for (const bench of ['b', 's']) await cluster.ready('AppBench', namespace, bench);
});
after(() => cluster.stop());

/** Ages are whole seconds. */
const aSecondLater = (): Promise<void> => sleep(1_100);

async function assertStalled(
  [kind, name]: readonly [string, string],
  reason: string,
  message: string,
): Promise<void> {
  const live = await cluster.becomes(kind, namespace, name, {
    what: 'is refused',
    check: (object) => Boolean(conditionOf(object, 'Stalled')),
  });
  assert.equal(conditionOf(live, 'Stalled')?.reason, reason);
  assert.equal(conditionOf(live, 'Stalled')?.message, message);
  assert.equal(at(live, 'status.phase'), 'Failed');
}

/** What the bench `b` consists of, without its configuration: that changes with its sites. */
const identities = async (): Promise<string[]> =>
  (await cluster.children(namespace))
    .filter(({ kind, metadata }) => metadata.name.startsWith('b-') && kind !== 'ConfigMap')
    .map(
      (child) => `${nameOf(child)} ${child.metadata.uid ?? ''} ${child.metadata.generation ?? ''}`,
    );
const taken = (name: string, kind: string): string =>
  `metadata.name: Invalid value: "${name}": the ${kind} of this name in this namespace has children of the same names; choose another name`;

describe('names', { concurrency: true }, () => {
  describe('a bench and a site of one name in one namespace', { concurrency: true }, () => {
    test('cannot be: a younger site is refused, and the bench stays as it is', async () => {
      const before = await identities();
      assert.ok(before.some((child) => child.startsWith('Deployment/b-nginx ')));
      await aSecondLater();
      await cluster.apply(
        namespace,
        aSite('b', { bench: 'b', siteName: 'of-bench-b.example.com' }),
      );
      await assertStalled(['AppSite', 'b'], 'NameTaken', taken('b', 'AppBench'));
      await aSecondLater();
      assert.deepEqual(await identities(), before);
      await cluster.ready('AppBench', namespace, 'b');
      await cluster.delete('AppSite', namespace, 'b');
      await cluster.deleted('AppSite', namespace, 'b');
      await cluster.ready('AppBench', namespace, 'b');
    });

    test('cannot coexist: a younger bench is refused until the site is deleted', async () => {
      await cluster.apply(namespace, aSite('twin', { bench: 'b', workloads: 'Shared' }));
      await cluster.ready('AppSite', namespace, 'twin');
      await aSecondLater();
      await cluster.apply(namespace, aBench('twin'));
      await assertStalled(['AppBench', 'twin'], 'NameTaken', taken('twin', 'AppSite'));
      await cluster.ready('AppSite', namespace, 'twin');
      assert.equal(await cluster.get('StatefulSet', namespace, 'twin-redis'), undefined);
      await cluster.delete('AppSite', namespace, 'twin');
      await cluster.ready('AppBench', namespace, 'twin');
    });

    test('that are created together end with one of them', async () => {
      await Promise.all([
        cluster.apply(namespace, aSite('tie', { bench: 'b', workloads: 'Shared' })),
        cluster.apply(namespace, aBench('tie')),
      ]);
      await cluster.until('one is Ready, and the other is refused', async () => {
        const both = await Promise.all(
          ['AppBench', 'AppSite'].map((kind) => cluster.the(kind, namespace, 'tie')),
        );
        assert.deepEqual(both.map((live) => at(live, 'status.phase')).sort(), ['Failed', 'Ready']);
        return true;
      });
    });
  });

  describe('a host name', { concurrency: true }, () => {
    const CASES: readonly {
      readonly name: string;
      readonly bench?: string;
      readonly older: Readonly<Record<string, unknown>>;
      readonly younger: Readonly<Record<string, unknown>>;
      readonly message: string;
    }[] = [
      {
        name: 'of another site of the bench is refused',
        older: { siteName: 'a.example.com' },
        younger: { siteName: 'a.example.com' },
        message:
          'spec.siteName: Invalid value: "a.example.com": AppSite older-0 on bench b has this host name already',
      },
      {
        name: 'that is another site’s domain is refused',
        older: { siteName: 'b.example.com', domain: 'shop.example.com' },
        younger: { siteName: 'shop.example.com' },
        message:
          'spec.siteName: Invalid value: "shop.example.com": AppSite older-1 on bench b has this host name already',
      },
      {
        name: 'that another site has is refused as a domain',
        older: { siteName: 'c.example.com' },
        younger: { siteName: 'd.example.com', domain: 'c.example.com' },
        message:
          'spec.domain: Invalid value: "c.example.com": AppSite older-2 on bench b has this host name already',
      },
      {
        name: 'that another site has by the bench’s suffix is refused',
        bench: 's',
        older: { siteName: 'e' },
        younger: { siteName: 'e.example.com' },
        message:
          'spec.siteName: Invalid value: "e.example.com": AppSite older-3 on bench s has this host name already',
      },
    ];
    for (const [index, { name, bench = 'b', older, younger, message }] of CASES.entries()) {
      test(`${name}, until the older site is deleted`, async () => {
        const [first, second] = [`older-${index}`, `younger-${index}`];
        const workloads = 'Shared';
        await cluster.apply(namespace, aSite(first, { bench, workloads, ...older }));
        await cluster.ready('AppSite', namespace, first);
        await aSecondLater();
        await cluster.apply(namespace, aSite(second, { bench, workloads, ...younger }));
        await assertStalled(['AppSite', second], 'DuplicateSiteName', message);
        const children = (await cluster.children(namespace)).map(nameOf);
        assert.deepEqual(
          children.filter((child) => child.includes(second)),
          [],
        );
        await cluster.ready('AppSite', namespace, first);
        await cluster.delete('AppSite', namespace, first);
        await cluster.ready('AppSite', namespace, second);
      });
    }

    test('of a running site is left out as an alias that an older one adds, until it is free', async () => {
      const older = (more: object) =>
        aSite('adds', { bench: 'b', workloads: 'Shared', siteName: 'g.example.com', ...more });
      await cluster.apply(namespace, older({}));
      await cluster.ready('AppSite', namespace, 'adds');
      await aSecondLater();
      await cluster.apply(namespace, aSite('runs', { bench: 'b', workloads: 'Shared', siteName: 'h.example.com' })); // prettier-ignore
      await cluster.ready('AppSite', namespace, 'runs');
      await cluster.apply(namespace, older({ aliases: ['h.example.com', 'i.example.com'] }));
      const ignored = (live: Live) => conditionOf(live, 'FieldsIgnored')?.message;
      const message =
        'spec.aliases[0]: has no effect: Invalid value: "h.example.com": AppSite runs on bench b has this host name already';
      await cluster.becomes('AppSite', namespace, 'adds', {
        what: 'is Ready, and names the alias',
        check: (live) => isReady(live) && ignored(live) === message,
      });
      await aSecondLater();
      await cluster.ready('AppSite', namespace, 'runs');
      await cluster.delete('AppSite', namespace, 'runs');
      await cluster.becomes('AppSite', namespace, 'adds', {
        what: 'is Ready with all its aliases',
        check: (live) => isReady(live) && ignored(live) === undefined,
      });
    });

    test('may be on another bench, too', async () => {
      await cluster.apply(
        namespace,
        aSite('one', { bench: 'b', workloads: 'Shared', siteName: 'f.example.com' }),
        aSite('two', { bench: 's', workloads: 'Shared', siteName: 'f.example.com' }),
      );
      await cluster.ready('AppSite', namespace, 'one');
      await cluster.ready('AppSite', namespace, 'two');
    });
  });

  test('the same names in two namespaces are independent', async () => {
    const other = await cluster.namespace();
    await cluster.apply(other, aBench('b'));
    const sites: Live[] = [];
    for (const place of [namespace, other]) {
      await cluster.apply(place, aSite('same', { bench: 'b' }));
    }
    for (const place of [namespace, other]) {
      sites.push(await cluster.ready('AppSite', place, 'same'));
    }
    const [one, two] = sites.map((site) => at(site, 'status.database'));
    assert.notEqual(at(one, 'name'), at(two, 'name'));
    assert.notEqual(at(one, 'host'), at(two, 'host'));
    await cluster.delete('AppSite', namespace, 'same');
    await cluster.deleted('Deployment', namespace, 'same-gunicorn');
    await cluster.ready('AppSite', other, 'same');
  });

  test('the longest names end Ready', async () => {
    const bench = `l${'-long'.repeat(8)}-end`;
    const site = `s${'-long'.repeat(8)}-end`;
    assert.equal(bench.length, 45);
    const label = 'x'.repeat(63);
    const siteName = `${label}.${label}.${label}.example`;
    assert.equal(siteName.length, 199);
    await cluster.apply(
      namespace,
      aBench(bench, { componentReplicas: { ...WORKERS.componentReplicas, gunicorn: 2 } }),
      aSite(site, {
        bench,
        siteName,
        componentReplicas: { ...WORKERS.componentReplicas, gunicorn: 1 },
        dbConfig: { mode: 'dedicated' },
        ingress: { enabled: true, tls: { enabled: true, secretName: 'own' } },
      }),
    );
    await cluster.ready('AppBench', namespace, bench);
    await cluster.ready('AppSite', namespace, site);
    const pods = await cluster.list('Pod', namespace, `site=${site}`);
    assert.equal(pods.length, 6, 'init, gunicorn, three workers and the database');
  });

  for (const [kind, manifest] of [
    ['AppBench', aBench('b'.repeat(46))],
    ['AppSite', aSite('s'.repeat(46), { bench: 'b', siteName: 's.example.com' })],
  ] as const) {
    test(`a longer name of an ${kind} is refused at once`, async () => {
      await assert.rejects(
        cluster.apply(namespace, manifest),
        /metadata\.name: Too long: may not be more than 45 bytes|at most 45 characters/,
      );
    });
  }
});
