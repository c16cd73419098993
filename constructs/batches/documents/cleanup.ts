import type { SiteDocument } from '../../kit/document.js';
import { Stalled, Waiting } from '../../kit/errors.js';
import type { Cleanup, ClusterReader } from '../../kit/kind.js';
import { skipsCleanup } from '../../kit/annotations.js';
import { metadataKeysOf } from '../../kit/metadata-keys.js';
import type { Resource } from '../../kit/object.js';
import type { DocumentScoped, DocumentStatus } from '../../api/site-scoped.js';
import type { AppSite } from '../../api/site.js';
import { syncDocument, type DocumentSync } from './sync.js';

type Deletable = Resource<DocumentScoped & { readonly deletionPolicy: string }, DocumentStatus>;

/**
 * The cleanup of a resource that manages a document: the document is deleted, or a user disabled,
 * unless it is retained. A site that is deleted removes its documents itself, and blocks nothing.
 * @param documentOf the document as it should be; may throw Waiting or Stalled
 */
export function documentCleanup<R extends Deletable>(
  doctype: string,
  documentOf: (resource: R, reader: ClusterReader) => SiteDocument,
): Cleanup<R> {
  return {
    needed: (resource) => resource.spec.deletionPolicy !== 'Retain' && !skipsCleanup(resource),
    blockers(resource, reader) {
      if (skipsCleanup(resource) || !hasSite(resource, reader)) return;
      const unfinished = unfinishedDocument(resource, documentOf, reader);
      const name = resource.status?.document ?? unfinished?.name;
      // A resource that never wrote its document has none; one of that name is not its own.
      if (name === undefined) return;
      const state = resource.spec.deletionPolicy === 'Disable' ? 'disabled' : 'absent';
      const document = documentWithout(doctype, name, state);
      waitForRemoval(
        resource,
        syncDocument(
          resource,
          unfinished ? { ...document, onlyAs: unfinished } : document,
          [],
          reader,
        ),
      );
    },
    chart: () => undefined,
  };
}

/** @throws Waiting unless the document is removed */
function waitForRemoval(
  resource: Deletable,
  { hash, request, result, progress }: DocumentSync,
): void {
  if (result && result.outcome !== 'Failed') return;
  const advice = `; to skip this, annotate the resource with ${metadataKeysOf(resource).skipDrop}=true`;
  if (result) {
    const fields = { documentHash: hash, lastSyncTime: result.time, outcome: 'Failed' };
    throw new Waiting('DocumentFailed', result.message + advice, { fields });
  }
  // The removal failed earlier, and is not due again yet.
  if (!request) throw new Waiting('DocumentFailed', readyMessage(resource));
  const batchObjects = [request];
  if (progress) throw new Waiting(progress.reason, progress.message + advice, { batchObjects });
  const message = `waiting for Job ${resource.spec.siteRef.name}-documents`;
  throw new Waiting('Deleting', message, { batchObjects });
}

/**
 * The document that a Job may be writing, or has written without a result in the status; undefined
 * where the status says whether it was written. A document that differs was not written for this
 * resource.
 */
function unfinishedDocument<R extends Deletable>(
  resource: R,
  documentOf: (resource: R, reader: ClusterReader) => SiteDocument,
  reader: ClusterReader,
): SiteDocument['onlyAs'] {
  const { document, documentHash, outcome, phase } = resource.status ?? {};
  // During the deletion, a failed outcome is that of the removal.
  const refused = outcome === 'Failed' && phase !== 'Deleting';
  if (document !== undefined || documentHash === undefined || refused) return undefined;
  try {
    const { doctype, name, fields, json, tables } = documentOf(resource, reader);
    return { doctype, name, fields, json, tables };
  } catch (error) {
    if (error instanceof Waiting || error instanceof Stalled) return undefined;
    throw error;
  }
}

function documentWithout(
  doctype: string,
  name: string,
  state: 'absent' | 'disabled',
): SiteDocument {
  return { doctype, name, state, fields: {}, json: {}, tables: {}, secrets: {}, needs: [] };
}

function readyMessage({ status }: Deletable): string {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
}

function hasSite({ metadata, spec }: Deletable, reader: ClusterReader): boolean {
  return reader.get('AppSite', metadata.namespace ?? 'default', spec.siteRef.name, exists) === true;
}

function exists({ metadata }: AppSite): boolean {
  return metadata.deletionTimestamp === undefined;
}
