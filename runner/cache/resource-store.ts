import { canonicalJson } from '../../constructs/kit/hash.js';
import { keyOfObject, type KubeObject, type Resource } from '../../constructs/kit/object.js';
import type { Sink } from './reflector.js';
import { Store } from './store.js';

interface Entry {
  readonly resourceVersion: string;
  readonly object: KubeObject;
}

export interface ResourceStoreProps {
  readonly onChange: (key: string, object: KubeObject | undefined) => void;
  /** Told of the number of resources in a namespace when it changes. */
  readonly onCount: (namespace: string, count: number) => void;
  /** Asks for a visit. */
  readonly enqueue: (key: string) => void;
}

/**
 * The custom resources of one kind. A status that the operator itself has written wakes nobody but
 * those who read it.
 */
export class ResourceStore implements Sink {
  readonly #store = new Store<Entry>(() => false);
  readonly #counts = new Map<string, number>();
  #remembering = false;

  constructor(private readonly props: ResourceStoreProps) {
    this.#store.onChange((key, before, after) => {
      if (!before || !after) this.#count(key, after ? 1 : -1);
      props.onChange(key, after?.object);
      const relevant = this.#remembering ? essence : withoutVersion;
      if (before && after && alike(relevant(before.object), relevant(after.object))) return;
      props.enqueue(key);
    });
  }

  /** Takes in the answer to a write of ours. It may hold somebody else's change, too, which the watch then brings as old news. */
  remember(object: KubeObject): void {
    this.#remembering = true;
    try {
      this.upsert(object);
    } finally {
      this.#remembering = false;
    }
  }

  replace(objects: readonly KubeObject[], version: string): void {
    this.scoped(() => true).replace(objects, version);
  }

  upsert(object: KubeObject): void {
    this.#store.upsert(keyOfObject(object), entryOf(object));
  }

  remove(object: KubeObject): void {
    this.#store.remove(keyOfObject(object), object.metadata.resourceVersion);
  }

  /** The sink of a reflector that sees some namespaces only. */
  scoped(inScope: (namespace: string) => boolean): Sink {
    return {
      replace: (objects, version) => {
        this.#store.replace(
          new Map(objects.map((object) => [keyOfObject(object), entryOf(object)])),
          version,
          (key) => inScope(key.slice(0, key.indexOf('/'))),
        );
      },
      upsert: (object) => {
        this.upsert(object);
      },
      remove: (object) => {
        this.remove(object);
      },
    };
  }

  #count(key: string, by: number): void {
    const namespace = key.slice(0, key.indexOf('/'));
    const count = (this.#counts.get(namespace) ?? 0) + by;
    if (count === 0) this.#counts.delete(namespace);
    else this.#counts.set(namespace, count);
    this.props.onCount(namespace, count);
  }
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Without what only the server and kubectl read. */
function entryOf(object: KubeObject): Entry {
  const { managedFields: _managed, annotations, ...metadata } = object.metadata;
  const { [LAST_APPLIED]: _applied, ...others } = annotations ?? {};
  return {
    resourceVersion: metadata.resourceVersion ?? '',
    object: {
      ...object,
      metadata: { ...metadata, ...(Object.keys(others).length > 0 ? { annotations: others } : {}) },
    },
  };
}

function alike(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** What of a resource others change: neither its status nor the finalizer are. */
function essence(object: KubeObject): unknown {
  const { generation, labels, annotations, deletionTimestamp } = object.metadata;
  return [(object as Resource).spec, generation, labels, annotations, deletionTimestamp];
}

function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _version, ...metadata } = object.metadata;
  return { ...object, metadata };
}
