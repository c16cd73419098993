import type { MetadataKeys } from '../../../constructs/kit/metadata-keys.js';
import { keyOfObject, type KubeObject } from '../../../constructs/kit/object.js';
import { Secret, type ObjectKind } from '../../../constructs/kit/object-kind.js';
import { childOf, FIELD_MANAGER } from '../../../runner/cache/child.js';
import type { PlannedChild } from '../../../runner/reconcile/plan.js';
import type { ClusterSnapshot } from '../../kube/snapshot.js';
import type { DryRun } from './dry-run.js';
import { objectDiff, type ObjectDiff } from './object-diff.js';
import { withoutRun } from './patch.js';

/** A child in the plan of its resource. */
export interface ComparedChild {
  /** The resource, as `<kind>/<name>`. */
  readonly owner: string;
  readonly planned: PlannedChild;
  readonly object: KubeObject;
  /** The child in the plan of the live resource, if it can be planned. */
  readonly before: KubeObject | undefined;
}

/** Compares planned children with the live ones. */
export class ChildDiff {
  readonly #listsSecrets: boolean;

  constructor(
    private readonly dryRun: DryRun,
    private readonly snapshot: ClusterSnapshot,
    private readonly metadataKeys: MetadataKeys,
  ) {
    this.#listsSecrets = snapshot.lists(Secret);
  }

  /** @returns undefined without a difference @throws ApiError */
  async compare(child: ComparedChild): Promise<ObjectDiff | undefined> {
    const { owner, planned, object } = child;
    const { kind, createOnly, run } = planned;
    if (kind.kind === Secret.kind && !this.#listsSecrets) return undefined;
    const live = await this.#live(kind, object);
    if (createOnly === undefined) {
      const wanted = this.#listsSecrets ? object : this.#withLiveHash(live, child);
      const after = await this.dryRun.apply(kind, wanted, FIELD_MANAGER);
      return objectDiff(live ? 'change' : 'create', owner, live, after);
    }
    if (live) return this.#replacement(child, live);
    const after = run === undefined ? object : await this.dryRun.apply(kind, object, FIELD_MANAGER);
    return objectDiff('create', owner, undefined, after);
  }

  /** The operator never changes a generated Secret, and replaces a Job whose `run` has changed. */
  async #replacement(child: ComparedChild, live: KubeObject): Promise<ObjectDiff | undefined> {
    const { owner, planned, object, before } = child;
    const { kind, run } = planned;
    if (run === undefined || childOf(kind, live, this.metadataKeys).run === run) return undefined;
    const runBefore = before?.metadata.annotations?.[this.metadataKeys.run] ?? run;
    if (!this.#listsSecrets && runBefore === run) return undefined;
    const after = withoutRun(await this.dryRun.create(kind, object));
    return objectDiff('replace', owner, withoutRun(live), after);
  }

  /**
   * Hashes depend on versions of Secrets. Without the permission to list Secrets, a hash that the files
   * do not change counts as the live one.
   */
  #withLiveHash(live: KubeObject | undefined, { object, before }: ComparedChild): KubeObject {
    const { configHash } = this.metadataKeys;
    const [planned, old, current] = [object, before, live].map(
      (one) => templateOf(one)?.metadata?.annotations?.[configHash],
    );
    if (planned === undefined || current === undefined || (old ?? planned) !== planned)
      return object;
    const { spec } = object as Templated;
    const template = templateOf(object);
    const annotations = { ...template?.metadata?.annotations, [configHash]: current };
    const hashed = { ...template, metadata: { ...template?.metadata, annotations } };
    return { ...object, spec: { ...spec, template: hashed } } as KubeObject;
  }

  /** Of a Secret only the metadata is requested, never the values. */
  async #live(kind: ObjectKind, object: KubeObject): Promise<KubeObject | undefined> {
    const { namespace, name } = object.metadata;
    if (kind.kind !== Secret.kind) return this.dryRun.live(kind, namespace, name);
    return this.snapshot.of(kind).find((one) => keyOfObject(one) === keyOfObject(object));
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
