import { type Client, MERGE_PATCH } from '../../runner/api/client.js';
import { isNotFound } from '../../runner/api/api-error.js';
import type { Random } from './random-choice.js';

const GROUP = 'app-operator.io/v1alpha1';
const API = `/apis/${GROUP}/namespaces/default`;
const CORE = '/api/v1/namespaces/default';
const APPS = '/apis/apps/v1/namespaces/default';
const NO_WORKERS = { workerDefault: 0, workerShort: 0, workerLong: 0 };
/** Sites of one bench. */
const SITES_PER_BENCH = 100;

type Change = (name: string) => Promise<unknown>;

/** A user who creates, changes and deletes sites and their objects. */
export class Tenant {
  readonly sites = new Set<string>();
  readonly #benches: readonly string[];
  #made = 0;
  changes = 0;

  constructor(
    private readonly client: Client,
    private readonly random: Random,
    private readonly count: number,
  ) {
    const benches = Math.ceil(count / SITES_PER_BENCH);
    this.#benches = Array.from({ length: benches }, (_, index) => `bench-${index}`);
  }

  async createAll(): Promise<void> {
    for (const bench of this.#benches) await this.#apply('appbenchs', 'AppBench', bench, BENCH);
    await this.fill();
  }

  /** Creates sites until there are as many as at first, and deletes those beyond. */
  async fill(): Promise<void> {
    while (this.sites.size < this.count) await this.#create();
    while (this.sites.size > this.count) await this.#delete(this.#any());
    for (const name of this.sites) await this.#patch(name, { paused: false });
    for (const { metadata } of await this.#list(`${API}/sitejobs`)) {
      await this.#remove(`${API}/sitejobs/${metadata.name}`);
    }
  }

  /** One random change. */
  async change(): Promise<void> {
    this.changes += 1;
    const { below, one } = this.random;
    const kinds: readonly [Change, ...Change[]] = [
      () => (this.sites.size < this.count * 1.1 ? this.#create() : Promise.resolve()),
      (name) => (this.sites.size > this.count * 0.9 ? this.#delete(name) : Promise.resolve()),
      (name) => this.#patch(name, { componentReplicas: { gunicorn: 1 + below(2) } }),
      (name) => this.#patch(name, { ingress: { enabled: below(2) === 0 } }),
      (name) => this.#patch(name, { maintenance: below(4) === 0 }),
      (name) => this.#patch(name, { paused: below(3) === 0 }),
      (name) => this.#job(name),
      (name) => this.#remove(`${APPS}/deployments/${name}-${one(['gunicorn', 'scheduler'])}`),
      (name) => this.#remove(`${CORE}/services/${name}-gunicorn`),
      (name) =>
        this.#merge(`${CORE}/services/${name}-gunicorn`, {
          metadata: { labels: { 'app.kubernetes.io/component': 'x' } },
        }),
      () =>
        this.#merge(`${API}/appbenchs/${one(this.#benches as [string, ...string[]])}`, {
          spec: { componentReplicas: { nginx: 1 + below(2) } },
        }),
    ];
    await one(kinds)(this.#any());
  }

  #any(): string {
    const names = [...this.sites];
    return names[this.random.below(names.length)] ?? '';
  }

  async #create(): Promise<void> {
    const name = `site-${this.#made++}`;
    const bench = this.#benches[this.#made % this.#benches.length] ?? '';
    this.sites.add(name);
    await this.#apply('appsites', 'AppSite', name, {
      benchRef: { name: bench },
      siteName: `${name}.example.com`,
      deletionPolicy: 'Delete',
      workloads: this.random.one(['Shared', 'Shared', 'Dedicated']),
      componentReplicas: NO_WORKERS,
    });
  }

  async #delete(name: string): Promise<void> {
    this.sites.delete(name);
    // A paused site is not deleted.
    await this.#patch(name, { paused: false });
    await this.#remove(`${API}/appsites/${name}`);
  }

  async #job(site: string): Promise<void> {
    const name = `job-${this.changes}`;
    await this.#apply('sitejobs', 'SiteJob', name, {
      siteRef: { name: site },
      method: 'frappe.ping',
    });
  }

  async #apply(plural: string, kind: string, name: string, spec: unknown): Promise<void> {
    const object = { apiVersion: GROUP, kind, metadata: { name, namespace: 'default' }, spec };
    await this.client.apply(`${API}/${plural}/${name}`, object, 'soak');
  }

  #patch(site: string, spec: unknown): Promise<void> {
    return this.#merge(`${API}/appsites/${site}`, { spec });
  }

  async #merge(path: string, body: unknown): Promise<void> {
    await ifExists(this.client.request('PATCH', path, { contentType: MERGE_PATCH, body }));
  }

  async #remove(path: string): Promise<void> {
    const query = { propagationPolicy: 'Background' };
    await ifExists(this.client.request('DELETE', path, { query }));
  }

  async #list(path: string): Promise<readonly { readonly metadata: { readonly name: string } }[]> {
    interface List {
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    }
    return (await this.client.request<List>('GET', path)).items;
  }
}

const BENCH = {
  frameworkVersion: 'version-15',
  componentReplicas: NO_WORKERS,
};

async function ifExists(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
