import { joined, keyOf, keyOfObject, type KubeObject } from '../../constructs/kit/object.js';
import type { DependencyTracker } from './dependencies.js';

/** Requests, results and progress of batches, in memory: see `StatusResult.batchObjects`. */
export class BatchObjects {
  readonly #byAuthor = new Map<string, readonly KubeObject[]>();

  constructor(private readonly dependencies: Pick<DependencyTracker, 'update'>) {}

  /** Replaces all objects of an author. Dependents of changed objects are enqueued. */
  set(author: string, objects: readonly KubeObject[]): void {
    const before = this.#byAuthor.get(author) ?? [];
    if (objects.length > 0) this.#byAuthor.set(author, objects);
    else this.#byAuthor.delete(author);
    const kept = new Set(objects.map(idOf));
    for (const object of before) {
      if (!kept.has(idOf(object))) this.#update(object, undefined);
    }
    for (const object of objects) this.#update(object, object);
  }

  of(author: string): readonly KubeObject[] {
    return this.#byAuthor.get(author) ?? [];
  }

  #update({ kind, metadata }: KubeObject, after: KubeObject | undefined): void {
    this.dependencies.update(kind, keyOf(metadata.namespace, metadata.name), after);
  }
}

function idOf(object: KubeObject): string {
  return joined(object.kind, keyOfObject(object));
}
