import assert from 'node:assert/strict';
import { statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';

import { at } from '../cluster/support/objects.js';
import { type E2e, e2e, skip } from './harness.js';
import { folderOf, type SiteUser } from './support/bench.js';
import { TwoSites } from './support/two-sites.js';

/** Volumes that can be full, and grow. */
const LIMITED = { className: 'limited' };
const SMALL = {
  storage: { ...LIMITED, size: '96Mi' },
  dbConfig: { storage: { ...LIMITED, size: '400Mi' } },
  redisConfig: { storage: { ...LIMITED, size: '32Mi' } },
};
const MEBIBYTE = 1_048_576;

suite('full volumes', { skip }, () => {
  let cluster: E2e;
  let sites: TwoSites;
  let shop: SiteUser;
  let blog: SiteUser;

  before(async () => {
    cluster = await e2e();
    sites = await TwoSites.make(cluster, SMALL);
    ({ shop, blog } = sites);
  });

  after(async () => {
    await cluster.delete('Namespace', '', sites.namespace);
  });

  test('of the sites: files are refused, requests are not, and the spec gives it more room', async () => {
    const file = 'x'.repeat(5_000_000);
    await sites.use('before the volume of the sites was full');
    await fill('bench-sites');
    assert.notEqual((await shop.upload('large.txt', file)).status, 200, 'there is no room');
    assert.deepEqual([await shop.ping(), await blog.ping()], [200, 200]);
    await sites.recovery('the volume of the sites grows', () =>
      grow({ storage: { size: '160Mi' } }, 'bench-sites', '160Mi'),
    );
    const uploaded = await shop.upload('large.txt', file);
    assert.equal(uploaded.status, 200);
    assert.equal((await shop.read(uploaded.url)).body.length, file.length);
  });

  test('of the queue: new jobs are refused, waiting jobs run', async () => {
    const taken: string[] = [];
    await sites.use('before the volume of the queue was full');
    // One that a worker has taken off the queue in this moment is lost: rq has no way back for it.
    await sites.workers(0);
    // Redis refuses jobs as soon as it cannot write: this may be the only one that it takes.
    assert.equal(await shop.enqueue('taken 0'), 200);
    taken.push('taken 0');
    await fill('bench-redis-data');
    await cluster.until('jobs to be refused', async () => {
      const job = `taken ${taken.length}`;
      const status = await shop.enqueue(job);
      if (status === 200) taken.push(job);
      return status !== 200;
    });
    assert.equal(await shop.ping(), 200);
    await sites.recovery('the volume of the queue grows', async () => {
      await grow({ redisConfig: { storage: { size: '64Mi' } } }, 'bench-redis-data', '64Mi');
      await sites.workers(1);
    });
    await shop.stored(taken);
  });

  test('of the database: rows wait or are refused, stored rows stay', async () => {
    const taken: string[] = [];
    await sites.use('before the volume of the database was full');
    await fill('bench-db-data');
    await cluster.until(
      'rows to be refused',
      async () => {
        const row = `${'y'.repeat(900_000)} ${taken.length}`;
        const stored = await shop.store({ description: row }).catch(() => 0);
        if (stored === 200) taken.push(row);
        return stored !== 200;
      },
      90_000,
    );
    await sites.recovery('the volume of the database grows', () =>
      grow({ dbConfig: { storage: { size: '600Mi' } } }, 'bench-db-data', '600Mi'),
    );
    // They are too long for single requests.
    const fields = encodeURIComponent('["description"]');
    const rows = await shop.read(`/api/resource/ToDo?fields=${fields}&limit_page_length=1000`);
    assert.equal(rows.status, 200);
    const { data } = JSON.parse(rows.body) as { data: readonly { description: string }[] };
    for (const row of taken) {
      const found = data.filter(({ description }) => description === row);
      assert.equal(found.length, 1, `the row ${row.slice(-4)}`);
    }
  });

  /** Fills the volume of a PersistentVolumeClaim. */
  async function fill(pvc: string): Promise<void> {
    const folder = await folderOf(cluster, sites.namespace, pvc);
    const filler = path.join(folder, 'filler');
    for (;;) {
      const { bavail, bsize } = await statfs(folder);
      const free = bavail * bsize;
      if (free === 0) return;
      await writeFile(filler, Buffer.alloc(Math.min(free, MEBIBYTE), 1), { flag: 'a' }).catch(
        (error: unknown) => {
          // The pod has taken some of it meanwhile: what is free is looked at again.
          if ((error as { readonly code?: string }).code !== 'ENOSPC') throw error;
        },
      );
    }
  }

  /** As the user does who has seen it: more room in the spec. */
  async function grow(spec: object, pvc: string, size: string): Promise<void> {
    const { namespace } = sites;
    await cluster.patch('AppBench', namespace, 'bench', { spec });
    await cluster.becomes('PersistentVolumeClaim', namespace, pvc, {
      what: 'has grown',
      check: (object) => {
        return at(object, 'status.capacity.storage') === size;
      },
    });
  }
});
