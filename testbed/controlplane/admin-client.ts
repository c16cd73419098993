import { setTimeout as sleep } from 'node:timers/promises';

import type { KubeObject } from '../../constructs/kit/object.js';
import { isAlreadyExists, isNotFound } from '../../runner/api/api-error.js';
import {
  type Client,
  createClient,
  MERGE_PATCH,
  type Method,
  type Query,
  type WatchEvent,
} from '../../runner/api/client.js';
import { fixed } from '../../runner/api/credentials.js';
import { listAll } from '../../runner/api/list.js';
import { deadline } from '../timeouts.js';
import type { Credential } from './certificate.js';

const POLL_MS = 50;
const FIELD_MANAGER = 'controlplane';
const REQUEST_TIMEOUT_MS = 120_000;

/** A Kubernetes object as JSON. */
export interface KubernetesObject extends KubeObject {
  readonly [field: string]: unknown;
}

/** The response to a request, or undefined where the object does not exist. */
export async function ifExists<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The operator's client as the administrator, with what the testbed needs besides. */
export class AdminClient {
  readonly #client: Client;
  #closed = false;

  constructor(server: string, authorityPem: string, { certificatePem, keyPem }: Credential) {
    const tls = {
      ca: Buffer.from(authorityPem),
      cert: Buffer.from(certificatePem),
      key: Buffer.from(keyPem),
    };
    // Otherwise the API server would name the operator as the manager of these writes.
    const headers = { 'user-agent': 'testbed' };
    const credentials = fixed({ endpoint: { server, tls }, headers });
    this.#client = createClient({ credentials, connections: 8 });
  }

  /** One request; the body is sent and the response parsed as JSON. */
  request(
    method: Method,
    path: string,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<unknown> {
    return this.#client.request(method, path, { body, contentType, timeoutMs: REQUEST_TIMEOUT_MS });
  }

  /** What a path returns for this `Accept`. */
  get(path: string, accept: string): Promise<unknown> {
    return this.#client.request('GET', path, { accept, timeoutMs: REQUEST_TIMEOUT_MS });
  }

  /** The metadata of all objects of a collection. */
  async listMetadata(path: string): Promise<readonly KubeObject[]> {
    return (await listAll(this.#client, path, { metadataOnly: true })).items;
  }

  /** The events of a watch until the server ends it, as the operator's client has them. */
  watch(path: string, query: Query, signal: AbortSignal): AsyncIterable<WatchEvent> {
    return this.#client.watch(path, query, { signal, idleTimeoutMs: REQUEST_TIMEOUT_MS });
  }

  /** The text of a response that is not JSON, such as a log. */
  text(path: string): Promise<string> {
    return this.#client.request('GET', path, { answer: 'text', accept: '*/*' });
  }

  /** Creates an object at its collection's path, unless it exists. */
  async ensure(collection: string, object: KubernetesObject): Promise<void> {
    try {
      await this.request('POST', collection, object);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /** Applies an object on the server side; conflicts are forced. */
  async apply(collection: string, object: KubernetesObject): Promise<void> {
    await this.#client.apply(`${collection}/${object.metadata.name}`, object, FIELD_MANAGER);
  }

  mergePatch(path: string, patch: unknown): Promise<unknown> {
    return this.request('PATCH', path, patch, MERGE_PATCH);
  }

  /** Polls until `check` is true; an error of `check` counts as false until the timeout. */
  async until(what: string, check: () => Promise<boolean>, timeoutMs = 180_000): Promise<void> {
    const isOver = deadline(timeoutMs);
    for (;;) {
      let last: unknown;
      try {
        if (await check()) return;
      } catch (error) {
        last = error;
      }
      if (this.#closed) throw new Error(`stopped waiting for ${what}`, { cause: last });
      if (isOver()) {
        const seconds = timeoutMs / 1_000;
        throw new Error(`timed out after ${seconds} s waiting for ${what}`, { cause: last });
      }
      await sleep(POLL_MS);
    }
  }

  /** Ends all waiting, and closes the connections after the requests in flight. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#client.close();
  }
}
