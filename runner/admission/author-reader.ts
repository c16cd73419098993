import type { ClusterReader, Index } from '../../constructs/kit/kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Settings } from '../../constructs/kit/operator-settings.js';
import type { Read } from './author-access.js';

/**
 * The author may not read an object, or the cluster has not answered yet. No finding depends on it.
 */
export class Hidden extends Error {
  override readonly name = 'Hidden';
}

/**
 * A reader for what an author may read. The result never depends on anything else: a Secret that is
 * hidden is taken to exist, and a read of another hidden object ends the work.
 */
export class AuthorReader implements ClusterReader {
  readonly settings: Settings;
  /** What is not decided yet; hidden until then. */
  readonly undecided = new Map<string, Read>();

  constructor(
    private readonly reader: ClusterReader,
    private readonly namespace: string,
    private readonly decisions: ReadonlyMap<string, boolean>,
  ) {
    this.settings = reader.settings;
  }

  serves(kind: ObjectKind): boolean {
    return this.reader.serves(kind);
  }

  isDue(since: string, afterMs?: number, options?: { readonly alignedBy?: string }): boolean {
    return this.reader.isDue(since, afterMs, options);
  }

  get<O extends KubeObject, T>(
    kind: string,
    namespace: string,
    name: string,
    pick: (object: O) => T,
  ): T | undefined {
    if (this.#may({ verb: 'get', kind, namespace, name })) {
      return this.reader.get(kind, namespace, name, pick);
    }
    if (kind !== 'Secret') throw new Hidden();
    return pick(anySecret(namespace, name) as O);
  }

  list<O extends KubeObject, T>(
    index: Index<O>,
    value: string,
    pick: (object: O) => T,
  ): readonly T[] {
    const { kind } = index;
    if (!this.#may({ verb: 'list', kind, namespace: this.namespace })) throw new Hidden();
    const found = this.reader.list(index, value, withPlace(pick));
    if (found.every(({ namespace }) => namespace === this.namespace)) {
      return found.map(({ picked }) => picked);
    }
    const everywhere = this.#may({ verb: 'list', kind, namespace: '' });
    return found
      .filter(({ namespace }) => everywhere || namespace === this.namespace)
      .map(({ picked }) => picked);
  }

  names<O extends KubeObject>(index: Index<O>, value: string): readonly string[] {
    return this.list(index, value, nameOf);
  }

  #may(read: Read): boolean {
    const key = keyOfRead(read);
    const allowed = this.decisions.get(key);
    if (allowed === undefined) this.undecided.set(key, read);
    return allowed === true;
  }
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name;
}

/** Names a read, for its decision. */
export function keyOfRead({ verb, kind, namespace, name = '' }: Read): string {
  return [verb, kind, namespace, name].join('/');
}

interface Placed<T> {
  readonly namespace: string;
  readonly picked: T;
}

type Pick<T> = (object: never) => T;

/** A `pick` is a constant function: what it is known by stays so. */
const placed = new WeakMap<Pick<unknown>, Pick<Placed<unknown>>>();

function withPlace<O extends KubeObject, T>(pick: (object: O) => T): (object: O) => Placed<T> {
  const known = placed.get(pick);
  if (known) return known as (object: O) => Placed<T>;
  const made = (object: O): Placed<T> => ({
    namespace: object.metadata.namespace ?? '',
    picked: pick(object),
  });
  placed.set(pick, made);
  return made;
}

/** What every Secret has. */
function anySecret(namespace: string, name: string): KubeObject {
  const metadata = { namespace, name, uid: 'hidden', resourceVersion: '0' };
  return { apiVersion: 'v1', kind: 'Secret', metadata };
}
