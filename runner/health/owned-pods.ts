import { defined } from '../../constructs/kit/json/defined.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { isNotFound } from '../api/api-error.js';
import type { Client } from '../api/client.js';
import { listAll } from '../api/list.js';
import { resourcePath } from '../api/resource-path.js';

/** Not watched: pods are listed only to explain a failure, or to read the result of a Job. */
export const Pod: ObjectKind = { apiVersion: 'v1', kind: 'Pod', plural: 'pods' };

/** Also the metadata of a pod can have more than a megabyte: pages are small. */
const PAGE_SIZE = 20;
/** Pages that are read, so that no number of pods makes the operator list without end. */
const PAGES = 10;

/** A workload or a Job whose pods are wanted. */
export interface PodOwner {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  /** Not needed for a Deployment, whose pods belong to its ReplicaSets. */
  readonly uid?: string;
}

/**
 * The metadata of the pods with a label whose controller is the owner, newest first. Whoever may create
 * pods can set the label, and give a pod any size: only metadata is listed, up to a number of pods.
 * An owner reference can be forged too, so a pod stays untrusted input, and callers read few of them.
 */
export async function ownedPods(
  client: Pick<Client, 'request'>,
  owner: PodOwner,
  labelSelector: string,
): Promise<readonly KubeObject[]> {
  const { items } = await listAll(client, resourcePath(Pod, owner.namespace), {
    labelSelector,
    metadataOnly: true,
    pageSize: PAGE_SIZE,
    maxPages: PAGES,
    compact,
  });
  const owned = items.filter((pod) => isOwned(pod, owner));
  return owned.sort((a, b) => createdAt(b).localeCompare(createdAt(a)));
}

/** A whole pod by its metadata; undefined if it was deleted, or replaced by another of its name. */
export async function readPod<P extends KubeObject>(
  client: Pick<Client, 'request'>,
  namespace: string,
  { metadata: { name, uid } }: KubeObject,
): Promise<P | undefined> {
  try {
    const pod = await client.request<P>('GET', resourcePath(Pod, namespace, name));
    return pod.metadata.uid === uid ? pod : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function isOwned({ metadata }: KubeObject, { kind, name, uid }: PodOwner): boolean {
  const [controller] = metadata.ownerReferences ?? [];
  if (!controller) return false;
  return kind === 'Deployment'
    ? controller.kind === 'ReplicaSet' && controller.name.startsWith(`${name}-`)
    : controller.uid === uid;
}

/** What is read of a pod, of its owner references the controller. */
function compact({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, uid, creationTimestamp, deletionTimestamp } = metadata;
  const ownerReferences = metadata.ownerReferences?.filter(({ controller }) => controller);
  const kept = defined({ uid, creationTimestamp, deletionTimestamp, ownerReferences });
  return { apiVersion, kind, metadata: { name, ...kept } };
}

function createdAt({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? '';
}
