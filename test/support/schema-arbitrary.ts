import fc from 'fast-check';
import type { Schema } from '../../constructs/kit/definition.js';

/** Values of the types of a schema; its patterns and rules are not kept. */
export function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema['x-kubernetes-int-or-string']) return fc.oneof(fc.integer(), fc.string());
  switch (schema.type) {
    case 'object':
      return objectsOf(schema);
    case 'array':
      return fc.array(schema.items ? valuesOf(schema.items) : fc.jsonValue(), { maxLength: 3 });
    case 'string':
      return fc.string({ maxLength: 12 });
    case 'integer':
      return fc.integer();
    case 'number':
      return fc.integer().map((value) => value / 4);
    case 'boolean':
      return fc.boolean();
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function objectsOf({ properties, additionalProperties, ...schema }: Schema): fc.Arbitrary<unknown> {
  if (properties) {
    const fields = Object.entries(properties).map(([name, field]) => [name, valuesOf(field)]);
    return fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>, {
      requiredKeys: [],
    });
  }
  const values =
    typeof additionalProperties === 'object' ? valuesOf(additionalProperties) : undefined;
  if (values) return fc.dictionary(fc.string({ maxLength: 8 }), values, { maxKeys: 3 });
  return schema['x-kubernetes-preserve-unknown-fields']
    ? fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
    : fc.constant({});
}
