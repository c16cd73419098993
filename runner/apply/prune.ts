import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import { plannedOf, type Plan } from '../plan/plan.js';
import type { Applier, ChangeSetEntry } from './applier.js';

/** A resource, and the name under which its children are found: `<kind>/<namespace>/<name>`. */
export interface Owner {
  readonly resource: Resource;
  readonly key: string;
}

export interface PruneProps {
  readonly children: ChildCache;
  readonly applier: Pick<Applier, 'delete' | 'retain'>;
}

const NO_PLAN: Plan = {
  stages: [],
  object: () => undefined,
};

/** Deletes and retains the children that are not in a plan. */
export class Pruner {
  constructor(private readonly props: PruneProps) {}

  /**
   * Deletes the children that a resource no longer plans, the last created first. Data is never
   * pruned: it is deleted with its resource, not when the spec names another server.
   * @param kept kinds that `Kind.kept` names, and kinds unknown when the plan was made: it does not
   *   list their objects
   */
  async prune(
    owner: Owner,
    plan: Plan,
    kept: ReadonlySet<ObjectKind> = new Set(),
  ): Promise<ChangeSetEntry[]> {
    const { resource } = owner;
    return this.#deleteSurplus(
      owner,
      plan,
      (child) => mayPrune(child, resource) && !kept.has(child.kind),
    );
  }

  /** Deletes the children that the cleanup of a resource does not plan, data included. */
  async deleteUnwanted(owner: Owner, plan: Plan): Promise<ChangeSetEntry[]> {
    return this.#deleteSurplus(owner, plan, (child) => mayDelete(child, owner.resource));
  }

  /**
   * Deletes the children of a resource that has lost their names to another one. Data and generated
   * Secrets stay: they may belong to an earlier resource of its name.
   */
  async dropForNewOwner(owner: Owner): Promise<ChangeSetEntry[]> {
    const { resource } = owner;
    return this.#deleteSurplus(
      owner,
      NO_PLAN,
      (child) => mayPrune(child, resource) && !isGenerated(child),
    );
  }

  /**
   * Takes the data that is not in a plan from its resource: the deletion policy may have changed
   * since the data was last applied. Releases before the label `retain` did not mark data: there
   * generated Secrets are retained as well.
   */
  async retain({ resource, key }: Owner, plan?: Plan): Promise<readonly ChangeSetEntry[]> {
    const { applier, children } = this.props;
    const planned = new Set(plan && plannedOf(plan).map(({ id }) => id));
    const all = children.of(key);
    const marked = all.some(({ holdsData }) => holdsData);
    const data = all.filter(
      (child) =>
        !planned.has(child.id) &&
        isControlledBy(child, resource) &&
        (isData(child) || (!marked && isGenerated(child))),
    );
    for (const child of data) await applier.retain(child);
    return data.map(({ kind, name }) => ({ kind: kind.kind, name, change: 'configured' }));
  }

  async #deleteSurplus(
    { resource, key }: Owner,
    plan: Plan,
    mayDeleteChild: (child: Child) => boolean,
  ): Promise<ChangeSetEntry[]> {
    const planned = new Set(plannedOf(plan).map(({ id }) => id));
    const others = this.props.children.of(key).filter(({ id }) => !planned.has(id));
    const hasEarlier = others.some(
      (child) => !child.kind.deletedLast && blocksOthers(child) && isControlledBy(child, resource),
    );
    const surplus = others
      .filter((child) => mayDeleteChild(child) && !(child.kind.deletedLast && hasEarlier))
      .reverse();
    const changes: ChangeSetEntry[] = [];
    for (const child of surplus) {
      const change = await this.props.applier.delete(child);
      changes.push({ kind: child.kind.kind, name: child.name, change });
    }
    return changes;
  }
}

/**
 * Whether other children wait until a terminating child is deleted. An advisory child may terminate
 * forever, if its operator was removed.
 */
export function blocksOthers({ kind, deleting }: Child): boolean {
  return !(kind.optional === 'advisory' && deleting);
}

export function isControlledBy({ controller }: Child, resource: Resource): boolean {
  return controller === resource.metadata.uid;
}

/** Whether it is a Secret with values that cannot be generated again. */
function isGenerated({ kind, createOnly }: Child): boolean {
  return kind.kind === 'Secret' && createOnly !== undefined;
}

/** Whether a child is labelled as data, or is data by its kind. */
function isData({ holdsData, kind }: Child): boolean {
  return holdsData || kind.data !== undefined;
}

/** Whether a child that is no longer planned is deleted while its resource exists. */
export function mayPrune(child: Child, resource: Resource): boolean {
  return mayDelete(child, resource) && !isData(child);
}

/** Labels can be copied: only children that this resource controls are deleted. */
function mayDelete(child: Child, resource: Resource): boolean {
  return !child.retained && !child.deleting && isControlledBy(child, resource);
}
