import type { Problem } from '../../constructs/kit/errors.js';
import { keyOf, type Resource } from '../../constructs/kit/object.js';
import type { Plan } from './plan.js';

/** What is known of a resource between two visits. All of it can be lost: it only saves work. */
export interface ReconcileState {
  readonly uid: string;
  /** The generation that `problems` speak of. */
  generation: number;
  problems: readonly Problem[];
  /** The plan, and the hash of what it was made from. */
  plan: { readonly key: string; readonly plan: Plan } | undefined;
  /** When the resource was last found not ready, after being ready; milliseconds since 1970. */
  pendingSince: number | undefined;
  /** Where a child was not asked yet why it is not ready: milliseconds until it should be, since the last visit. */
  askAgainMs: number | undefined;
  /** The last round of HTTP checks, what the plan was made from then, and how many rounds failed in a row. */
  probes: { readonly at: number; readonly planKey: string | undefined; readonly failures: number };
  /** Whether its finalizer was taken off: what is still seen of it is old, and nothing is done for it any more. */
  released: boolean;
  /** When the first point in time passes that the last visit asked about, in milliseconds since 1970. */
  dueAt: number;
  /** How often each failed Job was made anew. */
  readonly retries: Map<string, number>;
}

export const NEVER_PROBED = { at: -Infinity, planKey: undefined, failures: 0 } as const;

/** The memories of one kind. An object that was deleted and made again begins without one. */
export class ReconcileStates {
  readonly #byKey = new Map<string, ReconcileState>();

  constructor(private readonly validate: (resource: Resource) => readonly Problem[]) {}

  of(resource: Resource): ReconcileState {
    const key = keyOfResource(resource);
    const { uid = '', generation = 0 } = resource.metadata;
    let memory = this.#byKey.get(key);
    if (memory?.uid !== uid) {
      memory = {
        uid,
        generation: -1,
        problems: [],
        plan: undefined,
        pendingSince: undefined,
        askAgainMs: undefined,
        probes: NEVER_PROBED,
        released: false,
        dueAt: Infinity,
        retries: new Map(),
      };
      this.#byKey.set(key, memory);
    }
    if (memory.generation !== generation) {
      memory.generation = generation;
      memory.problems = this.validate(resource);
    }
    return memory;
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }
}

export function keyOfResource({ metadata }: Resource): string {
  return keyOf(metadata.namespace, metadata.name);
}
