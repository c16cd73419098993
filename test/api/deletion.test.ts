import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSecret, aSite } from '../cluster/support/builders.js';
import { failJob, holdPods, release } from '../cluster/support/interference.js';
import { at, conditionOf, type Live, type Manifest, nameOf } from '../cluster/support/objects.js';

const SKIP = { metadata: { annotations: { 'app-operator.io/skip-drop': 'true' } } };

let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ audit: true });
  await cluster.operator([], { timeFactor: 5 });
});
after(() => cluster.stop());

/** A namespace with a bench and sites that are Ready. */
async function withSites(...sites: readonly Parameters<typeof aSite>[]): Promise<string> {
  const namespace = await cluster.namespace();
  await cluster.apply(namespace, aBench('b'), ...sites.map((site) => aSite(...site)));
  for (const [name] of sites) await cluster.ready('AppSite', namespace, name);
  await cluster.ready('AppBench', namespace, 'b');
  return namespace;
}

/** One waiting resource in two seconds writes its message: many tests have waiting benches and sites. */
const deleting = (kind: string, namespace: string, name: string, message: RegExp): Promise<Live> =>
  cluster.becomes(kind, namespace, name, {
    what: `is being deleted: ${message.source}`,
    check: (live) =>
      at(live, 'status.phase') === 'Deleting' &&
      message.test(conditionOf(live, 'Ready')?.message ?? ''),
    timeoutMs: 180_000,
  });

/** A pod that has a volume for as long as it is there. */
const aPodWithClaim = (claimName: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'holder' },
  spec: {
    containers: [{ name: 'main', image: 'example.test/none:1' }],
    volumes: [{ name: 'held', persistentVolumeClaim: { claimName } }],
  },
});

const left = async (namespace: string): Promise<string[]> =>
  (await cluster.everything(namespace)).map(nameOf).sort();

