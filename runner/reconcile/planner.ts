import { hashOf } from '../../constructs/kit/json/hash.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import { joined, keyOfObject, type Resource } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { AnyKind } from '../../constructs/registry.js';
import type { Owner } from '../apply/prune.js';
import { keepNewest } from '../kit/keep-newest.js';
import { childId } from '../cache/child.js';
import type { DependencyTracker } from '../cache/dependencies.js';
import {
  planOf,
  type Plan,
  type PlannedStage,
  type PlanProps,
  type RecordHolder,
} from '../plan/plan.js';
import type { ReconcileStates } from '../plan/reconcile-state.js';

export interface PlannerProps extends PlanProps {
  readonly kind: AnyKind;
  readonly dependencies: DependencyTracker;
}

/** Plans whose objects are kept for their next stage, of some 20 KiB each. */
const PLANS_HELD = 200;

/** Reads the inputs of a resource and plans its children. */
export class Planner {
  /** The newest plans that are not applied yet, by resource. */
  readonly #held = new Map<string, Plan>();

  constructor(
    private readonly props: PlannerProps,
    private readonly states: ReconcileStates,
  ) {}

  /** Reads; a change of what was read, also by a read that throws, enqueues the resource again. */
  read<T>(resource: Resource, read: (reader: ClusterReader) => T): T {
    const track = this.props.dependencies.track(this.ownerOf(resource).key);
    try {
      return read(track.reader);
    } finally {
      this.states.of(resource).dueAt = track.commit();
    }
  }

  /** The plan of a resource. It is synthesized again only if the spec or the inputs have changed. */
  plan(resource: Resource, inputs: unknown): Plan {
    const { kind } = this.props;
    const { uid, generation } = resource.metadata;
    const state = this.states.of(resource);
    const key = hashOf([uid, generation, this.#annotationsOf(resource), inputs]);
    const known = state.planned?.key === key ? state.planned.stages : undefined;
    const name = keyOfObject(resource);
    const held = this.#held.get(name);
    if (known && held?.stages === known) return held;
    const plan = this.planOf(
      resource,
      (scope, id) => kind.chart(scope, id, { resource, inputs }),
      known,
    );
    state.planned = { key, stages: plan.stages };
    const recorded = { ...plan, holder: this.holderOf(resource), owner: uid };
    this.#hold(name, recorded);
    return recorded;
  }

  /** The annotations that charts may read: those of our group, but not the operator's own record. */
  #annotationsOf({ metadata: { annotations = {} } }: Resource): unknown {
    const { group, recordedStatus } = this.props.metadataKeys;
    return Object.entries(annotations).filter(
      ([key]) => key.startsWith(`${group}/`) && key !== recordedStatus,
    );
  }

  /** The child that records which Jobs have succeeded. */
  holderOf(resource: Resource): RecordHolder | undefined {
    const recorded = this.props.kind.recordedIn?.(resource);
    if (!recorded) return undefined;
    const { kind, name } = recorded;
    const { namespace = 'default' } = resource.metadata;
    return { id: childId(kind, namespace, name), kind, namespace, name };
  }

  planOf(
    resource: Resource,
    build: Parameters<typeof planOf>[2],
    known?: readonly PlannedStage[],
  ): Plan {
    return planOf(resource, this.props, build, known);
  }

  /** All stages of the plan are applied: only a repair needs its objects. */
  applied(resource: Resource): void {
    this.#held.delete(keyOfObject(resource));
  }

  forget(key: string): void {
    this.#held.delete(key);
  }

  #hold(key: string, plan: Plan): void {
    this.#held.delete(key);
    this.#held.set(key, plan);
    keepNewest(this.#held, PLANS_HELD);
  }

  /** Kinds that the cluster does not serve, or not yet: no plan has objects of them. */
  unserved(): ReadonlySet<ObjectKind> {
    const { kinds, dependencies } = this.props;
    return new Set(
      [...kinds.values()].filter((kind) => kind.optional && !dependencies.serves(kind)),
    );
  }

  ownerOf(resource: Resource): Owner {
    return { resource, key: this.dependentOf(keyOfObject(resource)) };
  }

  dependentOf(key: string): string {
    return joined(this.props.kind.definition.kind, key);
  }
}
