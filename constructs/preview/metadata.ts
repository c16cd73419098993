import type { Problem } from '../kit/errors.js';
import { isObject } from '../kit/json/is-object.js';

/** The fields of metadata that the API server knows. */
const FIELDS = [
  'name',
  'generateName',
  'namespace',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
] as const;

const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const KEY_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
/** Two exchanged letters are two edits. */
const SLIP = 2;

/** What the API server, or `kubectl apply` before it, refuses in the metadata of a manifest. */
export function metadataProblems(metadata: unknown): readonly Problem[] {
  if (!isObject(metadata)) return [];
  return [
    ...unknownFields(metadata),
    ...namespaceProblems(metadata['namespace']),
    ...mapProblems('labels', metadata['labels']),
    ...mapProblems('annotations', metadata['annotations']),
  ];
}

function unknownFields(metadata: Readonly<Record<string, unknown>>): readonly Problem[] {
  const known: readonly string[] = FIELDS;
  return Object.keys(metadata)
    .filter((field) => !known.includes(field))
    .map((field) => {
      const meant = known.find((one) => edits(field.toLowerCase(), one.toLowerCase()) <= SLIP);
      const advice = meant === undefined ? '' : `: did you mean ${JSON.stringify(meant)}?`;
      return { path: `metadata.${field}`, message: `Unknown field${advice}` };
    });
}

function namespaceProblems(namespace: unknown): readonly Problem[] {
  const path = 'metadata.namespace';
  if (namespace === undefined || namespace === null) return [];
  if (typeof namespace !== 'string') return [notText(path, namespace)];
  if (NAMESPACE.test(namespace)) return [];
  return [{ path, message: `${invalid(namespace)}: must be a DNS label (RFC 1123)` }];
}

function mapProblems(field: 'labels' | 'annotations', map: unknown): readonly Problem[] {
  const path = `metadata.${field}`;
  if (map === undefined || map === null) return [];
  if (!isObject(map)) return [{ path, message: `${invalid(map)}: must be a mapping of text` }];
  return Object.entries(map).flatMap(([key, value]) => [
    ...(isKey(key) ? [] : [{ path, message: `${invalid(key)}: must be a qualified name` }]),
    ...valueProblems(field, `${path}.${key}`, value),
  ]);
}

function valueProblems(field: string, path: string, value: unknown): readonly Problem[] {
  if (typeof value !== 'string') return [notText(path, value)];
  if (field === 'annotations' || LABEL_VALUE.test(value)) return [];
  const rule = 'must be at most 63 letters, digits, -, _ and ., first and last a letter or a digit';
  return [{ path, message: `${invalid(value)}: ${rule}` }];
}

function isKey(key: string): boolean {
  const [name = '', prefix, ...more] = key.split('/').toReversed();
  const validPrefix = prefix === undefined || (prefix.length <= 253 && PREFIX.test(prefix));
  return more.length === 0 && validPrefix && KEY_NAME.test(name);
}

function notText(path: string, value: unknown): Problem {
  return { path, message: `${invalid(value)}: must be text; write it in quotes` };
}

function invalid(value: unknown): string {
  return `Invalid value: ${JSON.stringify(value)}`;
}

/** How many letters to add, drop or change to get from one text to another. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [i, letter] of from.split('').entries()) {
    const next = [i + 1];
    for (const [j, other] of to.split('').entries()) {
      const changed = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, changed));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
