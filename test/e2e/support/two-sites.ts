import assert from 'node:assert/strict';

import { seconds } from '../../support/figures.js';
import type { E2e } from '../harness.js';
import { benchOf, ONE_QUEUE, type Place, siteOf, SiteUser } from './bench.js';

/** How long a recovery should take at most. */
const AIM_MS = 60_000;

/**
 * A bench with a Dedicated site `shop` and a Shared one `blog`, and what was stored in both so far.
 */
export class TwoSites {
  readonly shop: SiteUser;
  readonly blog: SiteUser;
  readonly place: Place;
  /** Descriptions of rows that each site has to have once, until the end. */
  readonly #stored: string[] = [];

  private constructor(
    private readonly cluster: E2e,
    readonly namespace: string,
  ) {
    this.place = { namespace, bench: 'bench' };
    this.shop = new SiteUser(cluster, this.place, 'shop');
    this.blog = new SiteUser(cluster, this.place, 'blog');
  }

  /** Makes them in a namespace of their own; `spec` is the bench's. */
  static async make(cluster: E2e, spec: Readonly<Record<string, unknown>> = {}): Promise<TwoSites> {
    const made = new TwoSites(cluster, await cluster.namespace());
    await cluster.apply(
      made.namespace,
      benchOf('bench', { ...ONE_QUEUE, ...spec }),
      siteOf('bench', 'shop', ONE_QUEUE),
      siteOf('bench', 'blog', { workloads: 'Shared' }),
    );
    await made.ready();
    return made;
  }

  get users(): readonly SiteUser[] {
    return [this.shop, this.blog];
  }

  /** Waits until bench and sites are Ready, and both sites answer. */
  async ready(): Promise<void> {
    await this.cluster.ready('AppBench', this.namespace, 'bench');
    await Promise.all(
      this.users.map(({ site }) => this.cluster.ready('AppSite', this.namespace, site)),
    );
    await this.answer();
  }

  async answer(): Promise<void> {
    await Promise.all(this.users.map((user) => user.answers()));
  }

  /** Stores a row in each site and has a job store another, and waits until each is there once. */
  async use(what: string): Promise<void> {
    await this.#store(what);
    await this.#settled();
  }

  /** Waits until both sites answer, store and work. */
  async works(what: string): Promise<void> {
    await this.answer();
    // What failed halfway has stored some rows: the next attempt stores others.
    let attempt = 0;
    await this.cluster.until(`the sites to store after: ${what}`, async () => {
      attempt += 1;
      await this.#store(`after ${what}, attempt ${attempt}`);
      return true;
    });
    await this.#settled();
  }

  async #store(what: string): Promise<void> {
    const [row, job] = [`row ${what}`, `job ${what}`];
    for (const user of this.users) {
      await user.remember(row);
      assert.equal(await user.enqueue(job), 200, `a job of ${user.host} is enqueued`);
    }
    this.#stored.push(row, job);
  }

  async #settled(): Promise<void> {
    await Promise.all(this.users.map((user) => user.stored(this.#stored.slice(-2))));
  }

  /**
   * Waits until Redis has written what it has accepted: on a slow disk it does so up to two seconds
   * later.
   */
  async queueIsWritten(): Promise<void> {
    const info = 'REDISCLI_AUTH=$REDIS_PASSWORD exec redis-cli -p 6380 INFO persistence';
    await this.cluster.until('the queue to be written', async () => {
      const output = await this.cluster.exec(this.namespace, 'bench-redis-0', ['sh', '-c', info], {
        container: 'queue',
      });
      return (
        /^aof_buffer_length:0\r?$/m.test(output) && /^aof_pending_bio_fsync:0\r?$/m.test(output)
      );
    });
  }

  /** Gives `shop` so many workers; resolves when it has none, where it is to have none. */
  async workers(count: 0 | 1): Promise<void> {
    const spec = { componentReplicas: { workerDefault: count } };
    await this.cluster.patch('AppSite', this.namespace, 'shop', { spec });
    if (count > 0) return;
    await this.cluster.until('the worker to be deleted', async () => {
      const pods = await this.cluster.pods(this.namespace, 'app=shop-worker-default');
      return pods.length === 0;
    });
  }

  /** Does something bad and waits for the recovery, as `recovery` does. */
  async recovers(
    what: string,
    fault: () => Promise<void>,
    recovered: () => Promise<void>,
  ): Promise<void> {
    // A job that runs in this moment fails, and the framework does not repeat it; so none does.
    await this.use(`before ${what}`);
    await this.queueIsWritten();
    await this.recovery(what, async () => {
      await fault();
      await recovered();
    });
  }

  /**
   * Adds to the table how long it takes until both sites work again; all that was stored is there,
   * once.
   */
  async recovery(what: string, begins: () => Promise<unknown>): Promise<void> {
    const begun = performance.now();
    await begins();
    await this.works(what);
    const took = performance.now() - begun;
    const missed = took > AIM_MS ? ` (aim ${seconds(AIM_MS)}: missed)` : '';
    this.cluster.figures.add(`recovery: ${what}`, `${seconds(took)}${missed}`);
    await Promise.all(this.users.map((user) => user.stored(this.#stored)));
  }

  /** Runs `work` under load of both sites: no request may be lost. */
  async withoutLoss(
    what: string,
    work: () => Promise<unknown>,
    users: readonly SiteUser[] = this.users,
  ): Promise<void> {
    const begun = performance.now();
    const running = new Promise<void>((resolve, reject) => {
      // Once the first requests are under way.
      setTimeout(() => void work().then(() => resolve(), reject), 1_000);
    });
    const { namespace, bench } = this.place;
    const loads = await Promise.all(
      users.map((user) => this.cluster.load(namespace, bench, user.host, () => running)),
    );
    const took = seconds(performance.now() - begun);
    const sent = loads.reduce((sum, load) => sum + load.sent, 0);
    const lost = loads.reduce((sum, load) => sum + load.lost, 0);
    const repeated = loads.reduce((sum, load) => sum + load.repeated, 0);
    const again = repeated > 0 ? `, ${repeated} sent again` : '';
    this.cluster.figures.add(`requests lost: ${what}`, `${lost} of ${sent} in ${took}${again}`);
    const failed = loads.filter((load) => load.lost > 0 && !this.cluster.forgives(what, load));
    assert.deepEqual(
      failed.map(({ failures }) => failures),
      [],
    );
  }
}
