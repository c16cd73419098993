import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import { isPaused, metadataKeysFor, type MetadataKeys } from '../../constructs/kit/labels.js';
import { keyOf, type KubeObject, type Resource } from '../../constructs/kit/object.js';
import { kindId, Secret, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { KINDS } from '../../constructs/registry.js';
import { ApiError } from '../../runner/api/api-error.js';
import { childOf, FIELD_MANAGER, type Child } from '../../runner/cache/child.js';
import { mayPrune } from '../../runner/apply/prune.js';
import { planOf, plannedOf, type Plan, type PlannedChild } from '../../runner/reconcile/plan.js';
import { CHILD_KINDS } from '../kube/kinds.js';
import type { DryRun } from './dry-run.js';
import { patchOf, withoutRun } from './text.js';
import {
  idOf,
  resourcesWith,
  readerWith,
  type SnapshotReader,
  type SnapshotReaderProps,
} from './snapshot-reader.js';

/** Something that would be another one. This is what `diff -o json` prints, so it is public API. */
export interface ObjectDiff {
  readonly action: 'create' | 'change' | 'replace' | 'prune';
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The resource that it belongs to, as `<kind>/<name>`; null for what the files hold. */
  readonly owner: string | null;
  /** Unified; values of Secrets are masked. */
  readonly patch: string;
}

export interface Differences {
  readonly changes: readonly ObjectDiff[];
  /** What could not be found out, each in a line. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

const KIND_BY_ID = new Map(CHILD_KINDS.map((kind) => [kindId(kind), kind]));
const AT_ONCE = 8;

/** What becomes of the children of resources when some of them are replaced by others. */
export class Differ {
  readonly #changes: ObjectDiff[] = [];
  readonly #problems: string[] = [];
  readonly #notes: string[] = [];
  readonly #metadataKeys: MetadataKeys;
  readonly #before: SnapshotReader;
  readonly #after: SnapshotReader;
  readonly #seesSecrets: boolean;

  constructor(
    private readonly dryRun: DryRun,
    private readonly props: SnapshotReaderProps,
    private readonly progress: ((line: string) => void) | undefined,
  ) {
    this.#metadataKeys = metadataKeysFor(props.apiGroup);
    this.#before = readerWith({ ...props, instead: [] });
    this.#after = readerWith(props);
    this.#seesSecrets = props.snapshot.sees(Secret);
  }

  async differences(): Promise<Differences> {
    const { instead } = this.props;
    const given = new Set(instead.map(idOf));
    const live = new Map(
      resourcesWith({ ...this.props, instead: [] }).map((one) => [idOf(one), one]),
    );
    const resources = resourcesWith(this.props);
    for (const [index, resource] of resources.entries()) {
      this.progress?.(`diff: ${index} of ${resources.length} resources compared`);
      const id = idOf(resource);
      const before = live.get(id);
      await this.#resource(resource, before, given.has(id));
    }
    return { changes: this.#changes, problems: this.#problems, notes: this.#notes };
  }

  async #resource(resource: Resource, before: Resource | undefined, given: boolean) {
    if (resource.metadata.deletionTimestamp !== undefined) return;
    const name = `${resource.kind}/${resource.metadata.name}`;
    if (isPaused(resource)) {
      if (given) this.#notes.push(`${name}: is paused: nothing of it would change`);
      return;
    }
    const plan = this.#plan(resource, this.#after, (error) => this.#cannot(name, error, given));
    const missed = this.#after.missed().join(', ');
    if (!plan) return;
    if (given && missed !== '')
      this.#notes.push(`${name}: compared as if there were no ${missed}, which you may not list`);
    const old = before && this.#plan(before, this.#before, () => undefined);
    const known = new Map((old ? plannedOf(old) : []).map(({ id, hash }) => [id, hash]));
    // What is not in the files concerns us only where it would be another one by what is in them.
    const wanted = plannedOf(plan).filter(({ id, hash }) => given || known.get(id) !== hash);
    for (let index = 0; index < wanted.length; index += AT_ONCE) {
      const some = wanted.slice(index, index + AT_ONCE);
      const changes = await Promise.all(
        some.map((planned) => this.#child(name, plan, planned, old?.objects().get(planned.id))),
      );
      this.#changes.push(...changes.flatMap((change) => change ?? []));
    }
    const blockedReason = plan.stages.find(
      (stage) => stage.blockedReason !== undefined,
    )?.blockedReason;
    if (blockedReason !== undefined && given)
      this.#notes.push(`${name}: held back for now: ${blockedReason}`);
    const retainsData = new Set(plannedOf(plan).map(({ id }) => id));
    for (const { child, object } of this.#childrenOf(resource)) {
      const goes = !retainsData.has(child.id) && mayPrune(child, resource);
      const change =
        goes && (given || known.has(child.id)) && changeOf('prune', name, object, undefined);
      if (change) this.#changes.push(change);
    }
  }

  #plan(
    resource: Resource,
    reader: SnapshotReader,
    onError: (error: Stalled | Waiting) => void,
  ): Plan | undefined {
    const kind = KINDS.find(({ definition }) => definition.kind === resource.kind);
    if (!kind) return undefined;
    try {
      const inputs = kind.resolve(resource, reader);
      return planOf(resource, KIND_BY_ID, this.#metadataKeys, (scope, id) =>
        kind.chart(scope, id, { resource, inputs }),
      );
    } catch (error) {
      if (!(error instanceof Stalled || error instanceof Waiting)) throw error;
      onError(error);
      return undefined;
    }
  }

  #cannot(name: string, error: Stalled | Waiting, given: boolean): void {
    if (!given) return;
    // What is waited for may be there, where it is not seen.
    const missed = this.#after.missed().join(', ');
    if (error instanceof Waiting)
      this.#notes.push(
        missed === ''
          ? `${name}: would wait: ${error.message}`
          : `${name}: not compared: it depends on ${missed}, which you may not list`,
      );
    else this.#problems.push(`${name}: would be Failed: ${error.message}`);
  }

  /** @param before the child as it should be by what is there; undefined where that is not known */
  async #child(
    owner: string,
    plan: Plan,
    planned: PlannedChild,
    before: KubeObject | undefined,
  ): Promise<ObjectDiff | undefined> {
    const object = plan.objects().get(planned.id);
    if (!object) return undefined;
    const { kind } = planned;
    if (kind.kind === Secret.kind && !this.#seesSecrets) return undefined;
    try {
      const live = await this.#live(kind, object);
      if (live && planned.createOnly !== undefined) {
        // A Secret is generated once; a Job is made anew where it has something else to do.
        const { run } = childOf(kind, live, this.#metadataKeys);
        if (planned.run === undefined || run === planned.run) return undefined;
        const asBefore = before?.metadata.annotations?.[this.#metadataKeys.run] ?? planned.run;
        if (!this.#seesSecrets && asBefore === planned.run) return undefined;
        const reconcileAgain = withoutRun(await this.dryRun.reconcileAgain(kind, object));
        return changeOf('replace', owner, withoutRun(live), reconcileAgain);
      }
      const generated = planned.createOnly !== undefined && planned.run === undefined;
      const wanted = this.#seesSecrets ? object : this.#hashedAs(live, object, before);
      const after = generated ? object : await this.dryRun.apply(kind, wanted, FIELD_MANAGER);
      return changeOf(live ? 'change' : 'create', owner, live, after);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#problems.push(`${kind.kind}/${planned.name} of ${owner}: ${error.message}`);
      return undefined;
    }
  }

  /**
   * Hashes are made from versions of Secrets, too. Where those are not known, a hash that the files leave
   * as it is counts as the live one.
   */
  #hashedAs(
    live: KubeObject | undefined,
    object: KubeObject,
    before: KubeObject | undefined,
  ): KubeObject {
    const { configHash } = this.#metadataKeys;
    const [now, old, there] = [object, before, live].map(
      (one) => templateOf(one)?.metadata?.annotations?.[configHash],
    );
    if (now === undefined || there === undefined || (old ?? now) !== now) return object;
    const { spec } = object as Templated;
    const template = templateOf(object);
    const annotations = { ...template?.metadata?.annotations, [configHash]: there };
    const hashed = { ...template, metadata: { ...template?.metadata, annotations } };
    return { ...object, spec: { ...spec, template: hashed } } as KubeObject;
  }

  /** Of a Secret only metadata is known, and none of its values is asked for. */
  async #live(kind: ObjectKind, object: KubeObject): Promise<KubeObject | undefined> {
    const { namespace, name } = object.metadata;
    if (kind.kind !== Secret.kind) return this.dryRun.live(kind, namespace, name);
    return this.props.snapshot
      .of(kind)
      .find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  }

  #childrenOf(resource: Resource): readonly { child: Child; object: KubeObject }[] {
    const owner = `${resource.kind}/${keyOf(resource.metadata.namespace, resource.metadata.name)}`;
    return CHILD_KINDS.flatMap((kind) =>
      this.props.snapshot
        .of(kind)
        .map((object) => ({ child: childOf(kind, object, this.#metadataKeys), object }))
        .filter(({ child }) => child.owner === owner),
    );
  }
}

interface Templated extends KubeObject {
  readonly spec?: {
    readonly template?: {
      readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
    };
  };
}

function templateOf(object: KubeObject | undefined) {
  return (object as Templated | undefined)?.spec?.template;
}

/** A change; undefined where both say the same. */
export function changeOf(
  action: ObjectDiff['action'],
  owner: string | null,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): ObjectDiff | undefined {
  const { kind = '', metadata } = after ?? before ?? {};
  const { namespace = '', name = '' } = metadata ?? {};
  const patch = patchOf([kind, namespace, name].filter(Boolean).join('.'), before, after);
  return patch === '' ? undefined : { action, kind, namespace, name, owner, patch };
}
