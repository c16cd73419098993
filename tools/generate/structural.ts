import type { Schema, ValidationRule } from '../../constructs/kit/definition.js';
import type { JsonSchema } from './json-schema.js';

/**
 * Keywords that mean the same in JSON Schema and in a structural schema, in the order of output.
 */
const SAME = [
  'type',
  'format',
  'description',
  'default',
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
] as const;

/** Keywords that are looked at apart or that say nothing in a structural schema. */
const HANDLED = new Set<string>([
  ...SAME,
  '$schema',
  'const',
  'definitions',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'listType',
  'listMapKey',
  'preserveUnknownFields',
]);

/** The marker's text is wrong, or the type has no structural form; the message has the path. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}

/**
 * The structural schema of a JSON Schema without references: what a CRD takes.
 * A field with a default is not required; unknown fields are not listed, as the API server prunes
 * them.
 */
export function structural(json: JsonSchema, path: string): Schema {
  const unknown = Object.keys(json).filter((key) => !HANDLED.has(key) && !isRule(key));
  if (unknown.length > 0)
    throw new SchemaError(`${path}: no structural form for ${unknown.join(', ')}`);
  if (json['preserveUnknownFields'] === true) {
    const preserved = { ...same(json), 'x-kubernetes-preserve-unknown-fields': true } as const;
    // Without a type, it takes any JSON value.
    if (json['type'] === undefined) return preserved;
    const { additionalProperties: _, ...known } = json;
    return { ...preserved, type: 'object', ...object(known, path) };
  }
  return completed({
    ...same(json),
    ...object(json, path),
    ...array(json, path),
    ...rules(json, path),
  });
}

/**
 * The schema with its own default filled in from those of its fields: the API server evaluates
 * validation rules on a CRD's defaults as they are written, and refuses `{}` where a rule reads a
 * field.
 */
function completed(schema: Schema): Schema {
  if (schema.type !== 'object' || !isNode(schema.default)) return schema;
  const fields = Object.entries(schema.properties ?? {}).filter(([, field]) => 'default' in field);
  const inner = Object.fromEntries(fields.map(([name, field]) => [name, field.default]));
  return { ...schema, default: { ...inner, ...schema.default } };
}

function same(json: JsonSchema): Schema {
  // A union of one literal is a constant, which structural schemas do not know.
  if ('const' in json) return same({ ...without(json, 'const'), enum: [json['const']] });
  return Object.fromEntries(SAME.filter((key) => key in json).map((key) => [key, json[key]]));
}

function without(json: JsonSchema, key: string): JsonSchema {
  return Object.fromEntries(Object.entries(json).filter(([name]) => name !== key));
}

function object(json: JsonSchema, path: string): Schema {
  if (json['type'] !== 'object') return {};
  const properties = Object.entries((json['properties'] ?? {}) as Record<string, JsonSchema>).map(
    ([name, node]) => [name, structural(node, `${path}.${name}`)] as const,
  );
  const withDefault = new Set(
    properties.filter(([, node]) => 'default' in node).map(([name]) => name),
  );
  const required = ((json['required'] ?? []) as string[]).filter((name) => !withDefault.has(name));
  const values = json['additionalProperties'];
  return {
    ...(required.length > 0 && { required }),
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(isNode(values) && { additionalProperties: item(values, `${path}[*]`) }),
  };
}

function array(json: JsonSchema, path: string): Schema {
  if (json['type'] !== 'array') return {};
  const keys = json['listMapKey'];
  return {
    ...(isNode(json['items']) && { items: item(json['items'], `${path}[]`) }),
    ...('listType' in json && { 'x-kubernetes-list-type': json['listType'] as 'map' }),
    ...(keys !== undefined && { 'x-kubernetes-list-map-keys': (keys as string).split(/[ ,]+/) }),
  };
}

/** A default belongs to a field; the same type as an item or a map's value has none. */
function item(json: JsonSchema, path: string): Schema {
  const { default: _, ...node } = structural(json, path);
  return node;
}

function rules(json: JsonSchema, path: string): Schema {
  const found = Object.keys(json)
    .filter(isRule)
    .map((key) => rule(String(json[key]), path));
  return found.length > 0 ? { 'x-kubernetes-validations': found } : {};
}

function rule(text: string, path: string): ValidationRule {
  const [rule = '', message = '', messageExpression, ...rest] = text
    .split(';;')
    .map((part) => part.trim());
  if (rule === '' || message === '' || rest.length > 0) {
    throw new SchemaError(
      `${path}: write @cel <rule> ;; <message> [;; <message expression>], not: ${text}`,
    );
  }
  // A rule with an optional old value runs on creation too; the others on change only.
  const optional = /\boldSelf\.(hasValue|orValue|optMap|or)\(/.test(rule);
  return {
    rule,
    message,
    ...(messageExpression !== undefined && { messageExpression }),
    ...(optional && { optionalOldSelf: true }),
  };
}

const isRule = (key: string): boolean => /^cel\d+$/.test(key);

const isNode = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;
