/** The metadata of a Kubernetes object, as far as this project reads or writes it. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly generation?: number;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  /** RFC 3339, to the second. */
  readonly time?: string;
  readonly subresource?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
}

/** Any Kubernetes object as plain data. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** A custom resource of ours: what the API server stores, so defaults are filled in. */
export interface Resource<Spec = unknown, Status = unknown> extends KubeObject {
  readonly spec: Spec;
  readonly status?: Status;
}

/** Whether an object is being deleted. A constant function: see `ClusterReader.get`. */
export function isDeleting({ metadata }: Pick<KubeObject, 'metadata'>): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** `<namespace>/<name>`, the identity of an object among those of its kind. */
export type ObjectKey = string;

/** The key of an object: `<namespace>/<name>`; a cluster-scoped object's starts with `/`. */
export function keyOf(namespace: string | undefined, name: string): ObjectKey {
  return joined(namespace ?? '', name);
}

/**
 * A key from its parts, with slashes. A template would keep the parts beside the text: 70 bytes for each
 * of a large fleet's keys.
 */
export function joined(...parts: readonly string[]): string {
  return parts.join('/');
}

/** The key of an object among those of its kind. */
export function keyOfObject({ metadata }: KubeObject): ObjectKey {
  return keyOf(metadata.namespace, metadata.name);
}

/** The namespace in a key; `''` for a cluster-scoped object. */
export function namespaceOfKey(key: ObjectKey): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

/** The group of an `apiVersion`: `''` for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

/** Picks the uid of an object. One that was created again has another. */
export function uidOf({ metadata }: KubeObject): string {
  return metadata.uid ?? '';
}

/** Picks the resourceVersion of an object, which changes with each write. */
export function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? '';
}

/** Picks the whole object. */
export function identity<T extends KubeObject>(object: T): T {
  return object;
}
