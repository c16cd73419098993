import type { NormalField } from '../../constructs/kit/normal.js';
import type { KubeObject } from '../../constructs/kit/object.js';

/** An operation of a JSON patch. */
export interface PatchOperation {
  readonly op: 'replace';
  readonly path: string;
  readonly value: string;
}

/** What brings the fields of an object to their normal form; nothing where they are in it. */
export function normalize(
  object: KubeObject,
  fields: readonly NormalField[],
): readonly PatchOperation[] {
  return fields.flatMap(({ path, form }) => {
    const value = path.reduce<unknown>(fieldOf, object);
    // What is of a wrong type is the schema's to refuse.
    if (typeof value !== 'string' || form(value) === value) return [];
    return [{ op: 'replace' as const, path: `/${path.join('/')}`, value: form(value) }];
  });
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
