import type { KubeObject, ObjectMeta } from '../../constructs/kit/object.js';

/** Metadata as it was written: null removes a key. */
export interface WrittenMetadata extends Pick<ObjectMeta, 'ownerReferences'> {
  readonly labels?: Values;
  readonly annotations?: Values;
}

type Values = Readonly<Record<string, string | null>>;

/**
 * The first field of the metadata that the API server answered otherwise than it was written: an
 * admission policy has changed it. Undefined if there is none.
 */
export function alteredField(
  wanted: WrittenMetadata,
  { metadata }: KubeObject,
): string | undefined {
  for (const field of ['labels', 'annotations'] as const) {
    const key = alteredKey(wanted[field], metadata[field]);
    if (key !== undefined) return `metadata.${field}[${key}]`;
  }
  return hasOwners(wanted, metadata) ? undefined : 'metadata.ownerReferences';
}

function alteredKey(wanted: Values = {}, answer: ObjectMeta['labels'] = {}): string | undefined {
  return Object.keys(wanted).find((key) => (wanted[key] ?? undefined) !== answer[key]);
}

function hasOwners(wanted: WrittenMetadata, answer: ObjectMeta): boolean {
  const owners = new Set(answer.ownerReferences?.map(({ uid }) => uid));
  return (wanted.ownerReferences ?? []).every(({ uid }) => owners.has(uid));
}
