import { isObject } from '../../constructs/kit/json/is-object.js';
import { canonicalJson } from '../../constructs/kit/json/hash.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { FIELD_MANAGER } from '../cache/child.js';
import { appliedFields } from '../cache/managed-fields.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Whether a live object is as an apply of the wanted one would leave it: it has the wanted values,
 * and the operator has applied nothing else. False where the API server stores a value in another
 * form.
 */
export function isAsApplied(wanted: KubeObject, live: KubeObject): boolean {
  const fields = appliedFields(live, FIELD_MANAGER);
  if (!fields) return false;
  const { apiVersion: _version, kind: _kind, metadata, ...content } = wanted;
  const { name: _name, namespace: _namespace, ...others } = metadata;
  return isSame({ ...content, metadata: others }, live, fields);
}

function isSame(wanted: unknown, live: unknown, fields: Fields): boolean {
  const owned = Object.keys(fields).filter((key) => key !== '.');
  if (owned.length === 0) return canonicalJson(wanted) === canonicalJson(live);
  if (Array.isArray(wanted)) return isSameList(wanted, live, fields);
  if (!isObject(wanted) || !isObject(live)) return false;
  const keys = Object.keys(wanted).filter((key) => wanted[key] !== undefined);
  return (
    keys.length === owned.length &&
    keys.every((key) => {
      const inner = fields[`f:${key}`];
      return isObject(inner) && isSame(wanted[key], live[key], inner);
    })
  );
}

/** Of a list whose items have keys, or of a set. */
function isSameList(wanted: readonly unknown[], live: unknown, fields: Fields): boolean {
  const owned = Object.entries(fields).filter(([key]) => key !== '.');
  if (!Array.isArray(live) || owned.length !== wanted.length) return false;
  return owned.every(([key, inner]) => {
    if (key.startsWith('v:')) return wanted.includes(JSON.parse(key.slice(2)));
    if (!key.startsWith('k:') || !isObject(inner)) return false;
    const name = JSON.parse(key.slice(2)) as Fields;
    const ours = itemOf(wanted, name);
    const theirs = itemOf(live, name);
    return ours !== undefined && theirs !== undefined && isSame(ours, theirs, inner);
  });
}

function itemOf(items: readonly unknown[], name: Fields): unknown {
  return items.find(
    (item) => isObject(item) && Object.entries(name).every(([key, value]) => item[key] === value),
  );
}
