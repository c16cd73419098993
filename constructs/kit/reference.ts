import type { Resource } from './object.js';

/** A field of a kind's spec that names a resource of another of our kinds in the same namespace. */
export interface Reference {
  /** The field of the spec: an object with the field `name`. */
  readonly field: string;
  /** The kind of the resource that it names. */
  readonly kind: string;
  /** The label of metrics that has this name as its value. */
  readonly label: string;
}

/** The name that a resource has in a reference; undefined if the field is not set. */
export function referenceName(resource: Resource, { field }: Reference): string | undefined {
  // A resource without a valid spec has metrics, too.
  const spec = resource.spec as Readonly<Record<string, { readonly name?: unknown } | null>> | null;
  const name = spec?.[field]?.name;
  return typeof name === 'string' ? name : undefined;
}

/** An object of the same namespace, and the field that names it. */
export interface ObjectReference {
  readonly kind: string;
  readonly name: string;
  readonly path: string;
}
