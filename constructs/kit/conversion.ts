import { API_VERSION, type KindDefinition } from './definition.js';
import { isObject } from './json/is-object.js';
import { equal } from './json/equal.js';

/** Some fields of a spec, by name. */
export type Fields = Readonly<Record<string, unknown>>;

/** Fields of `spec` that have another form in another version. */
export interface FieldChange {
  /** Names the change in the annotation of what a version cannot express; never changes. */
  readonly name: string;
  /** Fields of the stored version. */
  readonly stored: readonly string[];
  /** The fields that replace them. */
  readonly served: readonly string[];
  readonly toServed: (fields: Fields) => Fields;
  readonly toStored: (fields: Fields) => Fields;
}

/** A version of a kind that is served beside the stored one. All other fields are the same. */
export interface KindVersion {
  /** As `v1beta1`. */
  readonly name: string;
  /** The kind with the schema of this version. */
  readonly definition: KindDefinition;
  readonly changes: readonly FieldChange[];
}

/** A field with another name. */
export function renamed(stored: string, served: string): FieldChange {
  const rename = (from: string, to: string) => (fields: Fields) =>
    Object.hasOwn(fields, from) ? { [to]: fields[from] } : {};
  return {
    name: stored,
    stored: [stored],
    served: [served],
    toServed: rename(stored, served),
    toStored: rename(served, stored),
  };
}

/** An object of the API, of any version. */
export interface Versioned {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly spec?: unknown;
  readonly [field: string]: unknown;
}

/**
 * Converts an object of a kind to another version of it. What the wanted version cannot express is
 * kept in an annotation, and comes back with the conversion in the other direction, unless the
 * fields that replace it were changed since.
 *
 * @throws ConversionError where the kind has no such version
 */
export function convert(
  object: Versioned,
  wanted: string,
  versions: readonly KindVersion[],
): Versioned {
  const [group = '', from = ''] = object.apiVersion.split('/');
  if (from === wanted) return object;
  // The stored version is between any two others.
  const stored =
    from === API_VERSION ? object : step(object, versionOf(from, object, versions), false);
  if (wanted === API_VERSION) return stored;
  const converted = step(stored, versionOf(wanted, object, versions), true);
  return { ...converted, apiVersion: `${group}/${wanted}` };
}

/** The wanted version does not exist. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

function versionOf(
  name: string,
  { kind }: Versioned,
  versions: readonly KindVersion[],
): KindVersion {
  const found = versions.find((one) => one.name === name && one.definition.kind === kind);
  if (!found) throw new ConversionError(`${kind}: unknown version: "${name}"`);
  return found;
}

/** Converts between the stored version and another one. */
function step(object: Versioned, version: KindVersion, toServed: boolean): Versioned {
  const [group = ''] = object.apiVersion.split('/');
  const [from, to] = toServed ? [API_VERSION, version.name] : [version.name, API_VERSION];
  const { [keyOf(group, to)]: kept, ...annotations } = object.metadata.annotations ?? {};
  const { spec, lost } = converted(object.spec, version.changes, toServed, parsed(kept));
  const all = {
    ...annotations,
    ...(Object.keys(lost).length > 0 && { [keyOf(group, from)]: JSON.stringify(lost) }),
  };
  const { annotations: _before, ...metadata } = object.metadata;
  return {
    ...object,
    apiVersion: `${group}/${to}`,
    metadata: { ...metadata, ...(Object.keys(all).length > 0 && { annotations: all }) },
    ...(spec === undefined ? {} : { spec }),
  };
}

/** The annotation of the fields of a version that another version cannot express. */
function keyOf(group: string, version: string): string {
  return `${group}/fields-of-${version}`;
}

interface Converted {
  readonly spec: unknown;
  /** What the result cannot express, by the name of the change. */
  readonly lost: Fields;
}

function converted(
  spec: unknown,
  changes: readonly FieldChange[],
  toServed: boolean,
  kept: Fields,
): Converted {
  if (!isObject(spec)) return { spec, lost: {} };
  const directed = changes.map((change) => directedTo(change, toServed));
  const replaced = new Set(directed.flatMap(({ source }) => source));
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(spec)) if (!replaced.has(name)) result[name] = value;
  const lost: Record<string, unknown> = {};
  for (const { name, source, target, forward, back } of directed) {
    const before = picked(spec, source);
    const earlier = picked(kept[name], target);
    // Nothing changed since the other version was written: it comes back as it was.
    const unchanged = Object.keys(earlier).length > 0 && equal(back(earlier), before);
    const after = unchanged ? earlier : forward(before);
    Object.assign(result, after);
    if (!equal(back(after), before)) lost[name] = before;
  }
  return { spec: result, lost };
}

function directedTo({ name, stored, served, toServed, toStored }: FieldChange, isServed: boolean) {
  return isServed
    ? { name, source: stored, target: served, forward: toServed, back: toStored }
    : { name, source: served, target: stored, forward: toStored, back: toServed };
}

function picked(fields: unknown, names: readonly string[]): Fields {
  if (!isObject(fields)) return {};
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}

function parsed(text: string | undefined): Fields {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
