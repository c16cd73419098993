import type { NormalField } from '../../constructs/kit/normal-form.js';
import type { KubeObject } from '../../constructs/kit/object.js';

/** An operation of a JSON patch. */
export interface PatchOperation {
  readonly op: 'replace';
  readonly path: string;
  readonly value: string;
}

/** The patch that brings fields to their normal form; empty if they are in it. */
export function normalize(
  object: KubeObject,
  fields: readonly NormalField[],
): readonly PatchOperation[] {
  return fields.flatMap(({ path, form }) =>
    textsAt(object, path, '').flatMap(([at, text]) =>
      form(text) === text ? [] : [{ op: 'replace' as const, path: at, value: form(text) }],
    ),
  );
}

/** The texts at a path, each with its JSON pointer. The schema refuses values of a wrong type. */
function textsAt(
  value: unknown,
  [name, ...rest]: readonly string[],
  at: string,
): readonly (readonly [at: string, text: string])[] {
  if (name === undefined) return typeof value === 'string' ? [[at, value]] : [];
  if (name === '*') {
    if (!Array.isArray(value)) return [];
    return value.flatMap((item: unknown, i) => textsAt(item, rest, `${at}/${i}`));
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return [];
  return textsAt((value as Readonly<Record<string, unknown>>)[name], rest, `${at}/${name}`);
}
