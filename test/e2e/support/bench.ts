import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';

import { at, type Live, type Manifest } from '../../cluster/support/objects.js';
import { FRAMEWORK_IMAGE, FRAPPE_VERSION, standInMethod, TAGS } from '../framework.js';
import type { E2e } from '../harness.js';
import { sql as serverSql } from './database-client.js';

const API = 'app-operator.io/v1alpha1';

/** Part of a spec: no more workers than a test needs. */
export const ONE_QUEUE = { componentReplicas: { workerShort: 0, workerLong: 0 } } as const;

/** A bench of the framework's first image; `spec` wins. */
export function benchOf(name: string, spec: Readonly<Record<string, unknown>> = {}): Manifest {
  return {
    apiVersion: API,
    kind: 'AppBench',
    metadata: { name },
    spec: { frameworkVersion: `version-${FRAPPE_VERSION}`, image: { tag: TAGS.bench }, ...spec },
  };
}

/** A site at `<name>.example.com`, Dedicated by default. */
export function siteOf(
  bench: string,
  name: string,
  spec: Readonly<Record<string, unknown>> = {},
): Manifest {
  return {
    apiVersion: API,
    kind: 'AppSite',
    metadata: { name },
    spec: { benchRef: { name: bench }, siteName: `${name}.example.com`, ...spec },
  };
}

export interface Place {
  readonly namespace: string;
  readonly bench: string;
}

/** A site as its users have it: through `<bench>-nginx`, logged in as Administrator. */
export class SiteUser {
  readonly host: string;
  #cookie: Promise<string> | undefined;

  constructor(
    private readonly cluster: E2e,
    readonly place: Place,
    readonly site: string,
  ) {
    this.host = `${site}.example.com`;
  }

