import type { ObjectKind } from '../../constructs/kit/object-kind.js';

/**
 * The path of an object or of a collection. Without a namespace it is the collection of all
 * namespaces, or a cluster-scoped object.
 */
export function resourcePath(
  kind: ObjectKind,
  namespace?: string,
  name?: string,
  subresource?: string,
): string {
  let path = kind.apiVersion.includes('/') ? `/apis/${kind.apiVersion}` : `/api/${kind.apiVersion}`;
  if (namespace !== undefined) path += `/namespaces/${encodeURIComponent(namespace)}`;
  path += `/${kind.plural}`;
  if (name !== undefined) path += `/${encodeURIComponent(name)}`;
  if (subresource !== undefined) path += `/${subresource}`;
  return path;
}

/** The verb of a request, as in RBAC; server-side apply has its own verb here. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'apply' | 'delete';

/** Whether the path names a collection rather than one object. */
export function isCollection(path: string): boolean {
  const segments = path.split('/').slice(1);
  const rest = segments.slice(segments[0] === 'api' ? 2 : 3);
  // A namespace alone is an object; below it the rest of the path decides.
  return (rest[0] === 'namespaces' && rest.length > 2 ? rest.length - 2 : rest.length) === 1;
}
