import type { KindDefinition, Schema } from '../../constructs/kit/definition.js';
import { minimal, MINIMAL, type Manifest } from './schema-manifests.js';

/** A field of a spec: the names on the way to it (`[]` an item, `[*]` a map's entry) and its schema. */
export interface Field {
  readonly path: readonly string[];
  readonly schema: Schema;
}

/** Every field, item and entry below a schema, the outer before the inner. */
export function fieldsOf(schema: Schema, path: readonly string[] = []): Field[] {
  const { additionalProperties: values, items } = schema;
  const children: [string, Schema][] = Object.entries(schema.properties ?? {});
  if (items) children.push(['[]', items]);
  if (typeof values === 'object') children.push(['[*]', values]);
  return children.flatMap(([step, child]) => [
    { path: [...path, step], schema: child },
    ...fieldsOf(child, [...path, step]),
  ]);
}

/** Text that tries a shell, SQL, a template, a path and the reader of the log. */
export const HOSTILE =
  'x\'; $(reboot) `id` | rm -rf / && "{{a}}" ../.. \u0000\u0007\u001b[31m\u007f\r\n\t';

/** Values that a field should not take, by what is wrong with them. */
export function badValues({ type, enum: choices, maxLength, minimum, maximum, maxItems }: Schema) {
  const bad: Record<string, unknown> = {};
  bad['wrong type'] = type === 'string' ? 7 : 'text';
  bad['wrong structure'] = type === 'object' ? [] : {};
  bad['null'] = null;
  if (type === 'string') bad['hostile text'] = HOSTILE;
  if (type === 'string') bad['no text'] = '';
  if (type === 'integer') bad['fraction'] = 1.5;
  if (choices) bad['unknown choice'] = 'Nothing';
  if (maxLength !== undefined) bad['too long'] = 'a'.repeat(maxLength + 1);
  if (minimum !== undefined) bad['too small'] = minimum - 1;
  if (maximum !== undefined) bad['too large'] = maximum + 1;
  if (maxItems !== undefined)
    bad['too many'] = Array.from({ length: maxItems + 1 }, (_, i) => `${i}`);
  return bad;
}

/** The least manifest of a kind, with one field set; what stands around it is filled in. */
export function withField(definition: KindDefinition, field: Field, value: unknown): Manifest {
  const spec = put(definition.spec, MINIMAL[definition.kind] ?? {}, field.path, value);
  return minimal(definition.kind, spec as object);
}

function put(
  schema: Schema,
  base: unknown,
  [step, ...rest]: readonly string[],
  value: unknown,
): unknown {
  if (step === undefined) return value;
  if (step === '[]') {
    const items = schema.items ?? {};
    const [first = sample(items)] = Array.isArray(base) ? (base as unknown[]) : [];
    return [put(items, first, rest, value)];
  }
  if (step === '[*]') {
    return { key: put(schema.additionalProperties as Schema, undefined, rest, value) };
  }
  const child = schema.properties?.[step] ?? {};
  const around = (base ?? sample(schema)) as Readonly<Record<string, unknown>>;
  return { ...around, [step]: put(child, around[step], rest, value) };
}

const SAMPLES = [
  'a',
  'v1',
  '10m',
  '1',
  '@daily',
  'ada@example.org',
  'a.b',
  'https://a.b',
  '2025-01-01',
  'abc',
  'A',
];

function sampleText({ pattern = '', minLength = 0 }: Schema): string | undefined {
  const matching = new RegExp(pattern, 'u');
  return SAMPLES.find((text) => matching.test(text) && text.length >= minLength);
}

/** A small value that a schema takes. */
function sample(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case 'string':
      return sampleText(schema);
    case 'integer':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return schema.minItems ? [sample(schema.items ?? {})] : [];
    default: {
      const names = schema.required ?? [];
      return Object.fromEntries(
        names.map((name) => [name, sample(schema.properties?.[name] ?? {})]),
      );
    }
  }
}
