import type { ObjectKind } from '../../constructs/kit/object-kind.js';

/** `Accept` of requests for the metadata of an object or a list only; the whole where it is not served. */
export const METADATA =
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json';
export const METADATA_LIST =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json';

/** Options of a request for an object: the operator never reads the values of a Secret. */
export function withoutValues({ kind }: ObjectKind): { readonly accept?: string } {
  return kind === 'Secret' ? { accept: METADATA } : {};
}
