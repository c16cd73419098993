import { ApiObject, JsonPatch, type Chart } from 'cdk8s';
import type { Index } from '../../constructs/kit/kind.js';
import {
  joined,
  keyOf,
  keyOfObject,
  type KubeObject,
  type Resource,
} from '../../constructs/kit/object.js';
import { referenceName, type Reference } from '../../constructs/kit/reference.js';
import type { AnyKind } from '../../constructs/registry.js';
import type { DependencyTracker } from '../cache/dependencies.js';
import type { Sink } from '../cache/reflector.js';
import { keepNewest } from '../kit/keep-newest.js';
import { ALL_BUCKETS, bucketOf, BUCKETS, bucketsByShard } from './buckets.js';

/** A shard and how many there are. `index` -1 owns nothing: its caches only answer. */
export interface ShardId {
  readonly index: number;
  readonly shards: number;
}

/** After a site appears or disappears, its dependents may change their shard: both owners wait. */
export const SETTLE_MS = 2_000;
const KEPT_BUCKETS = 10_000;

export interface OwnershipProps {
  readonly kinds: readonly AnyKind[];
  readonly shard: ShardId;
  /** Key of the label with the bucket of a child. */
  readonly bucketLabel: string;
  readonly objects: DependencyTracker['objects'];
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

/**
 * Which resources belong to a shard: a bench by its namespace and name, all others by the bench that
 * their references lead to. Users label nothing.
 */
export class Ownership {
  readonly #references: ReadonlyMap<string, Reference | undefined>;
  readonly #buckets = new Map<string, number>();
  readonly #own: ReadonlySet<number>;
  /** When a parent appeared or disappeared, by `<kind>/<namespace>/<name>`. */
  readonly #movedAt = new Map<string, number>();

  constructor(private readonly props: OwnershipProps) {
    const { kinds, shard } = props;
    this.#references = new Map(
      kinds.map(({ definition, references }) => [definition.kind, references[0]]),
    );
    this.#own = new Set(bucketsByShard(shard.shards).get(shard.index));
  }

  get shard(): ShardId {
    return this.props.shard;
  }

  owns(resource: Resource): boolean {
    return this.#own.has(this.#bucketOf(resource));
  }

  /** The labels of all children of a resource. */
  childLabels(resource: Resource): Readonly<Record<string, string>> {
    return { [this.props.bucketLabel]: String(this.#bucketOf(resource)) };
  }

  /** Selects the children of the shard, and those without a valid label: their owner labels them. */
  get selector(): string {
    const others = ALL_BUCKETS.filter((bucket) => !this.#own.has(bucket));
    return `${this.props.bucketLabel} notin (${others.join(',')})`;
  }

  /** A sink that keeps no children of other shards, for kinds that are watched without the selector. */
  ofOwn(sink: Sink): Sink {
    return {
      ...sink,
      replace: (objects, version, how) =>
        sink.replace(
          objects.filter((object) => this.#mayOwn(object)),
          version,
          how,
        ),
      upsert: (object) => {
        if (this.#mayOwn(object)) sink.upsert(object);
        else sink.remove(object);
      },
    };
  }

  /** Indexes by which the dependents of a parent are found. */
  indexes(): readonly Index[] {
    return [...this.#references].flatMap(([kind, reference]) =>
      reference && this.#references.get(reference.kind) ? [indexOf(kind, reference)] : [],
    );
  }

  /** Records that a resource has appeared or disappeared. @returns the indexes of its dependents */
  moved(kind: string, key: string): readonly { readonly kind: string; readonly index: Index }[] {
    const dependents = [...this.#references].flatMap(([name, reference]) =>
      reference?.kind === kind ? [{ kind: name, index: indexOf(name, reference) }] : [],
    );
    if (!this.#references.get(kind) || dependents.length === 0) return [];
    this.#movedAt.set(joined(kind, key), this.props.now());
    keepNewest(this.#movedAt, KEPT_BUCKETS);
    return dependents;
  }

  /** Milliseconds until a resource may be written: its shard may have changed just now. */
  settlesInMs(resource: Resource): number {
    const reference = this.#references.get(resource.kind);
    const name = reference && referenceName(resource, reference);
    if (name === undefined) return 0;
    const parent = joined(reference?.kind ?? '', keyOf(resource.metadata.namespace, name));
    const at = this.#movedAt.get(parent);
    return at === undefined ? 0 : Math.max(0, at + SETTLE_MS - this.props.now());
  }

  #mayOwn({ metadata }: KubeObject): boolean {
    const label = metadata.labels?.[this.props.bucketLabel];
    const bucket = label !== undefined && /^[0-9]{1,3}$/.test(label) ? Number(label) : -1;
    return bucket < 0 || bucket >= BUCKETS || this.#own.has(bucket);
  }

  #bucketOf(resource: Resource): number {
    const bench = this.#benchOf(resource);
    const known = this.#buckets.get(bench);
    if (known !== undefined) return known;
    const bucket = bucketOf(bench);
    this.#buckets.set(bench, bucket);
    keepNewest(this.#buckets, KEPT_BUCKETS);
    return bucket;
  }

  /** The bench of a resource; of one whose site does not exist, the name of the site. */
  #benchOf(resource: Resource): string {
    const { namespace } = resource.metadata;
    let key = keyOfObject(resource);
    let next: KubeObject | undefined = resource;
    while (next) {
      const reference = this.#references.get(next.kind);
      const name = reference && referenceName(next as Resource, reference);
      if (!reference || name === undefined) return key;
      key = keyOf(namespace, name);
      next = this.props.objects(reference.kind).get(key);
    }
    return key;
  }
}

function indexOf(kind: string, reference: Reference): Index {
  return {
    name: `${kind}By${reference.kind}`,
    kind,
    values: (object) => {
      const name = referenceName(object as Resource, reference);
      return name === undefined ? [] : [keyOf(object.metadata.namespace, name)];
    },
  };
}

/** Labels all objects of a chart; of a CronJob also its Jobs. Pods get none: they would restart. */
export function labelled<C extends Chart | undefined>(
  chart: C,
  labels: Readonly<Record<string, string>> | undefined,
): C {
  if (!labels) return chart;
  for (const object of chart?.node.findAll() ?? []) {
    if (!(object instanceof ApiObject)) continue;
    for (const [key, value] of Object.entries(labels)) {
      object.metadata.addLabel(key, value);
      if (object.kind !== 'CronJob') continue;
      const path = `/spec/jobTemplate/metadata/labels/${key.replaceAll('/', '~1')}`;
      object.addJsonPatch(JsonPatch.add(path, value));
    }
  }
  return chart;
}
