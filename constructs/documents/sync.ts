import type { BatchProgress } from '../kit/batch.js';
import type { DocumentRequest, DocumentResult, SiteDocument } from '../kit/document.js';
import { parseDuration } from '../kit/duration.js';
import { Waiting } from '../kit/errors.js';
import { hashOf } from '../kit/hash.js';
import type { ClusterReader } from '../kit/kind.js';
import type { KubeObject, Resource } from '../kit/object.js';
import type { DocumentScoped, DocumentStatus } from '../kit/site-api.js';
import type { AppSite } from '../site/api.js';

/** A resource that manages a document of a site. */
export type DocumentResource = Resource<DocumentScoped, DocumentStatus>;

/** The state of a resource's document in the document engine. */
export interface DocumentSync {
  /** Hash of what the document should be. */
  readonly hash: string;
  /** The data that the document belongs to: the site's uid, and when a backup was restored. */
  readonly data: SiteData;
  /** Whether the result of the last comparison holds. */
  readonly known: boolean;
  /** The request to the engine; undefined where the document is known to match the spec. */
  readonly request: DocumentRequest | undefined;
  /** The result of the request; undefined where it is not done. */
  readonly result: DocumentResult | undefined;
  /** Why the request makes no progress. */
  readonly progress: BatchProgress | undefined;
}

/** Identity of a site's data. Other data does not have what was written to this. */
export interface SiteData {
  readonly uid: string;
  /**
   * By the clock of the node that did it: equal or not, but never before or after. Undefined where
   * nothing was restored.
   */
  readonly restored: string | undefined;
}

/** A document that could not be written is tried again after this: a user may repair the site. */
const RETRY_MS = 600_000;

/** The site that a document belongs to. */
interface Site {
  readonly data: SiteData;
  /** The image that the data was last migrated to. */
  readonly image: string | undefined;
  readonly deleting: boolean;
}

/**
 * The site that a document belongs to.
 * @throws Waiting where the site does not exist
 */
function requireSite({ metadata, spec }: DocumentResource, reader: ClusterReader): Site {
  const { namespace = 'default' } = metadata;
  const { name } = spec.siteRef;
  const site = reader.get('AppSite', namespace, name, presence);
  if (site && !site.deleting) return site;
  throw new Waiting(
    'SiteMissing',
    `spec.siteRef.name: ${site ? `AppSite "${name}" is being deleted` : `there is no AppSite "${name}" in namespace ${namespace}`}`,
    // The document was deleted with the site: one in a new site may belong to another owner.
    { fields: { document: undefined, outcome: undefined } },
  );
}

/**
 * The request for a document, and its result.
 * @param versions versions of the Secrets that the document names
 */
export function syncDocument(
  resource: DocumentResource,
  document: SiteDocument,
  versions: readonly string[],
  reader: ClusterReader,
): DocumentSync {
  const { metadata, spec, status = {} } = resource;
  const { namespace = 'default', uid = '' } = metadata;
  const { data, image } = requireSite(resource, reader);
  const restored = data.restored === undefined ? [] : [data.restored];
  // A migration to version-16 deletes public workspaces with a module; other versions change fields.
  const migrated = resyncs(resource) && image !== undefined ? [{ image }] : [];
  // A site that was created again, or restored, does not have what was written to it before.
  const inputs = [document, versions, data.uid, ...restored];
  const hash = hashOf([...inputs, ...migrated]);
  // Release 0.2.0 has recorded it without the image: that alone is no reason to compare again.
  const recorded = [hash, hashOf(inputs)].find((one) => isKnown(resource, one));
  const known = recorded !== undefined;
  if (known && !isDue(resource, data.uid, reader)) {
    const nothing = { request: undefined, result: undefined, progress: undefined };
    return { hash: recorded, data, known, ...nothing };
  }
  const id = hashOf([uid, hash, status.lastSyncTime ?? '']).slice(0, 12);
  const request: DocumentRequest = {
    apiVersion: resource.apiVersion,
    kind: 'DocumentRequest',
    metadata: { name: id, namespace },
    site: spec.siteRef.name,
    id,
    document,
  };
  return {
    hash,
    data,
    known,
    request,
    result: reader.get('DocumentResult', namespace, id, identity<DocumentResult>),
    progress: reader.get('DocumentProgress', namespace, spec.siteRef.name, identity<BatchProgress>),
  };
}

function isKnown({ status = {} }: DocumentResource, hash: string): boolean {
  const { documentHash, lastSyncTime, outcome, conditions } = status;
  // Why it failed is in a condition only, which may have changed since.
  const ready = conditions?.find(({ type }) => type === 'Ready');
  if (outcome === 'Failed' && ready?.reason !== 'DocumentFailed') return false;
  return documentHash === hash && lastSyncTime !== undefined && outcome !== undefined;
}

function isDue(
  { spec, status = {} }: DocumentResource,
  site: string,
  reader: ClusterReader,
): boolean {
  const { lastSyncTime = '', outcome } = status;
  if (outcome === 'Failed') return reader.passed(lastSyncTime, RETRY_MS, site);
  return resyncs({ spec }) && reader.passed(lastSyncTime, intervalOf(spec), site);
}

/** Whether changes that are made in the site are undone. */
function resyncs({ spec }: Pick<DocumentResource, 'spec'>): boolean {
  return intervalOf(spec) > 0;
}

function intervalOf({ resyncInterval }: DocumentResource['spec']): number {
  return parseDuration(resyncInterval) ?? 0;
}

function presence({ metadata, status }: AppSite): Site {
  return {
    data: { uid: metadata.uid ?? '', restored: status?.restored?.time },
    image: status?.image,
    deleting: metadata.deletionTimestamp !== undefined,
  };
}

function identity<T extends KubeObject>(object: T): T {
  return object;
}
