import { ApiObject, type ApiObjectProps, type JsonPatch } from 'cdk8s';
import type { Construct } from 'constructs';
import { sorted } from './json/canonical.js';
import type { KubeObject } from './object.js';

/**
 * An object of the tree that is written as it is applied: its JSON is a copy. That of cdk8s looks for
 * tokens in each value and copies it five times, which was half of what a synthesis allocated.
 */
export class PlainObject extends ApiObject {
  #isPatched = false;

  constructor(
    scope: Construct,
    id: string,
    private readonly manifest: KubeObject,
  ) {
    super(scope, id, manifest as ApiObjectProps);
  }

  override addJsonPatch(...patches: JsonPatch[]): void {
    this.#isPatched = true;
    super.addJsonPatch(...patches);
  }

  /** The same as of any ApiObject, also in the order of its fields. */
  override toJson(): unknown {
    if (this.#isPatched) return super.toJson() as unknown;
    const { apiVersion, kind, ...fields } = this.manifest;
    const metadata: unknown = this.metadata.toJson();
    // Sorted already.
    delete (fields as { metadata?: unknown }).metadata;
    return { apiVersion, kind, metadata, ...(sortedCopy(fields) as object) };
  }
}

/** The value of JSON with its fields sorted, and those left out that are undefined. */
function sortedCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sortedCopy);
  const copy: Record<string, unknown> = {};
  for (const name of sorted(Object.keys(value))) {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    if (field !== undefined) set(copy, name, sortedCopy(field));
  }
  return copy;
}

/** A name such as `__proto__` stays data. */
function set(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true });
}
