/**
 * Expressions of CEL about the fields of a spec. Every field is optional in them: what a spec does not have
 * is no error.
 */

/** The spec of the change, and the stored one; `{}` for a create. Of no type: pod templates have none. */
export const SPEC = 'variables.spec';
export const BEFORE = 'variables.before';

/** The variables that stand for `SPEC` and `BEFORE`. */
export const SPECS = [
  { name: 'spec', expression: 'dyn(object.spec)' },
  { name: 'before', expression: 'oldObject == null ? dyn({}) : dyn(oldObject.spec)' },
];

/** A path with its first repetition: the list or map, which of them it is, and the path below an item. */
interface Repetition {
  readonly head: string;
  readonly ofMap: boolean;
  readonly tail: string;
}

/** The first repetition of a path; undefined where it has none. */
export function repetition(path: string): Repetition | undefined {
  const [, head = '', each, tail = ''] = /^(.*?)(\[\]|\{\})[.]?(.*)$/.exec(path) ?? [];
  return each === undefined ? undefined : { head, ofMap: each === '{}', tail };
}

/** The optional value of a path without repetitions. */
export function optional(root: string, path: string): string {
  return path === '' ? root : `${root}.?${path.replaceAll('.', '.?')}`;
}

/** Whether a test holds for some value of a path. */
export function some(
  root: string,
  path: string,
  test: (value: string) => string,
  depth = 0,
): string {
  const found = repetition(path);
  if (!found) return test(optional(root, path));
  const { head, ofMap, tail } = found;
  const [all, item] = [optional(root, head), `i${depth}`];
  const value = ofMap ? `${all}[?${item}]` : item;
  return `${all}.orValue(${ofMap ? '{}' : '[]'}).exists(${item}, ${some(value, tail, test, depth + 1)})`;
}

/** Whether a value was set or changed, of a path without repetitions. */
export function isNew(path: string): string {
  return `(${optional(SPEC, path)}.hasValue() && ${isChanged(path)})`;
}

/** Whether a value is another one than before, of a path without repetitions. */
export function isChanged(path: string): string {
  return `${optional(SPEC, path)} != ${optional(BEFORE, path)}`;
}

/** The keys of a map whose values are new, and fulfil a test. */
export function newKeys(head: string, test: (value: string) => string): string {
  const [now, before] = [`${optional(SPEC, head)}[?k]`, `${optional(BEFORE, head)}[?k]`];
  return `${optional(SPEC, head)}.orValue({}).filter(k, ${now} != ${before} && (${test(now)}))`;
}

/** The items of a list that are new, and have a value at a path. */
export function newItems(head: string, path: string): string {
  const had = `i in ${optional(BEFORE, head)}.orValue([])`;
  const all = `${optional(SPEC, head)}.orValue([])`;
  return `${all}.filter(i, !(${had}) && ${optional('i', path)}.hasValue())`;
}

/** The keys of a map that have an item, in a list or a map of their value, for which a test holds. */
export function keysWith(
  head: string,
  itemsOf: (root: string) => string,
  item: string,
  test: string,
): string {
  return `${optional(SPEC, head)}.orValue({}).filter(k, ${itemsOf(SPEC)}.exists(${item}, ${test}))`;
}

/** The name of a variable for a path. */
export function variableName(path: string): string {
  return path.replaceAll(/\W+/g, '_');
}

/** A text of CEL. */
export function text(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** A list of texts. */
export function texts(values: readonly string[]): string {
  return `[${values.map(text).join(', ')}]`;
}
