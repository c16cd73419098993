import type { SiteDocument } from '../kit/document.js';
import { Waiting } from '../kit/errors.js';
import type { Teardown, World } from '../kit/kind.js';
import { isReleased, markersOf } from '../kit/labels.js';
import type { Resource } from '../kit/object.js';
import type { DocumentScoped, DocumentStatus } from '../kit/site-api.js';
import type { AppSite } from '../site/api.js';
import { exchange } from './exchange.js';

type Deletable = Resource<DocumentScoped & { readonly deletionPolicy: string }, DocumentStatus>;

/**
 * The way out of a resource that stands for a document: the document is deleted, or a user disabled, unless
 * it is to stay. A site that is gone or going takes its documents with it and holds nobody.
 */
export function documentTeardown<R extends Deletable>(doctype: string): Teardown<R> {
  return {
    needed: (resource) => resource.spec.deletionPolicy !== 'Retain' && !isReleased(resource),
    blockers(resource, world) {
      const { document: name } = resource.status ?? {};
      // One that was never accepted has no document, and may bear the name of somebody else's.
      if (name === undefined || isReleased(resource) || !hasSite(resource, world)) return;
      const state = resource.spec.deletionPolicy === 'Disable' ? 'disabled' : 'absent';
      const { hash, request, result, progress } = exchange(
        resource,
        documentWithout(doctype, name, state),
        [],
        world,
      );
      if (result && result.outcome !== 'Failed') return;
      const release = `; the annotation ${markersOf(resource).skipDrop}=true lets it go without`;
      if (result) {
        const fields = { documentHash: hash, lastSyncTime: result.time, outcome: 'Failed' };
        throw new Waiting('DocumentFailed', result.message + release, { fields });
      }
      // It has failed, and its time has not come again.
      if (!request) throw new Waiting('DocumentFailed', lastMessage(resource));
      const notes = [request];
      if (progress) throw new Waiting(progress.reason, progress.message + release, { notes });
      const message = `waiting for Job ${resource.spec.siteRef.name}-documents`;
      throw new Waiting('Deleting', message, { notes });
    },
    chart: () => undefined,
  };
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

function hasSite({ metadata, spec }: Deletable, world: World): boolean {
  return world.get('AppSite', metadata.namespace ?? 'default', spec.siteRef.name, isThere) === true;
}

function isThere({ metadata }: AppSite): boolean {
  return metadata.deletionTimestamp === undefined;
}
