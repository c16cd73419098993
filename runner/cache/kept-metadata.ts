import { defined } from '../../constructs/kit/json/defined.js';
import { groupOf, type KubeObject, type ObjectMeta } from '../../constructs/kit/object.js';
import { LAST_APPLIED } from '../../constructs/kit/well-known.js';

/** How many characters of annotations are kept of an object; of labels as many again. */
export const MAX_CHARACTERS = 8 * 1024;

type Texts = Readonly<Record<string, string>>;

/**
 * The metadata of a resource as the caches keep it. Users may add 256 KiB of annotations, and more of
 * labels, to each resource: only some of them are kept.
 */
export function keptMetadata(object: KubeObject): ObjectMeta {
  const { managedFields: _managed, ownerReferences: _unread, ...metadata } = object.metadata;
  const { labels: _labels, annotations: _annotations, ...others } = metadata;
  const kept = { labels: keptLabels(object), annotations: keptAnnotations(object) };
  return { ...others, ...defined(kept) };
}

/** The annotations of an object that the caches keep; undefined if there are none. */
export function keptAnnotations({ apiVersion, metadata }: KubeObject): Texts | undefined {
  const { [LAST_APPLIED]: _applied, ...others } = metadata.annotations ?? {};
  return underPrefix(others, groupOf(apiVersion));
}

function keptLabels({ apiVersion, metadata }: KubeObject): Texts | undefined {
  return underPrefix(metadata.labels ?? {}, groupOf(apiVersion));
}

/** Texts that fit into the bound: first those with a prefix, then the others, the shortest first. */
function underPrefix(texts: Texts, prefix: string): Texts | undefined {
  const entries = Object.entries(texts);
  if (entries.length === 0) return undefined;
  if (lengthOf(entries.flat()) <= MAX_CHARACTERS) return texts;
  const rank = ([key, value]: readonly [string, string]): number =>
    key.length + value.length + (key.startsWith(`${prefix}/`) ? 0 : MAX_CHARACTERS);
  let length = 0;
  const kept = entries
    .toSorted((a, b) => rank(a) - rank(b) || (a[0] < b[0] ? -1 : 1))
    .filter((entry) => {
      const after = length + lengthOf(entry);
      if (after > MAX_CHARACTERS) return false;
      length = after;
      return true;
    });
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((length, text) => length + text.length, 0);
}
