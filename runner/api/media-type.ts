/** `Accept` of requests for the metadata of an object or a list only; the whole where it is not served. */
export const METADATA =
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json';
export const METADATA_LIST =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json';
