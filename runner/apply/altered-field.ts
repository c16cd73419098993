import type { KubeObject, ObjectMeta } from '../../constructs/kit/object.js';

/**
 * The first field of the metadata that the API server answered otherwise than it was written: an
 * admission policy has changed it. Undefined if there is none.
 */
export function alteredField(wanted: KubeObject, answer: KubeObject): string | undefined {
  for (const field of ['labels', 'annotations'] as const) {
    const key = alteredKey(wanted.metadata[field], answer.metadata[field]);
    if (key !== undefined) return `metadata.${field}[${key}]`;
  }
  return hasOwners(wanted.metadata, answer.metadata) ? undefined : 'metadata.ownerReferences';
}

type Values = Readonly<Record<string, string>>;

function alteredKey(wanted: Values = {}, answer: Values = {}): string | undefined {
  return Object.keys(wanted).find((key) => wanted[key] !== answer[key]);
}

function hasOwners(wanted: ObjectMeta, answer: ObjectMeta): boolean {
  const owners = new Set(answer.ownerReferences?.map(({ uid }) => uid));
  return (wanted.ownerReferences ?? []).every(({ uid }) => owners.has(uid));
}
