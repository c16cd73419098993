import type { Index } from '../../../constructs/kit/kind.js';
import type { KubeObject, Resource } from '../../../constructs/kit/object.js';
import { keyOf } from '../../../constructs/kit/object.js';
import { kindId, Secret, type ObjectKind } from '../../../constructs/kit/object-kind.js';
import type { Settings } from '../../../constructs/kit/settings.js';
import { StaticReader, type StaticReaderProps } from '../../../constructs/kit/static-reader.js';
import { REFERENCE_KINDS, resourceKinds } from '../../kube/kinds.js';
import { omitted, type ClusterSnapshot } from '../../kube/snapshot.js';

/** A world of what is seen, with a clock. */
export class SnapshotReader extends StaticReader {
  readonly #missed = new Set<string>();

  constructor(
    props: StaticReaderProps,
    /** Kinds of which nothing is known, and their names in RBAC. */
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

  /** What was asked about since the last call and may not be seen, as RBAC has it. */
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
  /** What trees depend on that is not ours. */
  readonly others: ClusterSnapshot;
  readonly apiGroup: string;
  readonly settings: Settings;
  readonly serves: readonly string[];
  /** Objects that would be there instead. */
  readonly instead: readonly KubeObject[];
}

/** What the operator would read, with other objects in the place of some. */
export function readerWith(props: SnapshotReaderProps): SnapshotReader {
  const { snapshot, others, apiGroup, settings, instead } = props;
  const objects = new Map<string, KubeObject>();
  const kinds = [...resourceKinds(apiGroup), Secret];
  const seen = [
    ...kinds.flatMap((kind) => snapshot.of(kind)),
    ...REFERENCE_KINDS.flatMap((kind) => others.of(kind)),
  ];
  const isHidden = (kind: ObjectKind): boolean =>
    props.serves.includes(kindId(kind)) && !others.sees(kind);
  const hidden = REFERENCE_KINDS.filter(isHidden);
  // As for the operator, which does without what is in no namespace where it may not list it.
  const unknown = hidden.filter(({ clusterScoped }) => clusterScoped).map(kindId);
  const serves = props.serves.filter((id) => !unknown.includes(id));
  for (const object of [...seen, ...instead]) objects.set(idOf(object), object);
  return new SnapshotReader(
    {
      objects: [...objects.values()],
      settings,
      serves,
      // Who may not list Secrets cannot know whether one is there.
      ...(snapshot.sees(Secret) ? {} : { assume: assumeSecret }),
    },
    new Map(hidden.map((kind) => [kind.kind, omitted(kind, undefined, '').what])),
  );
}

function assumeSecret(kind: string, namespace: string, name: string): KubeObject | undefined {
  return kind === 'Secret' ? { apiVersion: 'v1', kind, metadata: { namespace, name } } : undefined;
}

/** The resources of ours that would be there. */
export function resourcesWith({
  snapshot,
  apiGroup,
  instead,
}: SnapshotReaderProps): readonly Resource[] {
  const kinds = resourceKinds(apiGroup);
  const objects = new Map<string, KubeObject>();
  for (const kind of kinds)
    for (const object of snapshot.of(kind)) objects.set(idOf(object), object);
  for (const object of instead) {
    if (
      kinds.some(({ kind, apiVersion }) => object.kind === kind && object.apiVersion === apiVersion)
    )
      objects.set(idOf(object), object);
  }
  return [...objects.values()] as unknown as readonly Resource[];
}

export function idOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${keyOf(metadata.namespace, metadata.name)}`;
}
