/** A value of plain data. */
type Data = unknown;

/** The differences between two objects: the value at each path that differs; null if it is absent. */
export function changesOf(before: Data, after: Data): Readonly<Record<string, Data>> {
  return Object.fromEntries(differences(before, after, ''));
}

function differences(before: Data, after: Data, path: string): (readonly [string, Data])[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const a = partsOf(before);
  const b = partsOf(after);
  if (a === undefined || a.keyed !== b?.keyed) return [[path, after ?? null]];
  const keys = [...new Set([...a.parts.keys(), ...b.parts.keys()])];
  return keys.flatMap((key) =>
    differences(a.parts.get(key), b.parts.get(key), a.keyed ? `${path}[${key}]` : join(path, key)),
  );
}

function join(path: string, key: string): string {
  const name = /[./]/.test(key) ? `"${key}"` : key;
  return path === '' ? name : `${path}.${name}`;
}

/** The fields of an object, or the items of a list by their name. */
function partsOf(value: Data): { parts: ReadonlyMap<string, Data>; keyed: boolean } | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) return { parts: new Map(Object.entries(value)), keyed: false };
  const items: readonly Data[] = value;
  const names = items.map(keyOfItem);
  if (names.some((name) => name === undefined) || new Set(names).size < names.length) {
    return undefined;
  }
  return { parts: new Map(items.map((item, at) => [names[at] ?? '', item])), keyed: true };
}

/** What distinguishes an item of a list from the others: mounts have paths, the rest have names. */
function keyOfItem(item: Data): string | undefined {
  if (typeof item !== 'object' || item === null) return undefined;
  const { name, mountPath } = item as { readonly name?: unknown; readonly mountPath?: unknown };
  const key = mountPath ?? name;
  return typeof key === 'string' ? key : undefined;
}
