import { keyOf, type KubeObject } from '../../constructs/kit/object.js';
import type { DependencyTracker } from './dependencies.js';

/** What resources tell each other, in memory: see `StatusResult.notes`. */
export class BatchObjects {
  readonly #byAuthor = new Map<string, readonly KubeObject[]>();

  constructor(private readonly dependencies: Pick<DependencyTracker, 'update'>) {}

  /** Replaces all that an author has said. Readers of what has changed are woken. */
  set(author: string, notes: readonly KubeObject[]): void {
    const before = this.#byAuthor.get(author) ?? [];
    if (notes.length > 0) this.#byAuthor.set(author, notes);
    else this.#byAuthor.delete(author);
    const kept = new Set(notes.map(idOf));
    for (const note of before) {
      if (!kept.has(idOf(note))) this.dependencies.update(note.kind, keyOfNote(note), undefined);
    }
    for (const note of notes) this.dependencies.update(note.kind, keyOfNote(note), note);
  }

  of(author: string): readonly KubeObject[] {
    return this.#byAuthor.get(author) ?? [];
  }
}

function keyOfNote({ metadata }: KubeObject): string {
  return keyOf(metadata.namespace, metadata.name);
}

function idOf(note: KubeObject): string {
  return `${note.kind}/${keyOfNote(note)}`;
}
