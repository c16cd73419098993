import { METADATA_LIST } from './media-type.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { forEachInTurns } from '../turns.js';
import type { Client } from './client.js';

export interface ListOptions {
  readonly labelSelector?: string | undefined;
  /** Such as `metadata.name=x`: a right to that object is enough. */
  readonly fieldSelector?: string | undefined;
  /** Lists metadata only: for kinds whose content is large or secret. */
  readonly metadataOnly?: boolean | undefined;
  /** Reads the version only: one page of one object. */
  readonly versionOnly?: boolean;
  readonly signal?: AbortSignal;
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

const PAGE_SIZE = '500';
/** Lists a whole collection, page by page. @param path of the collection */
export async function listAll(
  client: Pick<Client, 'request'>,
  path: string,
  { labelSelector, fieldSelector, metadataOnly, versionOnly, signal, compact }: ListOptions = {},
): Promise<ObjectList> {
  const items: KubeObject[] = [];
  let next: string | undefined;
  let resourceVersion: string;
  do {
    const page: Page = await client.request<Page>('GET', path, {
      query: {
        limit: versionOnly ? '1' : PAGE_SIZE,
        continue: next,
        labelSelector,
        fieldSelector,
      },
      ...(metadataOnly ? { accept: METADATA_LIST } : {}),
      ...(signal ? { signal } : {}),
    });
    // The items of a list have no kind.
    const { apiVersion } = page;
    const kind = page.kind.replace(/List$/, '');
    const keep = (item: KubeObject): void => {
      const object = { ...item, apiVersion, kind };
      items.push(compact ? compact(object) : object);
    };
    await forEachInTurns(page.items ?? [], keep, signal);
    next = versionOnly ? undefined : page.metadata.continue || undefined;
    resourceVersion = page.metadata.resourceVersion;
  } while (next);
  return { items, resourceVersion };
}
