import type { Index, ClusterReader } from './kind.js';
import { keyOf, keyOfObject, type KubeObject } from './object.js';
import { kindId, type ObjectKind } from './object-kind.js';
import { DEFAULT_SETTINGS, type Settings } from './operator-settings.js';

export interface StaticReaderProps {
  /** Everything that can be read. */
  readonly objects: readonly KubeObject[];
  /** @default DEFAULT_SETTINGS */
  readonly settings?: Settings;
  /** Optional APIs that are served, as `<apiVersion>/<kind>`. @default none */
  readonly serves?: readonly string[];
  /**
   * Answers for an object that is not among `objects`; used by previews, where references are taken
   * to exist.
   */
  readonly assume?: (kind: string, namespace: string, name: string) => KubeObject | undefined;
}

/** A reader of given objects, for previews and tests. Nothing in it changes. */
export class StaticReader implements ClusterReader {
  readonly settings: Settings;
  readonly #objects: ReadonlyMap<string, KubeObject>;

  constructor(private readonly props: StaticReaderProps) {
    this.settings = props.settings ?? DEFAULT_SETTINGS;
    this.#objects = new Map(
      props.objects.map((object) => [
        `${object.kind}/${keyOf(object.metadata.namespace ?? 'default', object.metadata.name)}`,
        object,
      ]),
    );
  }

  serves(kind: ObjectKind): boolean {
    return this.props.serves?.includes(kindId(kind)) ?? false;
  }

  /** Without a clock, no time has passed. */
  isDue(): boolean {
    return false;
  }

  get<O extends KubeObject, T>(
    kind: string,
    namespace: string,
    name: string,
    pick: (object: O) => T,
  ): T | undefined {
    const found =
      this.#objects.get(`${kind}/${keyOf(namespace || 'default', name)}`) ??
      this.props.assume?.(kind, namespace, name);
    return found && pick(found as O);
  }

  generated<T>(namespace: string, name: string, pick: (secret: KubeObject) => T): T | undefined {
    return this.get('Secret', namespace, name, pick);
  }

  names<O extends KubeObject>(index: Index<O>, value: string): readonly string[] {
    return this.list(index, value, ({ metadata }) => metadata.name);
  }

  list<O extends KubeObject, T>(index: Index<O>, value: string, pick: (object: O) => T): T[] {
    return [...this.#objects.values()]
      .filter((object) => object.kind === index.kind && index.values(object as O).includes(value))
      .sort((a, b) => (keyOfObject(a) < keyOfObject(b) ? -1 : 1))
      .map((object) => pick(object as O));
  }
}
