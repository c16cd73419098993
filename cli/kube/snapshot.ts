import { groupOf, keyOf, type KubeObject } from '../../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { isForbidden, isNotFound } from '../../runner/api/api-error.js';
import type { Client } from '../../runner/api/client.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { CliError } from '../arguments/command.js';
import type { Listing } from './kinds.js';

/** Something that was asked for and not shown. */
export interface Omission {
  /** `deployments.apps`, as RBAC has it. */
  readonly what: string;
  /** Undefined for all of them. */
  readonly namespace?: string;
  readonly why: string;
}

/** What there is, as far as one may see it. */
export class ClusterSnapshot {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly omitted: Omission[] = [];

  /** Everything seen of a kind, by namespace and name. */
  of(kind: ObjectKind): readonly KubeObject[] {
    return [...(this.#objects.get(kindId(kind)) ?? [])]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object);
  }

  replace(kind: ObjectKind, objects: readonly KubeObject[]): void {
    this.#objects.set(kindId(kind), new Map());
    for (const object of objects) this.put(kind, object);
  }

  put(kind: ObjectKind, object: KubeObject): void {
    const { namespace, name } = object.metadata;
    const full = { ...object, apiVersion: kind.apiVersion, kind: kind.kind };
    this.#objects.get(kindId(kind))?.set(keyOf(namespace, name), full);
  }

  remove(kind: ObjectKind, { metadata: { namespace, name } }: KubeObject): void {
    this.#objects.get(kindId(kind))?.delete(keyOf(namespace, name));
  }

  /** Whether a kind could be listed. */
  sees(kind: ObjectKind): boolean {
    return this.#objects.has(kindId(kind));
  }
}

const PAGE = '500';
export const METADATA_LIST =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json';

/**
 * Looks at everything that is listed, at once.
 * @param namespace undefined for all
 * @throws CliError where our kinds are not served, or none of them may be seen
 */
export async function takeSnapshot(
  client: Pick<Client, 'request'>,
  listings: readonly Listing[],
  namespace: string | undefined,
): Promise<ClusterSnapshot> {
  const snapshot = new ClusterSnapshot();
  await Promise.all(
    listings.map(async (listing) => {
      const place = listing.kind.clusterScoped ? undefined : namespace;
      try {
        snapshot.replace(listing.kind, await listOf(client, listing, place));
      } catch (error) {
        if (isNotFound(error) && !listing.required) return;
        if (isNotFound(error)) throw notServed(listing.kind);
        if (!isForbidden(error)) throw error;
        snapshot.omitted.push(omitted(listing.kind, place, 'you may not list them'));
      }
    }),
  );
  const ours = listings.filter(({ required }) => required);
  if (ours.length > 0 && !ours.some(({ kind }) => snapshot.sees(kind))) {
    const where = namespace === undefined ? 'the cluster' : `namespace ${namespace}`;
    throw new CliError(
      `you may see nothing of ${groupOf(ours[0]?.kind.apiVersion ?? '')} in ${where}: ask for a binding of the ClusterRole "view" there${namespace === undefined ? ', or name a namespace with -n' : ''}`,
    );
  }
  return snapshot;
}

/** All objects of a collection, page by page. */
export async function listOf(
  client: Pick<Client, 'request'>,
  { kind, labelSelector, metadataOnly }: Omit<Listing, 'required'>,
  namespace: string | undefined,
): Promise<readonly KubeObject[]> {
  const objects: KubeObject[] = [];
  let next: string | undefined;
  do {
    const page = await client.request<{
      readonly metadata: { readonly continue?: string };
      readonly items: readonly KubeObject[] | null;
    }>('GET', resourcePath(kind, namespace), {
      query: { limit: PAGE, continue: next, labelSelector },
      ...(metadataOnly ? { accept: METADATA_LIST } : {}),
    });
    objects.push(...(page.items ?? []));
    next = page.metadata.continue || undefined;
  } while (next);
  return objects.map((object) => ({ ...object, apiVersion: kind.apiVersion, kind: kind.kind }));
}

export function omitted(kind: ObjectKind, namespace: string | undefined, why: string): Omission {
  const group = groupOf(kind.apiVersion);
  return {
    what: group === '' ? kind.plural : `${kind.plural}.${group}`,
    ...(namespace === undefined ? {} : { namespace }),
    why,
  };
}

function notServed(kind: ObjectKind): CliError {
  return new CliError(
    `the cluster does not serve ${kindId(kind)}: is app-operator installed there? See \`kubectl apply --server-side -f dist/install.yaml\``,
  );
}
