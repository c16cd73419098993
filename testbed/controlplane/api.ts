import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

import { patience } from '../timeouts.js';
import type { Credential } from './certificate.js';

const POLL_MS = 50;

/** A Kubernetes object as JSON; the control plane's own code looks into few of its fields. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** The API server answered with a failure. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    what: string,
    body: string,
  ) {
    super(`${what}: ${status} ${body.slice(0, 1_000)}`);
    this.name = 'ApiError';
  }
}

/** The answer to a request, or undefined where there is nothing at its path. */
export async function orGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** A minimal client, as the administrator, for what the harness itself does. */
export class Api {
  readonly #agent: Agent;
  #closed = false;

  constructor(
    private readonly server: string,
    authorityPem: string,
    { certificatePem, keyPem }: Credential,
  ) {
    this.#agent = new Agent({
      ca: authorityPem,
      cert: certificatePem,
      key: keyPem,
      keepAlive: true,
      // The API server closes idle connections after 90 s: ours go first, so none is found dead.
      timeout: 60_000,
      maxSockets: 8,
    });
  }

  /** One request; the body is sent and the answer parsed as JSON. */
  async request(
    method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<unknown> {
    const text = await this.text(method, path, body, contentType);
    return JSON.parse(text) as unknown;
  }

  /** One request, with the answer as it comes. */
  text(method: string, path: string, body?: unknown, contentType?: string): Promise<string> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        new URL(path, this.server),
        {
          method,
          agent: this.#agent,
          headers: {
            accept: 'application/json',
            'user-agent': 'app-operator-controlplane',
            // Node sends no length of its own with a DELETE.
            ...(text === undefined
              ? {}
              : {
                  'content-type': contentType ?? 'application/json',
                  'content-length': Buffer.byteLength(text),
                }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () => {
            const answer = Buffer.concat(chunks).toString();
            const status = response.statusCode ?? 0;
            if (status >= 200 && status < 300) resolve(answer);
            else reject(new ApiError(status, `${method} ${path}`, answer));
          });
        },
      );
      sent.once('error', reject);
      sent.end(text);
    });
  }

  /** Creates an object at its collection's path, unless it exists. */
  async ensure(collection: string, object: KubernetesObject): Promise<void> {
    try {
      await this.request('POST', collection, object);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
    }
  }

  /** Creates an object, or brings the existing one to this state. */
  async apply(collection: string, object: KubernetesObject): Promise<void> {
    const path = `${collection}/${object.metadata.name}?fieldManager=controlplane&force=true`;
    await this.request('PATCH', path, object, 'application/apply-patch+yaml');
  }

  mergePatch(path: string, patch: unknown): Promise<unknown> {
    return this.request('PATCH', path, patch, 'application/merge-patch+json');
  }

  /** Asks until `check` is true; its failures count as false until the time is over. */
  async until(what: string, check: () => Promise<boolean>, timeoutMs = 180_000): Promise<void> {
    const isOver = patience(timeoutMs);
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

  /** Closes the connections that are kept for reuse, and ends all waiting. */
  close(): void {
    this.#closed = true;
    this.#agent.destroy();
  }
}