/** The Job of a deletion, which has whether it drops the data. */
async function variables(namespace: string, job: string): Promise<Map<string, unknown>> {
  interface Container {
    readonly env: readonly { readonly name: string; readonly value?: string }[];
  }
  const pod = at(await cluster.the('Job', namespace, job), 'spec.template.spec') as {
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
  const env = [...(pod.initContainers ?? []), ...pod.containers].flatMap((it) => it.env);
  return new Map(env.map((entry) => [entry.name, entry.value ?? 'from a Secret']));
}

describe('deletion', { concurrency: true }, () => {
  describe('a policy that was never applied', { concurrency: true }, () => {
    const DATA = [
      ['PersistentVolumeClaim', 'b-sites'],
      ['PersistentVolumeClaim', 'b-db-data'],
      ['PersistentVolumeClaim', 's-db-data'],
      ['StatefulSet', 'b-db'],
      ['StatefulSet', 's-db'],
      ['Service', 's-db'],
      ['Secret', 'b-db-root'],
      ['Secret', 's-db-root'],
      ['Secret', 's-db'],
      ['Secret', 's-admin-password'],
      ['Secret', 's-encryption-key'],
    ] as const;
    /** A bench and a site that are to go with their data, and are not listened to any more. */
    async function paused(): Promise<string> {
      const namespace = await cluster.namespace();
      const deletionPolicy = 'Delete';
      await cluster.apply(
        namespace,
        aBench('b', { deletionPolicy }),
        aSite('s', {
          bench: 'b',
          deletionPolicy,
          workloads: 'Shared',
          dbConfig: { mode: 'dedicated' },
        }),
      );
      await cluster.ready('AppSite', namespace, 's');
      await cluster.ready('AppBench', namespace, 'b');
      await setBoth(namespace, { paused: true });
      for (const [kind, name] of [
        ['AppBench', 'b'],
        ['AppSite', 's'],
      ] as const) {
        await cluster.becomes(kind, namespace, name, {
          what: 'is paused',
          check: (live) => Boolean(conditionOf(live, 'Paused')),
        });
      }
      return namespace;
    }
    const setBoth = async (namespace: string, spec: object): Promise<void> => {
      await cluster.patch('AppBench', namespace, 'b', { spec });
      await cluster.patch('AppSite', namespace, 's', { spec });
    };
    const keptBy = async (
      namespace: string,
      data: readonly (readonly [string, string])[],
    ): Promise<void> => {
      const uids = async (): Promise<readonly unknown[]> => {
        const found = await Promise.all(
          data.map(([kind, name]) => cluster.the(kind, namespace, name)),
        );
        return found.map(({ metadata }) => metadata.uid);
      };
      const before = await uids();
      await setBoth(namespace, { deletionPolicy: 'Retain' });
      await cluster.delete('AppSite', namespace, 's');
      await cluster.delete('AppBench', namespace, 'b');
      await setBoth(namespace, { paused: false });
      await cluster.deleted('AppSite', namespace, 's');
      await cluster.deleted('AppBench', namespace, 'b');
      await cluster.until('the remaining objects have no owner', async () => {
        for (const { kind, metadata } of await cluster.children(namespace)) {
          const { labels, ownerReferences, deletionTimestamp } = metadata;
          assert.deepEqual(
            [labels?.['app-operator.io/retain'], ownerReferences, deletionTimestamp],
            ['true', undefined, undefined],
            `${kind} ${metadata.name}`,
          );
        }
        return true;
      });
      assert.deepEqual(await uids(), before);
    };

    test('keeps objects with data', async () => {
      const namespace = await paused();
      await keptBy(namespace, DATA);
      assert.equal(await cluster.get('Secret', namespace, 'b-redis-auth'), undefined);
    });

    const OLD = DATA.filter(([kind]) => kind === 'PersistentVolumeClaim' || kind === 'Secret');
    test('keeps the volumes and passwords of a release that did not mark data', async () => {
      const namespace = await paused();
      const labels = { 'app-operator.io/retain': null };
      for (const { kind, metadata } of await cluster.children(namespace)) {
        await cluster.patch(kind, namespace, metadata.name, { metadata: { labels } });
      }
      await keptBy(namespace, OLD);
    });

    test('keeps a database that is no longer wanted either', async () => {
      const namespace = await cluster.namespace();
      await cluster.apply(
        namespace,
        aBench('b', { deletionPolicy: 'Delete' }),
        aSecret('root', { username: 'root', password: 'x' }),
      );
      await cluster.ready('AppBench', namespace, 'b');
      const { metadata } = await cluster.the('PersistentVolumeClaim', namespace, 'b-db-data');
      await cluster.patch('AppBench', namespace, 'b', {
        spec: {
          deletionPolicy: 'Retain',
          dbConfig: { mode: 'external', host: 'db.example.com', rootSecretRef: { name: 'root' } },
        },
      });
      await cluster.ready('AppBench', namespace, 'b');
      const volume = await cluster.the('PersistentVolumeClaim', namespace, 'b-db-data');
      assert.equal(volume.metadata.uid, metadata.uid);
      assert.equal(volume.metadata.deletionTimestamp, undefined);
    });
  });

  describe('a bench that is deleted', { concurrency: true }, () => {
    const ownedAs = async (namespace: string, wanted: boolean): Promise<void> => {
      await cluster.ready('AppBench', namespace, 'b');
      for (const [kind, name] of [
        ['PersistentVolumeClaim', 'b-sites'],
        ['StatefulSet', 'b-db'],
        ['Secret', 'b-db-root'],
      ] as const) {
        const { metadata } = await cluster.the(kind, namespace, name);
        assert.equal(metadata.ownerReferences?.length ?? 0, wanted ? 1 : 0, name);
      }
    };
    const onlyDataIsLeft = async (namespace: string): Promise<void> => {
      const secrets = ['admin-password', 'db', 'encryption-key'];
      const kept = [
        'NetworkPolicy/b-db',
        'PersistentVolumeClaim/b-db-data',
        'PersistentVolumeClaim/b-redis-data',
        'PersistentVolumeClaim/b-sites',
        'Secret/b-db-root',
        ...['s1', 's2'].flatMap((site) => secrets.map((name) => `Secret/${site}-${name}`)),
        'Service/b-db',
        'StatefulSet/b-db',
      ];
      await cluster.until('only the data is left', async () => {
        assert.deepEqual(await left(namespace), kept);
        return true;
      });
      for (const { metadata } of await cluster.children(namespace)) {
        assert.equal(metadata.ownerReferences, undefined, metadata.name);
      }
      const database = await cluster.the('StatefulSet', namespace, 'b-db');
      assert.equal(at(database, 'status.readyReplicas'), 1);
    };

    test('serves its sites, names them, and leaves only its data under Retain after them', async () => {
      const namespace = await withSites(
        ['s1', { bench: 'b', workloads: 'Shared' }],
        ['s2', { bench: 'b', workloads: 'Shared' }],
      );
      await ownedAs(namespace, false);
      const before = (await cluster.children(namespace)).map(nameOf);
      await cluster.delete('AppBench', namespace, 'b');
      const bench = await deleting('AppBench', namespace, 'b', /./);
      assert.deepEqual(
        [conditionOf(bench, 'Ready')?.reason, conditionOf(bench, 'Ready')?.message],
        ['SitesExist', 'waiting for its sites to be deleted: s1, s2'],
      );
      assert.deepEqual((await cluster.children(namespace)).map(nameOf), before);
      const { metadata } = await cluster.the('Deployment', namespace, 'b-nginx');
      await cluster.delete('Deployment', namespace, 'b-nginx');
      await cluster.patch('Deployment', namespace, 'b-gunicorn', { spec: { replicas: 0 } });
      await cluster.until('both are repaired', async () => {
        const nginx = await cluster.get('Deployment', namespace, 'b-nginx');
        const gunicorn = await cluster.the('Deployment', namespace, 'b-gunicorn');
        return nginx && nginx.metadata.uid !== metadata.uid && at(gunicorn, 'spec.replicas') === 1;
      });
      await cluster.delete('AppSite', namespace, 's1');
      await deleting('AppBench', namespace, 'b', /^waiting for its sites to be deleted: s2$/);
      await cluster.delete('AppSite', namespace, 's2');
      await cluster.deleted('AppSite', namespace, 's2');
      await cluster.deleted('AppBench', namespace, 'b');
      await onlyDataIsLeft(namespace);
    });

    for (const deletionPolicy of ['Retain', 'Delete']) {
      test(`in the foreground serves its sites too, and does not block their deletion (${deletionPolicy})`, async () => {
        const namespace = await cluster.namespace();
        const site = aSite('s', { bench: 'b', deletionPolicy });
        await cluster.apply(namespace, aBench('b', { deletionPolicy }), site);
        await cluster.ready('AppSite', namespace, 's');
        await cluster.ready('AppBench', namespace, 'b');
        const needed = (await cluster.children(namespace)).map(nameOf).sort();
        const password = await cluster.the('Secret', namespace, 'b-redis-auth');
        const init = await cluster.the('Job', namespace, 's-init');
        await cluster.delete('AppBench', namespace, 'b', 'Foreground');
        const bench = await deleting('AppBench', namespace, 'b', /deleted: s$/);
        assert.equal(conditionOf(bench, 'Ready')?.reason, 'SitesExist');
        await cluster.until('the garbage collector is done with it', async () => {
          const live = await cluster.the('AppBench', namespace, 'b');
          return !live.metadata.finalizers?.includes('foregroundDeletion');
        });
        await sleep(2_000);
        await cluster.until('what its sites need is there', async () => {
          const children = await cluster.children(namespace);
          // The pods of a site hold the volume that is deleted under Delete, and no new pod gets such a one.
          if (deletionPolicy === 'Delete') {
            return children.some((child) => nameOf(child) === 'ConfigMap/b-config');
          }
          assert.deepEqual(children.map(nameOf).sort(), needed);
          return children.every(({ metadata }) => metadata.deletionTimestamp === undefined);
        });
        if (deletionPolicy === 'Retain') {
          await cluster.until('the site knows the password that Redis has now', async () => {
            const now = await cluster.the('Secret', namespace, 'b-redis-auth');
            const job = await cluster.the('Job', namespace, 's-init');
            const renewed = now.metadata.uid !== password.metadata.uid;
            return !renewed || job.metadata.uid !== init.metadata.uid;
          });
        }
        await cluster.delete('AppSite', namespace, 's', 'Foreground');
        await cluster.deleted('AppSite', namespace, 's');
        await cluster.deleted('AppBench', namespace, 'b');
      });
    }

    test('in the foreground does not block its sites, though its volume is in use and takes no new pod', async () => {
      const namespace = await cluster.namespace();
      const deletionPolicy = 'Delete';
      const site = aSite('s', { bench: 'b', deletionPolicy, workloads: 'Shared' });
      await cluster.apply(
        namespace,
        aBench('b', { deletionPolicy }),
        site,
        aPodWithClaim('b-sites'),
      );
      await cluster.ready('AppSite', namespace, 's');
      await cluster.ready('AppBench', namespace, 'b');
      await cluster.becomes('Pod', namespace, 'holder', {
        what: 'runs',
        check: (pod) => Boolean(at(pod, 'spec.nodeName')),
      });
      await cluster.delete('AppBench', namespace, 'b', 'Foreground');
      await cluster.becomes('PersistentVolumeClaim', namespace, 'b-sites', {
        what: 'is to go',
        check: (claim) => Boolean(claim.metadata.deletionTimestamp),
      });
      await cluster.delete('AppSite', namespace, 's');
      await cluster.deleted('AppSite', namespace, 's');
      await cluster.deleted('AppBench', namespace, 'b');
    });

    test('follows a policy that was changed after its creation, and leaves nothing under Delete', async () => {
      const namespace = await cluster.namespace();
      await cluster.apply(namespace, aBench('b', { deletionPolicy: 'Delete' }));
      await ownedAs(namespace, true);
      for (const deletionPolicy of ['Retain', 'Delete']) {
        await cluster.patch('AppBench', namespace, 'b', { spec: { deletionPolicy } });
        await ownedAs(namespace, deletionPolicy === 'Delete');
      }
      await cluster.delete('AppBench', namespace, 'b');
      await cluster.deleted('AppBench', namespace, 'b');
      await cluster.until('nothing is left', async () => {
        assert.deepEqual(await left(namespace), []);
        return true;
      });
    });
  });

  describe('a namespace with sites', { concurrency: 1 }, () => {
    let namespace: string;
    before(async () => {
      const deletionPolicy = 'Delete';
      namespace = await withSites(
        ['kept', { bench: 'b' }],
        ['dropped', { bench: 'b', deletionPolicy }],
        ['stuck', { bench: 'b', deletionPolicy, workloads: 'Shared' }],
        ['first', { bench: 'b', siteName: 'x.example.com', workloads: 'Shared' }],
      );
    });

    describe('a site that is deleted', { concurrency: true }, () => {
      test('keeps its data and Secrets under Retain, and stops its workloads', async () => {
        const secrets = ['kept-admin-password', 'kept-db', 'kept-encryption-key'];
        const read = () =>
          Promise.all(secrets.map((name) => cluster.the('Secret', namespace, name)));
        const before = await read();
        const hold = await holdPods(cluster, { 'job-name': 'kept-drop' });
        await cluster.delete('AppSite', namespace, 'kept');
        await deleting('AppSite', namespace, 'kept', /^waiting for Job kept-drop: running/);
        const job = await variables(namespace, 'kept-drop');
        assert.equal(job.get('KEEP_DATA'), '1');
        assert.equal(job.has('DB_ROOT_PASSWORD'), false, 'it could not drop the database');
        await release(cluster, hold);
        await cluster.deleted('AppSite', namespace, 'kept');
        const after = await read();
        for (const [index, { metadata, data }] of after.entries()) {
          assert.equal(metadata.uid, before[index]?.metadata.uid);
          assert.deepEqual(data, before[index]?.data);
          assert.equal(metadata.ownerReferences, undefined);
        }
        await cluster.until('the other children are deleted', async () => {
          const rest = (await left(namespace)).filter((name) => name.includes('/kept'));
          assert.deepEqual(
            rest,
            secrets.map((name) => `Secret/${name}`),
          );
          return true;
        });
      });

      test('is deleted in order under Delete: workloads, data, Secrets', async () => {
        const hold = await holdPods(cluster, { 'job-name': 'dropped-drop' });
        await cluster.delete('AppSite', namespace, 'dropped');
        const site = await deleting(
          'AppSite',
          namespace,
          'dropped',
          /^waiting for Job dropped-drop: running/,
        );
        assert.equal(conditionOf(site, 'Ready')?.reason, 'Deleting');
        assert.deepEqual(
          (await left(namespace)).filter((name) =>
            /^(Deploy|Service|Ingress).*\/dropped/.test(name),
          ),
          [],
          'the database is no longer used',
        );
        const job = await variables(namespace, 'dropped-drop');
        assert.equal(job.has('KEEP_DATA'), false);
        assert.equal(job.get('SITE_NAME'), 'dropped.example.com');
        assert.equal(job.get('DB_ROOT_PASSWORD'), 'from a Secret');
        await release(cluster, hold);
        await cluster.deleted('AppSite', namespace, 'dropped');
        await cluster.until('nothing of it is left', async () => {
          const rest = (await left(namespace)).filter((name) => name.includes('/dropped'));
          assert.deepEqual(rest, []);
          return true;
        });
      });

      test('reports why it cannot be dropped, and is deleted when skip-drop is set', async () => {
        const fault = await failJob(
          cluster,
          namespace,
          'stuck-drop',
          'app-operator: access denied',
        );
        await cluster.delete('AppSite', namespace, 'stuck');
        const site = await deleting('AppSite', namespace, 'stuck', /access denied/);
        assert.deepEqual(
          [conditionOf(site, 'Ready')?.reason, conditionOf(site, 'Ready')?.message],
          [
            'JobFailed',
            'Job stuck-drop: Job has reached the specified backoff limit: access denied; to skip this, annotate the resource with app-operator.io/skip-drop=true',
          ],
        );
        await cluster.patch('AppSite', namespace, 'stuck', SKIP);
        await cluster.deleted('AppSite', namespace, 'stuck');
        await release(cluster, fault);
      });

      test('is deleted also when its bench has another database provider meanwhile', async () => {
        const namespace = await withSites(
          ['rested', { bench: 'b', workloads: 'Shared' }],
          ['stuck', { bench: 'b', deletionPolicy: 'Delete', workloads: 'Shared' }],
        );
        const { status } = await cluster.the('AppSite', namespace, 'rested');
        const dbConfig = { mode: 'operator', mariadbRef: { name: 'company-db' } };
        await cluster.patch('AppBench', namespace, 'b', { spec: { dbConfig } });
        const hold = await holdPods(cluster, { 'job-name': 'rested-drop' });
        await cluster.delete('AppSite', namespace, 'rested');
        await deleting('AppSite', namespace, 'rested', /Job rested-drop/);
        const job = await variables(namespace, 'rested-drop');
        assert.equal(job.get('KEEP_DATA'), '1');
        assert.equal(job.get('DB_NAME'), at(status, 'database.name'));
        await release(cluster, hold);
        await cluster.deleted('AppSite', namespace, 'rested');
        await cluster.delete('AppSite', namespace, 'stuck');
        const words =
          /use "operator"; to delete the site without dropping its data, annotate it with app-operator.io\/skip-drop=true/;
        await deleting('AppSite', namespace, 'stuck', words);
        await cluster.patch('AppSite', namespace, 'stuck', SKIP);
        await cluster.deleted('AppSite', namespace, 'stuck');
      });

      test('is deleted while it is still being created', async () => {
        const hold = await holdPods(cluster, { 'job-name': 'early-init' });
        await cluster.apply(namespace, aSite('early', { bench: 'b', deletionPolicy: 'Delete' }));
        await cluster.until('its init Job runs', () => cluster.get('Job', namespace, 'early-init'));
        await cluster.delete('AppSite', namespace, 'early');
        await cluster.deleted('AppSite', namespace, 'early');
        await release(cluster, hold);
        const dropped = (await cluster.writes({ namespace })).indexOf('patch jobs/early-drop');
        const stopped = (await cluster.writes({ namespace })).indexOf('delete jobs/early-init');
        assert.ok(stopped >= 0 && stopped < dropped, 'what makes it stops before it is dropped');
      });

      for (const deletionPolicy of ['Retain', 'Delete']) {
        test(`is deleted at once when it was never created for lack of a bench (${deletionPolicy})`, async () => {
          const name = `never-${deletionPolicy.toLowerCase()}`;
          await cluster.apply(namespace, aSite(name, { bench: 'mistyped', deletionPolicy }));
          await cluster.becomes('AppSite', namespace, name, {
            what: 'is Pending',
            check: (live) => Boolean(conditionOf(live, 'Ready')),
          });
          await cluster.delete('AppSite', namespace, name);
          await cluster.deleted('AppSite', namespace, name);
        });
      }

      test('is deleted although its spec is refused', async () => {
        const second = { bench: 'b', siteName: 'x.example.com', deletionPolicy: 'Delete' };
        await cluster.apply(namespace, aSite('second', second));
        await cluster.becomes('AppSite', namespace, 'second', {
          what: 'is refused',
          check: (live) => Boolean(conditionOf(live, 'Stalled')),
        });
        await cluster.delete('AppSite', namespace, 'second');
        await cluster.deleted('AppSite', namespace, 'second');
        await cluster.ready('AppSite', namespace, 'first');
        const writes = await cluster.writes({ namespace });
        assert.deepEqual(
          writes.filter((write) => write.includes('second-drop')),
          [],
          'nothing is dropped that belongs to the other site',
        );
      });
    });

    test('that is deleted takes its bench and its sites with it (Retain)', async () => {
      await cluster.ready('AppSite', namespace, 'first');
      await cluster.ready('AppBench', namespace, 'b');
      await cluster.delete('Namespace', '', namespace);
      await cluster.deleted('Namespace', '', namespace);
    });
  });

  test('a namespace that is deleted takes its bench and its sites with it (Delete)', async () => {
    const namespace = await cluster.namespace();
    const deletionPolicy = 'Delete';
    await cluster.apply(
      namespace,
      aBench('b', { deletionPolicy }),
      aSite('s', { bench: 'b', deletionPolicy }),
    );
    await cluster.ready('AppSite', namespace, 's');
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.delete('Namespace', '', namespace);
    await cluster.deleted('Namespace', '', namespace);
  });
});
