import type { KubeObject } from '../../constructs/kit/object.js';
import { Semaphore } from '../kit/semaphore.js';
import { forEachInTurns } from '../kit/event-loop-turns.js';
import { ResponseTooLarge } from './api-error.js';
import type { Client } from './client.js';
import { METADATA_LIST } from './media-type.js';
import { MAX_BYTES } from './response-body.js';

export interface ListOptions {
  readonly labelSelector?: string | undefined;
  /** Such as `metadata.name=x`: a right to that object is enough. */
  readonly fieldSelector?: string | undefined;
  /** Lists metadata only: for kinds whose content is large or secret. */
  readonly metadataOnly?: boolean | undefined;
  /** Reads the version only: one page of one object. */
  readonly versionOnly?: boolean;
  readonly signal?: AbortSignal;
  /** Objects of a page at most. @default 500 */
  readonly pageSize?: number;
  /** Pages that are read; what follows is left out. @default all */
  readonly maxPages?: number;
  /** What of each object is kept until the last page has arrived. @default the whole object */
  readonly compact?: ((object: KubeObject) => KubeObject) | undefined;
}

/** A collection at one version. */
export interface ObjectList {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
}

interface Page {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  /** null in an empty list of metadata. */
  readonly items: readonly KubeObject[] | null;
}

const PAGE_SIZE = 500;
/** Pages up to this length are read at once. */
const SHORT_BYTES = 2 * 1024 * 1024;
/** A longer page waits for its turn: many lists run at the start, and a page takes several times its length. */
const LONG_PAGES = new Semaphore(2);
/** By how much the limit grows with each page, after objects were too large for it. */
const GROWTH = 1.25;

/**
 * Lists a whole collection, page by page. Where objects are large, pages have fewer of them.
 * @param path of the collection
 * @throws ResponseTooLarge if one object alone is longer than any object of an API server
 */
export async function listAll(
  client: Pick<Client, 'request'>,
  path: string,
  options: ListOptions = {},
): Promise<ObjectList> {
  const { versionOnly, maxPages = Infinity, signal, compact } = options;
  const items: KubeObject[] = [];
  const pages = new Pages(client, path, options);
  let next: string | undefined;
  let resourceVersion: string;
  let read = 0;
  do {
    const { metadata } = await pages.read(next, async (page) => {
      // The items of a list have no kind.
      const { apiVersion } = page;
      const kind = page.kind.replace(/List$/, '');
      const keep = (item: KubeObject): void => {
        const object = { ...item, apiVersion, kind };
        items.push(compact ? compact(object) : object);
      };
      await forEachInTurns(page.items ?? [], keep, signal);
    });
    next = versionOnly ? undefined : metadata.continue || undefined;
    resourceVersion = metadata.resourceVersion;
    read += 1;
  } while (next && read < maxPages);
  return { items, resourceVersion };
}

/** The pages of one list, within a bound of bytes. */
class Pages {
  readonly #most: number;
  #limit: number;
  /** Whether a page was longer than `SHORT_BYTES`. */
  #long = false;

  constructor(
    private readonly client: Pick<Client, 'request'>,
    private readonly path: string,
    private readonly options: ListOptions,
  ) {
    this.#most = options.versionOnly ? 1 : (options.pageSize ?? PAGE_SIZE);
    this.#limit = this.#most;
  }

  /** Reads the page at a continue token, and calls `work`, which needs the whole page. */
  async read(at: string | undefined, work: (page: Page) => Promise<void>): Promise<Page> {
    for (;;) {
      const free = this.#long
        ? await LONG_PAGES.acquire(this.options.signal ?? NEVER_ABORTED)
        : undefined;
      try {
        const page = await this.#request(at);
        await work(page);
        this.#limit = Math.min(this.#most, Math.ceil(this.#limit * GROWTH));
        return page;
      } catch (error) {
        if (!(error instanceof ResponseTooLarge) || !this.#shrink()) throw error;
      } finally {
        free?.();
      }
    }
  }

  /** @returns whether the page may be requested again */
  #shrink(): boolean {
    if (this.#long && this.#limit === 1) return false;
    if (this.#long) this.#limit = Math.floor(this.#limit / 2);
    this.#long = true;
    return true;
  }

  #request(at: string | undefined): Promise<Page> {
    const { labelSelector, fieldSelector, metadataOnly, signal } = this.options;
    return this.client.request<Page>('GET', this.path, {
      query: { limit: String(this.#limit), continue: at, labelSelector, fieldSelector },
      maxBytes: this.#long ? MAX_BYTES : SHORT_BYTES,
      ...(metadataOnly ? { accept: METADATA_LIST } : {}),
      ...(signal ? { signal } : {}),
    });
  }
}

const NEVER_ABORTED = new AbortController().signal;
