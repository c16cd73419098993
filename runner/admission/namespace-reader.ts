import type { ClusterReader, Index } from '../../constructs/kit/kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Settings } from '../../constructs/kit/operator-settings.js';

/** The answer would depend on an object of another namespace. */
export class OtherNamespace extends Error {
  override readonly name = 'OtherNamespace';
}

/** Reads one namespace, and what is in none: an author learns nothing of other namespaces from an answer. */
export class NamespaceReader implements ClusterReader {
  readonly settings: Settings;

  constructor(
    private readonly reader: ClusterReader,
    private readonly namespace: string,
  ) {
    this.settings = reader.settings;
  }

  serves(kind: ObjectKind): boolean {
    return this.reader.serves(kind);
  }

  isDue(since: string, afterMs?: number, options?: { readonly alignedBy?: string }): boolean {
    return this.reader.isDue(since, afterMs, options);
  }

  /** @throws OtherNamespace */
  get<O extends KubeObject, T>(
    kind: string,
    namespace: string,
    name: string,
    pick: (object: O) => T,
  ): T | undefined {
    if (namespace !== '' && namespace !== this.namespace) throw new OtherNamespace();
    return this.reader.get(kind, namespace, name, pick);
  }

  /** Admission generates no Secret. */
  generated<T>(namespace: string, name: string, pick: (secret: KubeObject) => T): T | undefined {
    return this.get('Secret', namespace, name, pick);
  }

  list<O extends KubeObject, T>(
    index: Index<O>,
    value: string,
    pick: (object: O) => T,
  ): readonly T[] {
    return this.reader
      .list(index, value, withNamespace(pick))
      .filter(({ namespace }) => namespace === this.namespace)
      .map(({ picked }) => picked);
  }

  names<O extends KubeObject>(index: Index<O>, value: string): readonly string[] {
    return this.list(index, value, nameOf);
  }
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name;
}

interface Placed<T> {
  readonly namespace: string;
  readonly picked: T;
}

type Picker<T> = (object: never) => T;

/** A `pick` is a constant function, and so is the one made of it. */
const picks = new WeakMap<Picker<unknown>, Picker<Placed<unknown>>>();

function withNamespace<O extends KubeObject, T>(pick: (object: O) => T): (object: O) => Placed<T> {
  const known = picks.get(pick);
  if (known) return known as (object: O) => Placed<T>;
  const made = (object: O): Placed<T> => ({
    namespace: object.metadata.namespace ?? '',
    picked: pick(object),
  });
  picks.set(pick, made);
  return made;
}
