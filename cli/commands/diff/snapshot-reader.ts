import type { Index } from '../../../constructs/kit/kind.js';
import { keyOfObject, type KubeObject, type Resource } from '../../../constructs/kit/object.js';
import { kindId, Secret, type ObjectKind } from '../../../constructs/kit/object-kind.js';
import type { Settings } from '../../../constructs/kit/operator-settings.js';
import { StaticReader, type StaticReaderProps } from '../../../constructs/kit/static-reader.js';
import type { AnyKind } from '../../../constructs/registry.js';
import { referenceKinds, resourceKinds } from '../../kube/kinds.js';
import { resourceNameOf, type ClusterSnapshot } from '../../kube/snapshot.js';

/** Reads from a snapshot, with a clock. */
export class SnapshotReader extends StaticReader {
  readonly #missed = new Set<string>();

  constructor(
    props: StaticReaderProps,
    /** Kinds that could not be listed, with their names in RBAC rules. */
    private readonly hidden: ReadonlyMap<string, string>,
  ) {
    super(props);
  }

  override get<O extends KubeObject, T>(
    kind: string,
    namespace: string,
    name: string,
    pick: (object: O) => T,
  ): T | undefined {
    const picked = super.get(kind, namespace, name, pick);
    if (picked === undefined) this.#miss(kind);
    return picked;
  }

  override list<O extends KubeObject, T>(index: Index<O>, value: string, pick: (object: O) => T) {
    this.#miss(index.kind);
    return super.list(index, value, pick);
  }

  /** The hidden kinds that were read since the last call, by their names in RBAC rules. */
  missed(): readonly string[] {
    const missed = [...this.#missed];
    this.#missed.clear();
    return missed;
  }

  #miss(kind: string): void {
    const what = this.hidden.get(kind);
    if (what !== undefined) this.#missed.add(what);
  }

  override passed(since?: string, delayMs = 0): boolean {
    return since !== undefined && Date.parse(since) + delayMs <= Date.now();
  }
}

export interface SnapshotReaderProps {
  readonly snapshot: ClusterSnapshot;
  /** Objects that trees depend on and app-operator does not manage. */
  readonly references: ClusterSnapshot;
  readonly apiGroup: string;
  readonly settings: Settings;
  readonly serves: readonly string[];
  /** Objects that replace live ones, or are added. */
  readonly replacements: readonly KubeObject[];
  /** @default KINDS */
  readonly kinds?: readonly AnyKind[] | undefined;
}

/** A reader of the snapshot with its replacements. */
export function readerOf(props: SnapshotReaderProps): SnapshotReader {
  const { snapshot, references, apiGroup, settings, replacements } = props;
  const objects = new Map<string, KubeObject>();
  const kinds = [...resourceKinds(apiGroup, props.kinds), Secret];
  const referenced = referenceKinds(props.kinds);
  const listed = [
    ...kinds.flatMap((kind) => snapshot.of(kind)),
    ...referenced.flatMap((kind) => references.of(kind)),
  ];
  const isHidden = (kind: ObjectKind): boolean =>
    props.serves.includes(kindId(kind)) && !references.lists(kind);
  const hidden = referenced.filter(isHidden);
  // Without the permission to list a cluster-scoped kind, the operator works as if it were not served.
  const notServed = hidden.filter(({ clusterScoped }) => clusterScoped).map(kindId);
  const serves = props.serves.filter((id) => !notServed.includes(id));
  for (const object of [...listed, ...replacements]) objects.set(idOf(object), object);
  return new SnapshotReader(
    {
      objects: [...objects.values()],
      settings,
      serves,
      // Without the permission to list Secrets, every Secret is assumed to exist.
      ...(snapshot.lists(Secret) ? {} : { assume: assumeSecret }),
    },
    new Map(hidden.map((kind) => [kind.kind, resourceNameOf(kind)])),
  );
}

function assumeSecret(kind: string, namespace: string, name: string): KubeObject | undefined {
  return kind === 'Secret' ? { apiVersion: 'v1', kind, metadata: { namespace, name } } : undefined;
}

/** The custom resources of the snapshot with its replacements. */
export function resourcesIn({
  snapshot,
  apiGroup,
  replacements,
  kinds: registered,
}: SnapshotReaderProps): readonly Resource[] {
  const kinds = resourceKinds(apiGroup, registered);
  const objects = new Map<string, KubeObject>();
  for (const kind of kinds)
    for (const object of snapshot.of(kind)) objects.set(idOf(object), object);
  for (const object of replacements) {
    if (
      kinds.some(({ kind, apiVersion }) => object.kind === kind && object.apiVersion === apiVersion)
    )
      objects.set(idOf(object), object);
  }
  return [...objects.values()] as unknown as readonly Resource[];
}

export function idOf(object: KubeObject): string {
  return `${object.kind}/${keyOfObject(object)}`;
}
