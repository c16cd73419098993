import type { Problem } from '../../constructs/kit/errors.js';
import { keyOfObject, type Resource } from '../../constructs/kit/object.js';
import type { PlannedStage } from './plan.js';

/** What is kept of a resource between two reconciles. It saves work and may be lost. */
export interface ReconcileState {
  readonly uid: string;
  /** The generation of which `problems` are known. */
  generation: number;
  problems: readonly Problem[];
  /** The stages of the plan, and the hash of what it was made from. */
  planned: { readonly key: string; readonly stages: readonly PlannedStage[] } | undefined;
  /** Since when the resource is not ready; milliseconds since 1970. */
  pendingSince: number | undefined;
  /** If diagnostics of a child were postponed: milliseconds until they are due. */
  diagnoseAfterMs: number | undefined;
  /** Whether the finalizer was removed: what the caches still show of the resource is old. */
  finalizerRemoved: boolean;
  /** The version of a deleted resource that the API server has confirmed. */
  confirmed: string | undefined;
  /** The child that a deletion waits for, how often it was read, and when it is read next. */
  awaited: { readonly id: string; readonly reads: number; readonly dueAt: number } | undefined;
  /** When the first point in time passes that the last reconcile read, in milliseconds since 1970. */
  dueAt: number;
  /** How often each failed Job was retried. */
  readonly retries: Map<string, number>;
}

/** The states of one kind. A resource that was deleted and created again starts with a new state. */
export class ReconcileStates {
  readonly #byKey = new Map<string, ReconcileState>();

  constructor(private readonly validate: (resource: Resource) => readonly Problem[]) {}

  of(resource: Resource): ReconcileState {
    const key = keyOfObject(resource);
    const { uid = '', generation = 0 } = resource.metadata;
    let state = this.#byKey.get(key);
    if (state?.uid !== uid) {
      state = {
        uid,
        generation: -1,
        problems: [],
        planned: undefined,
        pendingSince: undefined,
        diagnoseAfterMs: undefined,
        finalizerRemoved: false,
        confirmed: undefined,
        awaited: undefined,
        dueAt: Infinity,
        retries: new Map(),
      };
      this.#byKey.set(key, state);
    }
    if (state.generation !== generation) {
      state.generation = generation;
      state.problems = this.validate(resource);
    }
    return state;
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }
}
