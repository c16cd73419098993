import { migrationsOfSite } from '../../frappe/indexes.js';
import type { SiteJob } from '../../api/site-job.js';
import type { BatchProgress } from '../../kit/batch.js';
import type {
  DocumentOutcome,
  DocumentRequest,
  DocumentResult,
  SiteDocument,
} from '../../kit/document.js';
import { parseDuration } from '../../kit/duration.js';
import { Waiting } from '../../kit/errors.js';
import { hashOf } from '../../kit/json/hash.js';
import type { ClusterReader } from '../../kit/kind.js';
import { identity, keyOf, type Resource } from '../../kit/object.js';
import type { DocumentScoped, DocumentStatus } from '../../api/site-scoped.js';
import type { AppSite } from '../../api/site.js';

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
function openSite({ metadata, spec }: DocumentResource, reader: ClusterReader): Site {
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
  const site = openSite(resource, reader);
  const { data } = site;
  const restored = data.restored === undefined ? [] : [data.restored];
  // A site that was created again, or restored, does not have what was written to it before.
  const inputs = [document, versions, data.uid, ...restored];
  const { hash, known, migrated } = comparedBefore({ resource, document, inputs, site, reader });
  if (known && !migrated && !isDue(resource, data.uid, reader)) {
    return { hash, data, known, request: undefined, result: undefined, progress: undefined };
  }
  const id = hashOf([uid, hash, status.lastSyncTime ?? '']).slice(0, 12);
  // Where changes in the site are kept, a migration is a reason to create a document again only.
  const createOnly = known && status.outcome !== 'Failed' && !resyncs(resource);
  const request: DocumentRequest = {
    apiVersion: resource.apiVersion,
    kind: 'DocumentRequest',
    metadata: { name: id, namespace },
    site: spec.siteRef.name,
    id,
    document: createOnly ? { ...document, createOnly } : document,
  };
  return {
    hash,
    data,
    known,
    request,
    result: checked(
      document,
      reader.get('DocumentResult', namespace, id, identity<DocumentResult>),
    ),
    progress: reader.get('DocumentProgress', namespace, spec.siteRef.name, identity<BatchProgress>),
  };
}

/** Outcomes of a document that should exist. */
const REQUESTED: ReadonlySet<DocumentOutcome> = new Set([
  ...(['Created', 'Changed', 'Unchanged', 'Failed'] as const),
]);

/**
 * A result. The Job may report anything: for a document that should exist, the outcome of a removal is
 * a failure, since the status has no value for it.
 */
function checked(
  { state }: SiteDocument,
  result: DocumentResult | undefined,
): DocumentResult | undefined {
  if (!result || state !== 'present' || REQUESTED.has(result.outcome)) return result;
  const message = `the Job reports the outcome ${result.outcome}, which was not requested`;
  return { ...result, outcome: 'Failed', message };
}

/** What the status says of an earlier comparison with the same inputs. */
interface Compared {
  /** The hash to record, of the inputs and of the image that the data was migrated to. */
  readonly hash: string;
  readonly known: boolean;
  /** Whether a migration since then may have deleted the document, see `isDeletedByMigrations`. */
  readonly migrated: boolean;
}

/**
 * The recorded hash has up to three parts: of what the document should be, of the image, and of the
 * last migration by a SiteJob. The later parts are apart, since another image alone is no reason to
 * undo changes in the site. They are compared as they are: the clocks of two nodes may differ.
 */
function comparedBefore({
  resource,
  document,
  inputs,
  site: { image },
  reader,
}: {
  readonly resource: DocumentResource;
  readonly document: SiteDocument;
  readonly inputs: readonly unknown[];
  readonly site: Site;
  readonly reader: ClusterReader;
}): Compared {
  const plain = hashOf(inputs);
  const resynced = resyncs(resource);
  if (!resynced && !isDeletedByMigrations(document)) {
    return { hash: plain, known: isKnown(resource, plain), migrated: false };
  }
  // A migration to version-16 deletes some workspaces; other versions change fields.
  const base = resynced && image !== undefined ? hashOf([...inputs, { image }]) : plain;
  const migration = lastMigration(resource, reader);
  const hash = joinedHash(
    resynced ? [base, part(migration)] : [base, part(image), part(migration)],
  );
  return { hash, ...recordedBefore(resource, { hash, base, plain, image, migration }) };
}

function recordedBefore(
  resource: DocumentResource,
  of: {
    readonly hash: string;
    readonly base: string;
    readonly plain: string;
    readonly image: string | undefined;
    readonly migration: string;
  },
): Pick<Compared, 'known' | 'migrated'> {
  const { documentHash = '', lastSyncTime = '' } = resource.status ?? {};
  const [recorded] = documentHash.split('.');
  // Release 0.2.0 has recorded neither an image nor a migration: only its time shows a later one.
  const isOld = of.image !== undefined && documentHash === of.plain;
  const known = (isOld || recorded === of.base) && isKnown(resource, documentHash);
  const migrated = isOld ? of.migration > lastSyncTime : documentHash !== of.hash;
  return { known, migrated: known && migrated };
}

function part(value: string | undefined): string {
  return value ? hashOf(value) : '';
}

function joinedHash(parts: readonly string[]): string {
  return parts.join('.').replace(/\.+$/, '');
}

/**
 * Whether a migration to version-16 may delete the document: that deletes public workspaces with a
 * module whose app has no file of them. The operator empties their app, and each save in the desk
 * sets it again.
 */
function isDeletedByMigrations({ doctype, fields }: SiteDocument): boolean {
  return doctype === 'Workspace' && fields['public'] === true && fields['module'] !== undefined;
}

function isKnown({ status = {} }: DocumentResource, hash: string): boolean {
  const { documentHash, lastSyncTime, outcome, conditions } = status;
  // Why it failed is in a condition only, which may have changed since.
  const ready = conditions?.find(({ type }) => type === 'Ready');
  if (outcome === 'Failed' && ready?.reason !== 'DocumentFailed') return false;
  return documentHash === hash && lastSyncTime !== undefined && outcome !== undefined;
}

function isDue(resource: DocumentResource, site: string, reader: ClusterReader): boolean {
  const { lastSyncTime = '', outcome } = resource.status ?? {};
  if (outcome === 'Failed') return reader.isDue(lastSyncTime, RETRY_MS, { alignedBy: site });
  const intervalMs = intervalOf(resource.spec);
  return resyncs(resource) && reader.isDue(lastSyncTime, intervalMs, { alignedBy: site });
}

/** When a SiteJob last migrated the site, as its identity; empty if none has. */
function lastMigration({ metadata, spec }: DocumentResource, reader: ClusterReader): string {
  const key = keyOf(metadata.namespace, spec.siteRef.name);
  return reader.list(migrationsOfSite, key, endOf).toSorted().at(-1) ?? '';
}

/** Of a failed run too: it may have failed after it had changed documents. */
function endOf({ status = {} }: SiteJob): string {
  const { completionTime = '', lastSuccessfulTime = '' } = status;
  return completionTime > lastSuccessfulTime ? completionTime : lastSuccessfulTime;
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
