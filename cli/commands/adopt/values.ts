/** The values of a release: what is read of them is noted, so that nothing is lost without a word. */
export type Tree = Readonly<Record<string, unknown>>;

export interface Mapping {
  readonly value: string;
  readonly here: string;
}

export class Values {
  readonly #mapped = new Map<string, string>();
  readonly #all: Tree;

  constructor(
    defaults: Tree,
    private readonly config: Tree,
  ) {
    this.#all = merged(defaults, config);
  }

  /** A value without a note: it decides about others. */
  get(path: string): unknown {
    return at(this.#all, path);
  }

  text(path: string): string {
    const value = this.get(path);
    return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  }

  isOn(path: string): boolean {
    return this.get(path) === true;
  }

  /** Whether the user has set it, or something below it. */
  isSet(path: string): boolean {
    return at(this.config, path) !== undefined;
  }

  /** Notes that a value is in a field. */
  note(path: string, here: string): void {
    this.#mapped.set(path, here);
  }

  /** What the user has set and a field holds. */
  get mapped(): readonly Mapping[] {
    return [...this.#mapped]
      .filter(([path]) => this.isSet(path))
      .map(([value, here]) => ({ value, here }));
  }

  /** What the user has set and no field holds, down to what is no map. */
  get others(): readonly string[] {
    return leavesOf(this.config).filter(
      (leaf) => ![...this.#mapped.keys()].some((path) => isBelow(leaf, path)),
    );
  }
}

export function isMap(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isBelow(leaf: string, path: string): boolean {
  return leaf === path || leaf.startsWith(`${path}.`);
}

/** As Helm merges them: a null removes a value of the chart. */
function merged(defaults: Tree, config: Tree): Tree {
  const result = new Map(Object.entries(defaults));
  for (const [key, value] of Object.entries(config)) {
    const below = result.get(key);
    if (value === null) result.delete(key);
    else result.set(key, isMap(value) && isMap(below) ? merged(below, value) : value);
  }
  return Object.fromEntries(result);
}

function at(tree: Tree, path: string): unknown {
  let value: unknown = tree;
  for (const key of path.split('.')) {
    if (!isMap(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value ?? undefined;
}

function leavesOf(tree: Tree, prefix = ''): readonly string[] {
  return Object.entries(tree).flatMap(([key, value]) =>
    isMap(value) && Object.keys(value).length > 0
      ? leavesOf(value, `${prefix}${key}.`)
      : isEmpty(value)
        ? []
        : [`${prefix}${key}`],
  );
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === '' || value === false) return true;
  return Array.isArray(value) ? value.length === 0 : isMap(value);
}
