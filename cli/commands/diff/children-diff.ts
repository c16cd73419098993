import { Stalled, Waiting } from '../../../constructs/kit/errors.js';
import { isPaused } from '../../../constructs/kit/annotations.js';
import { metadataKeysFor, type MetadataKeys } from '../../../constructs/kit/metadata-keys.js';
import { keyOfObject, type KubeObject, type Resource } from '../../../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../../../constructs/kit/object-kind.js';
import { ApiError } from '../../../runner/api/api-error.js';
import { mayPrune } from '../../../runner/apply/prune.js';
import { childOf, type Child } from '../../../runner/cache/child.js';
import { planOf, plannedOf, type Plan } from '../../../runner/reconcile/plan.js';
import { childKinds, kindNamed } from '../../kube/kinds.js';
import { ChildDiff, type ComparedChild } from './child-diff.js';
import type { DryRun } from './dry-run.js';
import { objectDiff, type Differences, type ObjectDiff } from './object-diff.js';
import {
  idOf,
  readerOf,
  resourcesIn,
  type SnapshotReader,
  type SnapshotReaderProps,
} from './snapshot-reader.js';

/** Requests at a time. */
const CONCURRENCY = 8;

/** A resource whose children are compared. */
interface ComparedResource {
  readonly resource: Resource;
  /** `<kind>/<name>`. */
  readonly name: string;
  /** The live resource. */
  readonly before: Resource | undefined;
  /** Whether the files hold the resource. Other resources count only if the files change their children. */
  readonly given: boolean;
}

/** How the children of resources change when objects replace live ones. */
export class ChildrenDiff {
  readonly #changes: ObjectDiff[] = [];
  readonly #problems: string[] = [];
  readonly #notes: string[] = [];
  readonly #metadataKeys: MetadataKeys;
  readonly #childKinds: readonly ObjectKind[];
  readonly #kindById: ReadonlyMap<string, ObjectKind>;
  readonly #before: SnapshotReader;
  readonly #after: SnapshotReader;
  readonly #childDiff: ChildDiff;

  constructor(
    dryRun: DryRun,
    private readonly props: SnapshotReaderProps,
    private readonly progress: ((line: string) => void) | undefined,
  ) {
    this.#metadataKeys = metadataKeysFor(props.apiGroup);
    this.#childKinds = childKinds(props.kinds);
    this.#kindById = new Map(this.#childKinds.map((kind) => [kindId(kind), kind]));
    this.#before = readerOf({ ...props, replacements: [] });
    this.#after = readerOf(props);
    this.#childDiff = new ChildDiff(dryRun, props.snapshot, this.#metadataKeys);
  }

  async differences(): Promise<Differences> {
    const { replacements } = this.props;
    const given = new Set(replacements.map(idOf));
    const live = new Map(
      resourcesIn({ ...this.props, replacements: [] }).map((one) => [idOf(one), one]),
    );
    const resources = resourcesIn(this.props);
    for (const [index, resource] of resources.entries()) {
      this.progress?.(`diff: ${index} of ${resources.length} resources compared`);
      const id = idOf(resource);
      const name = `${resource.kind}/${resource.metadata.name}`;
      await this.#compare({ resource, name, before: live.get(id), given: given.has(id) });
    }
    return { changes: this.#changes, problems: this.#problems, notes: this.#notes };
  }

  async #compare(compared: ComparedResource): Promise<void> {
    const { resource, before, given, name } = compared;
    if (resource.metadata.deletionTimestamp !== undefined) return;
    if (isPaused(resource)) {
      if (given) this.#notes.push(`${name}: paused; its children do not change`);
      return;
    }
    const plan = this.#planAfter(compared);
    if (!plan) return;
    const old = before && this.#planBefore(before);
    await this.#compareChildren(compared, plan, old);
    const blocked = plan.stages.find(({ blockedReason }) => blockedReason !== undefined);
    if (blocked?.blockedReason !== undefined && given)
      this.#notes.push(`${name}: blocked: ${blocked.blockedReason}`);
    this.#comparePruned(compared, plan, old);
  }

