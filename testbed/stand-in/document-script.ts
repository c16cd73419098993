/**
 * A stand-in of `site_documents.py` for simulated pods: writes the results that the real script
 * writes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

import type { DocumentOutcome, SiteDocument } from '../../constructs/kit/document.js';
import { ApiError } from '../../runner/api/api-error.js';
import type { AdminClient } from '../controlplane/admin-client.js';

/** A document as the script reads it. */
export type WrittenDocument = Omit<SiteDocument, 'secrets'> & {
  readonly id: string;
  readonly secrets: readonly string[];
};

export type Answer = readonly [DocumentOutcome, string?, (readonly string[])?];

interface Pod {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly containers: readonly { readonly name: string }[] };
  readonly status?: { readonly phase?: string };
}

/**
 * Labels of the pods that a test has to hold with `holdPods`, so that only this script ends them.
 */
export const DOCUMENT_PODS = { 'app.kubernetes.io/component': 'documents' } as const;

/** Processes the document batches of all sites, and records them. */
export class DocumentScript {
  /** The processed batches, in order. */
  readonly batches: (readonly WrittenDocument[])[] = [];
  /** Namespaces whose Jobs get no result for now. */
  readonly silent = new Set<string>();
  /** Names of documents that make their Job fail, with its termination message. */
  readonly breaking = new Map<string, string>();
  /** The batches of failed Jobs. */
  readonly broken: (readonly WrittenDocument[])[] = [];
  /** Namespaces whose Jobs succeed without a termination message. */
  readonly speechless = new Set<string>();
  readonly #stop = new AbortController();
  readonly #answered = new Set<string>();
  readonly #done: Promise<void>;

  constructor(
    private readonly api: AdminClient,
    private readonly answer: (document: WrittenDocument) => Answer,
    /** Duration of a batch in milliseconds, by its number of documents. */
    private readonly takes: (documents: number) => number = () => 0,
    /** Time between two looks at the pods in milliseconds. */
    private readonly pollMs = 50,
  ) {
    this.#done = this.#run().catch((error: unknown) => {
      if (!this.#stop.signal.aborted) throw error;
    });
  }

  /** Every processed document, in order. */
  get written(): readonly WrittenDocument[] {
    return this.batches.flat();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const query = new URLSearchParams({
        labelSelector: 'app.kubernetes.io/component=documents',
      });
      const { items } = (await this.#request('GET', `/api/v1/pods?${query.toString()}`)) as {
        readonly items: readonly Pod[];
      };
      const waiting = items.filter(
        ({ metadata, status }) =>
          status?.phase === 'Running' &&
          !this.silent.has(metadata.namespace) &&
          !this.#answered.has(`${metadata.namespace}/${metadata.name}`),
      );
      // A pod may have been deleted meanwhile.
      void Promise.allSettled(waiting.map((pod) => this.#finish(pod)));
      await sleep(this.pollMs);
    }
  }

  /** Retries while the API server does not answer, or answers 429 or more. */
  async #request(method: 'GET' | 'PATCH', path: string, body?: unknown): Promise<unknown> {
    for (;;) {
      try {
        return await this.api.request(method, path, body, 'application/merge-patch+json');
      } catch (error) {
        const answered = error instanceof ApiError && error.status < 429;
        if (answered || this.#stop.signal.aborted) throw error;
        await sleep(50);
      }
    }
  }

  async #finish({ metadata, spec }: Pod): Promise<void> {
    const { namespace, name, labels } = metadata;
    this.#answered.add(`${namespace}/${name}`);
    const map = (await this.#request(
      'GET',
      `/api/v1/namespaces/${namespace}/configmaps/${labels['app'] ?? ''}`,
    )) as { readonly data: Readonly<Record<string, string>> };
    const { documents } = JSON.parse(map.data['documents.json'] ?? '{}') as {
      readonly documents: readonly WrittenDocument[];
    };
    const failure = documents
      .map((document) => this.breaking.get(document.name))
      .find((message) => message !== undefined);
    if (failure !== undefined) {
      this.broken.push(documents);
      await this.#end(metadata, spec, 137, failure);
      return;
    }
    const outcomes = documents.map((document) => {
      const [outcome, message = '', ignored = []] = this.answer(document);
      return [document.id, [outcome, message, ignored]] as const;
    });
    await sleep(this.takes(documents.length));
    const results = packed(JSON.stringify({ results: Object.fromEntries(outcomes) }));
    this.batches.push(documents);
    await this.#end(metadata, spec, 0, this.speechless.has(namespace) ? '' : results);
  }

  async #end(
    { namespace, name }: Pod['metadata'],
    { containers }: Pod['spec'],
    exitCode: number,
    message: string,
  ): Promise<void> {
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    const terminated = { exitCode, reason, message, startedAt: now, finishedAt: now };
    await this.#request('PATCH', `/api/v1/namespaces/${namespace}/pods/${name}/status`, {
      status: {
        phase: exitCode === 0 ? 'Succeeded' : 'Failed',
        containerStatuses: containers.map((container) => ({
          name: container.name,
          image: 'framework',
          imageID: '',
          ready: false,
          restartCount: 0,
          state: { terminated },
        })),
      },
    });
  }
}

function packed(text: string): string {
  return Buffer.byteLength(text) <= 4096 ? text : `gz:${gzipSync(text).toString('base64')}`;
}
