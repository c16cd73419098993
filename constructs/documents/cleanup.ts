import type { SiteDocument } from '../kit/document.js';
import { Stalled, Waiting } from '../kit/errors.js';
import type { Cleanup, ClusterReader } from '../kit/kind.js';
import { isReleased, metadataKeysOf } from '../kit/labels.js';
import type { Resource } from '../kit/object.js';
import type { DocumentScoped, DocumentStatus } from '../kit/site-api.js';
import type { AppSite } from '../site/api.js';
import { syncDocument } from './sync.js';

type Deletable = Resource<DocumentScoped & { readonly deletionPolicy: string }, DocumentStatus>;

/**
 * The way out of a resource that stands for a document: the document is deleted, or a user disabled, unless
 * it is to stay. A site that is gone or going takes its documents with it and holds nobody.
 * @param documentOf the document as it should be; may throw Waiting or Stalled
 */
export function documentCleanup<R extends Deletable>(
  doctype: string,
  documentOf: (resource: R, reader: ClusterReader) => SiteDocument,
): Cleanup<R> {
  return {
    needed: (resource) => resource.spec.deletionPolicy !== 'Retain' && !isReleased(resource),
    blockers(resource, reader) {
      if (isReleased(resource) || !hasSite(resource, reader)) return;
      const onlyAs = onItsWay(resource, documentOf, reader);
      const name = resource.status?.document ?? onlyAs?.name;
      // One that was never written has no document, and may bear the name of somebody else's.
      if (name === undefined) return;
      const state = resource.spec.deletionPolicy === 'Disable' ? 'disabled' : 'absent';
      const { hash, request, result, progress } = syncDocument(
        resource,
        { ...documentWithout(doctype, name, state), ...(onlyAs ? { onlyAs } : {}) },
        [],
        reader,
      );
      if (result && result.outcome !== 'Failed') return;
      const release = `; the annotation ${metadataKeysOf(resource).skipDrop}=true lets it go without`;
      if (result) {
        const fields = { documentHash: hash, lastSyncTime: result.time, outcome: 'Failed' };
        throw new Waiting('DocumentFailed', result.message + release, { fields });
      }
      // It has failed, and its time has not come again.
      if (!request) throw new Waiting('DocumentFailed', lastMessage(resource));
      const batchObjects = [request];
      if (progress)
        throw new Waiting(progress.reason, progress.message + release, { batchObjects });
      const message = `waiting for Job ${resource.spec.siteRef.name}-documents`;
      throw new Waiting('Deleting', message, { batchObjects });
    },
    chart: () => undefined,
  };
}

/**
 * What a Job may be writing, or has written and nobody was told yet; undefined where it is known whether the document
 * was written. A document that is not like that was not written by us.
 */
function onItsWay<R extends Deletable>(
  resource: R,
  documentOf: (resource: R, reader: ClusterReader) => SiteDocument,
  reader: ClusterReader,
): SiteDocument['onlyAs'] {
  const { document, documentHash, outcome, phase } = resource.status ?? {};
  // While it is being deleted, what has failed is the removal.
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

function lastMessage({ status }: Deletable): string {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
}

function hasSite({ metadata, spec }: Deletable, reader: ClusterReader): boolean {
  return (
    reader.get('AppSite', metadata.namespace ?? 'default', spec.siteRef.name, isThere) === true
  );
}

function isThere({ metadata }: AppSite): boolean {
  return metadata.deletionTimestamp === undefined;
}
