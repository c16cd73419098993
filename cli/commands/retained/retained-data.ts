import { DEFAULT_API_GROUP, objectKind } from '../../../constructs/kit/definition.js';
import { metadataKeysFor } from '../../../constructs/kit/metadata-keys.js';
import type { KubeObject, Resource } from '../../../constructs/kit/object.js';
import {
  kindId,
  PersistentVolumeClaim,
  Secret,
  StatefulSet,
  type ObjectKind,
} from '../../../constructs/kit/object-kind.js';
import { bytesOf } from '../../../constructs/kit/quantity.js';
import { KINDS } from '../../../constructs/registry.js';
import type { ApiClient } from '../../kube/connect.js';
import { childKinds, POD } from '../../kube/kinds.js';
import {
  resourceNameOf,
  takeSnapshot,
  type ClusterSnapshot,
  type Omission,
} from '../../kube/snapshot.js';

/** An object that a deleted resource has left. */
export interface RetainedObject {
  readonly kind: ObjectKind;
  readonly name: string;
  readonly uid: string;
  readonly since: string;
  /** Storage that it requests, in bytes. */
  readonly storage: number;
  readonly runningPods: number;
}

/** All that one deleted resource has left. */
export interface RetainedOwner {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly objects: readonly RetainedObject[];
  /** Sites that still name a deleted bench: its volume has their files. */
  readonly usedBy: readonly string[];
}

export interface RetainedData {
  readonly owners: readonly RetainedOwner[];
  /** Kinds that could not be listed: their resources may use what others have left. */
  readonly unknownUsers: readonly string[];
  readonly omitted: readonly Omission[];
}

/** The kinds whose objects others are retained for: those with a deletion policy for children. */
export const OWNER_KINDS = KINDS.filter(({ cleanup }) => cleanup.retainsData !== undefined);

interface Claim extends KubeObject {
  readonly spec?: { readonly resources?: { readonly requests?: { readonly storage?: string } } };
}

interface Pod extends KubeObject {
  readonly status?: { readonly phase?: string };
}

/**
 * Lists the data of resources that do not exist any more.
 * @param namespace undefined for all
 */
export async function findRetained(
  client: Pick<ApiClient, 'request'>,
  namespace: string | undefined,
  apiGroup = DEFAULT_API_GROUP,
): Promise<RetainedData> {
  const keys = metadataKeysFor(apiGroup);
  const owners = OWNER_KINDS.map(({ definition }) => objectKind(definition, apiGroup));
  const labelSelector = `${keys.retain}=true`;
  const snapshot = await takeSnapshot(
    client,
    [
      ...owners.map((kind) => ({ kind, required: true as const })),
      ...childKinds(OWNER_KINDS).map((kind) => ({
        kind,
        labelSelector,
        ...(kindId(kind) === kindId(Secret) ? { metadataOnly: true as const } : {}),
      })),
      { kind: POD, labelSelector: keys.bench },
    ],
    namespace,
  );
  return {
    owners: ownersOf(snapshot, owners, keys.owner),
    unknownUsers: owners.filter((kind) => !snapshot.lists(kind)).map(resourceNameOf),
    omitted: snapshot.omitted,
  };
}

function ownersOf(
  snapshot: ClusterSnapshot,
  ownerKinds: readonly ObjectKind[],
  ownerLabel: string,
): readonly RetainedOwner[] {
  // Without a list of a kind, nothing says which of its resources are deleted.
  const known = ownerKinds.filter((kind) => snapshot.lists(kind));
  const existing = new Set(
    known.flatMap((kind) => snapshot.of(kind).map((owner) => idOf(kind.kind, owner.metadata))),
  );
  const found = new Map<string, { place: OwnerPlace; objects: RetainedObject[] }>();
  for (const kind of childKinds(OWNER_KINDS)) {
    for (const object of snapshot.of(kind)) {
      const place = ownerOf(object, ownerLabel);
      if (!place || !known.some((one) => one.kind === place.kind)) continue;
      // Kubernetes deletes it after its owner: it was not retained.
      if ((object.metadata.ownerReferences ?? []).length > 0) continue;
      const id = idOf(place.kind, place);
      if (existing.has(id)) continue;
      const entry = found.get(id) ?? { place, objects: [] };
      entry.objects.push(retainedObject(kind, object, snapshot));
      found.set(id, entry);
    }
  }
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { place, objects }]) => ({
      ...place,
      objects,
      usedBy: usersOf(place, known, snapshot),
    }));
}

interface OwnerPlace {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

function idOf(
  kind: string,
  { namespace = '', name }: { namespace?: string; name: string },
): string {
  return `${namespace}/${kind}/${name}`;
}

/** The resource in the owner label: `AppSite.shop`. */
function ownerOf({ metadata }: KubeObject, ownerLabel: string): OwnerPlace | undefined {
  const [, kind, name] = /^([A-Za-z]+)[.](.+)$/.exec(metadata.labels?.[ownerLabel] ?? '') ?? [];
  const { namespace = '' } = metadata;
  return kind !== undefined && name !== undefined ? { kind, namespace, name } : undefined;
}

function retainedObject(
  kind: ObjectKind,
  object: KubeObject,
  snapshot: ClusterSnapshot,
): RetainedObject {
  const { name, uid = '', creationTimestamp = '' } = object.metadata;
  const request = (object as Claim).spec?.resources?.requests?.storage;
  const isClaim = kindId(kind) === kindId(PersistentVolumeClaim);
  return {
    kind,
    name,
    uid,
    since: creationTimestamp,
    storage: isClaim && request !== undefined ? bytesOf(request) : 0,
    runningPods: kindId(kind) === kindId(StatefulSet) ? runningPods(object, snapshot) : 0,
  };
}

function runningPods({ metadata }: KubeObject, snapshot: ClusterSnapshot): number {
  const pods = snapshot.of(POD) as readonly Pod[];
  return pods.filter(
    (pod) =>
      pod.status?.phase === 'Running' &&
      pod.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid),
  ).length;
}

/** The resources that name a deleted one, such as sites of a bench. */
function usersOf(
  { kind, namespace, name }: OwnerPlace,
  ownerKinds: readonly ObjectKind[],
  snapshot: ClusterSnapshot,
): readonly string[] {
  return ownerKinds.flatMap((ownerKind) => {
    const known = OWNER_KINDS.find(({ definition }) => definition.kind === ownerKind.kind);
    const fields = (known?.references ?? []).filter((reference) => reference.kind === kind);
    return snapshot
      .of(ownerKind)
      .filter((user) => user.metadata.namespace === namespace)
      .filter((user) => fields.some(({ field }) => namedBy(user, field) === name))
      .map((user) => `${user.kind} ${user.metadata.name}`);
  });
}

function namedBy(object: KubeObject, field: string): string | undefined {
  const { spec } = object as Resource<Readonly<Record<string, { readonly name?: string }>>>;
  return spec[field]?.name;
}