  /** Status of `/api/method/ping`, or the error's code. */
  async ping(timeoutMs = 30_000): Promise<number | string> {
    try {
      return (await this.#request('/api/method/ping', { timeoutMs })).status;
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
  }

  /** Waits for an answer of the site. */
  async answers(timeoutMs = 180_000): Promise<void> {
    await this.cluster.until(
      `${this.host} answers`,
      async () => {
        const status = await this.ping(5_000);
        if (status !== 200) throw new Error(`ping gets ${status}`);
        return true;
      },
      timeoutMs,
    );
  }

  /** The status that a login with this password gets. */
  async login(password: string): Promise<number> {
    return (await this.#login(password)).status;
  }

  /** Stores a row in the site's database. */
  async remember(text: string): Promise<void> {
    assert.equal(await this.store({ description: text }), 200, `${this.host} stores a row`);
  }

  /** Stores a ToDo, and returns the answer's status. */
  async store(todo: Readonly<Record<string, string>>): Promise<number> {
    return (await this.#logged('/api/resource/ToDo', todo)).status;
  }

  /** How many rows have this text. */
  async remembers(text: string): Promise<number> {
    const filters = encodeURIComponent(JSON.stringify({ description: text }));
    const query = `filters=${filters}&limit_page_length=1000`;
    const { status, body } = await this.#logged(`/api/resource/ToDo?${query}`);
    assert.equal(status, 200, `${this.host} lists its rows: ${body.slice(0, 300)}`);
    return (JSON.parse(body) as { data: unknown[] }).data.length;
  }

  /** Enqueues a job that stores a row; returns the status of the answer. */
  async enqueue(text: string, queue = 'default'): Promise<number> {
    if (!FRAMEWORK_IMAGE) return this.enqueueSlow(text, 0, queue);
    const { namespace } = this.place;
    const pods = lasting(await this.cluster.pods(namespace));
    const pod = pods.find(({ metadata: { labels } }) =>
      [`${this.site}-gunicorn`, `${this.place.bench}-gunicorn`].includes(labels?.['app'] ?? ''),
    );
    const doc = { doctype: 'ToDo', description: text };
    const kwargs = JSON.stringify({ method: 'frappe.client.insert', queue, doc });
    const command = ['bench', '--site', this.host, 'execute', 'frappe.enqueue'];
    const name = pod?.metadata.name ?? '';
    const done = this.cluster.exec(namespace, name, [...command, '--kwargs', kwargs]);
    // It fails where a request would.
    return done.then(
      () => 200,
      () => 500,
    );
  }

  /** As `enqueue`, with a job that takes so many seconds; of the stand-in only. */
  async enqueueSlow(text: string, seconds: number, queue = 'default'): Promise<number> {
    const { status } = await this.#logged(standInMethod('enqueue'), {
      method: 'frappe.tests.e2e.slow_todo',
      queue,
      description: text,
      seconds,
    });
    return status;
  }

  /** Waits for the rows that jobs store, and refuses more than one of each. */
  async stored(texts: readonly string[], timeoutMs = 180_000): Promise<void> {
    for (const text of texts) {
      await this.cluster.until(
        `the job ${text} of ${this.host} to be done once`,
        async () => {
          const found = await this.remembers(text);
          if (found !== 1) throw new Error(`it is stored ${found} times`);
          return true;
        },
        timeoutMs,
      );
    }
  }

  /** Uploads a file, and returns its status and URL. */
  async upload(
    name: string,
    content: string,
    isPrivate = true,
  ): Promise<{ status: number; url: string }> {
    const boundary = 'app-operator-boundary';
    const part = (head: string, text: string): string =>
      `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
    const body =
      part('name="is_private"', isPrivate ? '1' : '0') +
      part(`name="file"; filename="${name}"`, content) +
      `--${boundary}--\r\n`;
    const answer = await this.#request('/api/method/upload_file', {
      method: 'POST',
      body,
      headers: {
        'content-type': `multipart/form-data; boundary=${boundary}`,
        cookie: await this.cookie(),
      },
    });
    const { message } = (answer.status === 200 ? JSON.parse(answer.body) : {}) as {
      message?: { file_url?: string };
    };
    return { status: answer.status, url: message?.file_url ?? '' };
  }

  /** The response to a user who is logged in. */
  async read(path: string): Promise<{ status: number; body: string }> {
    return this.#request(path, { headers: { cookie: await this.cookie() } });
  }

  /** A session, which outlives the loss of any pod but not of the database. */
  async cookie(): Promise<string> {
    this.#cookie ??= this.#session();
    return this.#cookie.catch((error: unknown) => {
      this.#cookie = undefined;
      throw error;
    });
  }

  async #session(): Promise<string> {
    const secret = `${this.site}-admin-password`;
    const { status, cookie } = await this.#login(
      await secretValue(this.cluster, this.place.namespace, secret, 'password'),
    );
    assert.equal(status, 200, `Administrator logs in at ${this.host}`);
    return cookie;
  }

  async #login(password: string): Promise<{ status: number; cookie: string }> {
    const form = new URLSearchParams({ usr: 'Administrator', pwd: password });
    const { status, headers } = await this.#request('/api/method/login', {
      method: 'POST',
      body: form.toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const sid = (headers['set-cookie'] ?? []).find((cookie) => cookie.startsWith('sid='));
    return { status, cookie: (sid ?? '').split(';')[0] ?? '' };
  }

  async #logged(path: string, body?: object) {
    const cookie = await this.cookie();
    return body
      ? this.#request(path, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { cookie, 'content-type': 'application/json' },
        })
      : this.#request(path, { headers: { cookie } });
  }

  #request(path: string, options: Parameters<E2e['request']>[3]) {
    const { namespace, bench } = this.place;
    return this.cluster.request(namespace, bench, { host: this.host, path }, options);
  }
}

export interface Made {
  readonly place: Place;
  /** Of the sites, by their names. */
  readonly users: Readonly<Record<string, SiteUser>>;
}

/** Makes a bench in a new namespace, with sites that have stored a row each: `row of <site>`. */
export async function makeBench(
  cluster: E2e,
  bench: Readonly<Record<string, unknown>>,
  sites: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Promise<Made> {
  const namespace = await cluster.namespace();
  const place = { namespace, bench: 'bench' };
  const names = Object.keys(sites);
  await cluster.apply(
    namespace,
    benchOf('bench', { ...ONE_QUEUE, ...bench }),
    ...names.map((name) => siteOf('bench', name, { ...ONE_QUEUE, ...sites[name] })),
  );
  const users: Record<string, SiteUser> = {};
  for (const name of names) {
    await cluster.ready('AppSite', namespace, name);
    const user = new SiteUser(cluster, place, name);
    await user.answers();
    await user.remember(`row of ${name}`);
    users[name] = user;
  }
  return { place, users };
}

/** A new password, of 24 characters that need no quotes. */
export function newPassword(): string {
  return randomBytes(18).toString('base64url');
}

/** A value of a Secret, decoded. */
export async function secretValue(
  cluster: E2e,
  namespace: string,
  name: string,
  key: string,
): Promise<string> {
  const { data } = await cluster.the('Secret', namespace, name);
  const value = data?.[key];
  assert.ok(value, `Secret ${name} has ${key}`);
  return Buffer.from(value, 'base64').toString();
}

/**
 * Runs SQL as the administrator of a bench's own MariaDB, and returns its rows, cells split by
 * tabs.
 */
export async function sql(
  cluster: E2e,
  { namespace, bench }: Place,
  text: string,
): Promise<string[]> {
  return serverSql(cluster, { namespace, pod: `${bench}-db-0`, provider: 'mariadb' }, text);
}

/** The folder of a PersistentVolumeClaim's volume on this machine. */
export async function folderOf(cluster: E2e, namespace: string, pvc: string): Promise<string> {
  const { spec } = await cluster.the('PersistentVolumeClaim', namespace, pvc);
  return cluster.node.volumeDirectory(String(spec?.['volumeName']));
}

/** Pods without those of Jobs and without terminating ones. */
export function lasting(pods: readonly Live[]): Live[] {
  return pods.filter(
    ({ metadata }) => !metadata.labels?.['job-name'] && !metadata.deletionTimestamp,
  );
}

export function isReady(pod: Live): boolean {
  const conditions = (at(pod, 'status.conditions') ?? []) as { type: string; status: string }[];
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}
