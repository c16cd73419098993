import type { DocumentRequest } from '../../kit/document.js';
import type { Index } from '../../kit/kind.js';
import { keyOf } from '../../kit/object.js';

/** The requests for a site's documents, by the site's `<namespace>/<name>`. */
export const requestsOfSite: Index<DocumentRequest> = {
  name: 'requestsOfSite',
  kind: 'DocumentRequest',
  values: ({ metadata, site }) => [keyOf(metadata.namespace, site)],
};
