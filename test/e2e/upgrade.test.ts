import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, suite, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { conditionOf, type Live } from '../cluster/support/objects.js';
import { seconds } from '../support/figures.js';
import { standInOnly, TAGS } from './framework.js';
import { type E2e, e2e, skip } from './harness.js';
import { folderOf, type Made, makeBench, type Place, type SiteUser, sql } from './support/bench.js';

/** Sites are upgraded two at a time, each with a Job, a roll and another Job. */
const UPGRADED_MS = 400_000;
/**
 * A ToDo of this status makes a patch of the second version fail, after it has changed the schema.
 */
const UNKNOWN = 'Unheard of';

suite(
  'upgrades',
  { skip: skip || standInOnly('a second version whose patches fail'), concurrency: true },
  () => {
    let cluster: E2e;

    before(async () => {
      cluster = await e2e();
    });

    const make = (sites: Parameters<typeof makeBench>[2]): Promise<Made> =>
      makeBench(cluster, { image: { tag: TAGS.from } }, sites);

    const bring = ({ namespace }: Place, tag: string): Promise<unknown> =>
      cluster.patch('AppBench', namespace, 'bench', { spec: { image: { tag } } });

    const versionOf = async (user: SiteUser): Promise<string> => {
      const { body } = await user.read('/api/method/version');
      return (JSON.parse(body) as { readonly message: string }).message;
    };

    const isOf =
      (tag: string) =>
      (site: Live): boolean =>
        site.status?.['phase'] === 'Ready' && String(site.status['image']).endsWith(`:${tag}`);

    async function failed({ namespace }: Place, site: string): Promise<Live> {
      return cluster.becomes('AppSite', namespace, site, {
        what: 'says that its migration has failed',
        check: (live) => conditionOf(live, 'Ready')?.reason === 'MigrationFailed',
        timeoutMs: UPGRADED_MS,
      });
    }

    /** Its own processes know that it is closed: nothing depends on the framework's maintenance mode. */
    async function isClosed({ host, place }: SiteUser): Promise<void> {
      const target = { host, path: '/api/method/ping' };
      const { status, body } = await cluster.request(place.namespace, place.bench, target);
      assert.equal(status, 503);
      assert.match(body, /The site is being updated/);
    }

    test('each site is closed, backed up, migrated, rolled and opened; one that fails stops no other', async () => {
      const { place, users } = await make({ shop: {}, blog: { workloads: 'Shared' }, bad: {} });
      const { namespace } = place;
      const { shop, blog, bad } = users;
      assert.ok(shop && blog && bad);
      assert.equal(await bad.store({ description: 'odd', status: UNKNOWN }), 200);
      const jobs = Array.from({ length: 4 }, (_, index) => `waits ${index}`);
      for (const user of [shop, blog]) {
        for (const job of jobs) assert.equal(await user.enqueueSlow(job, 3), 200);
      }
      const begun = performance.now();
      const upgraded = (name: string): Promise<Live> =>
        cluster.becomes('AppSite', namespace, name, {
          what: 'is upgraded',
          check: isOf(TAGS.to),
          timeoutMs: UPGRADED_MS,
        });
      const loads = await underLoad(place, [shop, blog], async () => {
        await bring(place, TAGS.to);
        await Promise.all(['shop', 'blog'].map((name) => upgraded(name)));
      });
      cluster.figures.add(
        'upgrade of two sites, beside one that fails',
        seconds(performance.now() - begun),
      );
      // A page of maintenance is what visitors may get; an error would be code beside the wrong data.
      for (const failures of loads) {
        assert.deepEqual(
          Object.keys(failures).filter((answer) => answer !== '503'),
          [],
        );
      }
      for (const [name, user] of Object.entries({ shop, blog })) {
        assert.equal(await versionOf(user), TAGS.to);
        assert.equal(await user.remembers(`row of ${name}`), 1);
        await user.stored(jobs, 120_000);
      }

      const site = await failed(place, 'bad');
      const message = conditionOf(site, 'Ready')?.message ?? '';
      const volume = await folderOf(cluster, namespace, 'bench-sites');
      const backup = /private\/upgrades\/\S+?(?=[\s;:,)]|\.?$)/.exec(message)?.[0];
      assert.ok(backup, `the message names the backup: ${message}`);
      const dump = gunzipSync(await readFile(path.join(volume, bad.host, backup)));
      assert.ok(dump.includes('row of bad'), 'the backup has the data');
      await isClosed(bad);

      const { status } = site;
      const { name: database } = status?.['database'] as { readonly name: string };
      await sql(cluster, place, `UPDATE \`${database}\`.tabToDo SET status = 'Open'`);
      await upgraded('bad');
      await bad.answers();
      assert.equal(await bad.remembers('row of bad'), 1);
      assert.equal(await versionOf(bad), TAGS.to);
      await cluster.ready('AppBench', namespace, 'bench');
      await cluster.delete('Namespace', '', namespace);
    });

    test('putting the version before back recovers a site whose migration has failed', async () => {
      const { place, users } = await make({ bad: {} });
      const { namespace } = place;
      const { bad } = users;
      assert.ok(bad);
      assert.equal(await bad.store({ description: 'odd', status: UNKNOWN }), 200);
      await bring(place, TAGS.to);
      await failed(place, 'bad');
      await isClosed(bad);
      const begun = performance.now();
      await bring(place, TAGS.from);
      await cluster.becomes('AppSite', namespace, 'bad', {
        what: 'is back',
        check: isOf(TAGS.from),
        timeoutMs: UPGRADED_MS,
      });
      await bad.answers();
      cluster.figures.add(
        'version before put back: until the site answers',
        seconds(performance.now() - begun),
      );
      assert.equal(await versionOf(bad), TAGS.from);
      assert.deepEqual([await bad.remembers('row of bad'), await bad.remembers('odd')], [1, 1]);
      await cluster.delete('Namespace', '', namespace);
    });

    /** The responses of the lost requests of each site, without accepted losses. */
    async function underLoad(
      { namespace }: Place,
      users: readonly SiteUser[],
      work: () => Promise<unknown>,
    ): Promise<Readonly<Record<string, number>>[]> {
      const running = work();
      const loads = await Promise.all(
        users.map((user) => cluster.load(namespace, 'bench', user.host, () => running)),
      );
      for (const [index, { sent, lost }] of loads.entries()) {
        const name = users[index]?.site ?? '';
        cluster.figures.add(
          `requests answered with 503 while ${name} was upgraded`,
          `${lost} of ${sent}`,
        );
      }
      return loads.map((load, index) =>
        cluster.forgives(`upgrade of ${users[index]?.site ?? ''}`, load) ? {} : load.failures,
      );
    }
  },
);