  async #compareChildren(
    { name: owner, given }: ComparedResource,
    plan: Plan,
    old: Plan | undefined,
  ): Promise<void> {
    const hashes = new Map((old ? plannedOf(old) : []).map(({ id, hash }) => [id, hash]));
    const objects = plan.objects();
    const oldObjects = old?.objects();
    const compared = plannedOf(plan)
      .filter(({ id, hash }) => given || hashes.get(id) !== hash)
      .flatMap((planned): ComparedChild | [] => {
        const object = objects.get(planned.id);
        return object ? { owner, planned, object, before: oldObjects?.get(planned.id) } : [];
      });
    for (let index = 0; index < compared.length; index += CONCURRENCY) {
      const batch = compared.slice(index, index + CONCURRENCY);
      const diffs = await Promise.all(batch.map((child) => this.#compareChild(child)));
      this.#changes.push(...diffs.flatMap((diff) => diff ?? []));
    }
  }

  async #compareChild(child: ComparedChild): Promise<ObjectDiff | undefined> {
    try {
      return await this.#childDiff.compare(child);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { planned, owner } = child;
      this.#problems.push(`${planned.kind.kind}/${planned.name} of ${owner}: ${error.message}`);
      return undefined;
    }
  }

  #comparePruned({ resource, name, given }: ComparedResource, plan: Plan, old: Plan | undefined) {
    const planned = new Set(plannedOf(plan).map(({ id }) => id));
    const plannedBefore = new Set((old ? plannedOf(old) : []).map(({ id }) => id));
    for (const { child, object } of this.#childrenOf(resource)) {
      if (planned.has(child.id) || !mayPrune(child, resource)) continue;
      const diff =
        given || plannedBefore.has(child.id)
          ? objectDiff('prune', name, object, undefined)
          : undefined;
      if (diff) this.#changes.push(diff);
    }
  }

  /** The plan with the files; undefined when the resource cannot be planned, with a note or a problem. */
  #planAfter({ resource, name, given }: ComparedResource): Plan | undefined {
    let plan: Plan | undefined;
    let failure: Stalled | Waiting | undefined;
    try {
      plan = this.#plan(resource, this.#after);
    } catch (error) {
      if (!(error instanceof Stalled || error instanceof Waiting)) throw error;
      failure = error;
    }
    const hidden = this.#after.missed().join(', ');
    if (!given) return plan;
    if (failure instanceof Stalled)
      this.#problems.push(`${name}: would be Failed: ${failure.message}`);
    else if (failure) this.#notes.push(waitingNote(name, failure, hidden));
    else if (hidden !== '')
      this.#notes.push(`${name}: compared without ${hidden} (forbidden: list)`);
    return plan;
  }

  #planBefore(resource: Resource): Plan | undefined {
    try {
      return this.#plan(resource, this.#before);
    } catch (error) {
      if (error instanceof Stalled || error instanceof Waiting) return undefined;
      throw error;
    }
  }

  /** @throws Stalled, Waiting */
  #plan(resource: Resource, reader: SnapshotReader): Plan | undefined {
    const kind = kindNamed(resource.kind, this.props.kinds);
    if (!kind) return undefined;
    const inputs = kind.resolve(resource, reader);
    return planOf(
      resource,
      { kinds: this.#kindById, metadataKeys: this.#metadataKeys },
      (scope, id) => kind.chart(scope, id, { resource, inputs }),
    );
  }

  #childrenOf(resource: Resource): readonly { child: Child; object: KubeObject }[] {
    const owner = `${resource.kind}/${keyOfObject(resource)}`;
    return this.#childKinds.flatMap((kind) =>
      this.props.snapshot
        .of(kind)
        .map((object) => ({ child: childOf(kind, object, this.#metadataKeys), object }))
        .filter(({ child }) => child.owner === owner),
    );
  }
}

/** An object that the resource waits for may exist, but the user may not list its kind. */
function waitingNote(name: string, error: Waiting, hidden: string): string {
  return hidden === ''
    ? `${name}: would wait: ${error.message}`
    : `${name}: not compared; it depends on ${hidden} (forbidden: list)`;
}
