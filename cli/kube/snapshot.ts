import { groupOf, keyOfObject, type KubeObject } from '../../constructs/kit/object.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { isForbidden, isNotFound } from '../../runner/api/api-error.js';
import type { Client } from '../../runner/api/client.js';
import { listAll } from '../../runner/api/list.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { CliError } from '../arguments/errors.js';
import { ServedKinds } from './discovery.js';
import type { Listing } from './kinds.js';

/** Something that a command could not read. */
export interface Omission {
  /** As in RBAC rules: `deployments.apps`. */
  readonly what: string;
  /** Undefined for all namespaces. */
  readonly namespace?: string;
  readonly why: string;
  /** The message of the API server, if it says more. */
  readonly message?: string;
}

/** The objects of a cluster at one moment, as far as the user may list them. */
export class ClusterSnapshot {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly omitted: Omission[] = [];

  /** The objects of a kind, by namespace and name. */
  of(kind: ObjectKind): readonly KubeObject[] {
    return [...(this.#objects.get(kindId(kind)) ?? [])]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object);
  }

  replace(kind: ObjectKind, objects: readonly KubeObject[]): void {
    const full = objects.map((object) => ({ ...object, ...typeOf(kind) }));
    this.#objects.set(kindId(kind), new Map(full.map((object) => [keyOfObject(object), object])));
  }

  /** Whether the kind was listed. */
  lists(kind: ObjectKind): boolean {
    return this.#objects.has(kindId(kind));
  }
}

/**
 * Lists everything at the same time.
 * @param namespace undefined for all
 * @throws CliError when the custom resources are not served, or the user may list none of them
 */
export async function takeSnapshot(
  client: Pick<Client, 'request'>,
  listings: readonly Listing[],
  namespace: string | undefined,
): Promise<ClusterSnapshot> {
  const snapshot = new ClusterSnapshot();
  const served = new ServedKinds(client);
  await Promise.all(
    listings.map(async (listing) => {
      const place = listing.kind.clusterScoped ? undefined : namespace;
      try {
        snapshot.replace(listing.kind, await listOf(client, listing, place));
      } catch (error) {
        if (isNotFound(error) && !listing.required) return;
        if (isNotFound(error)) throw notServed(listing.kind);
        if (!isForbidden(error)) throw error;
        if (!(await served.mayServe(listing.kind))) return;
        snapshot.omitted.push(omitted(listing.kind, place, FORBIDDEN_LIST));
      }
    }),
  );
  snapshot.omitted.sort((one, other) => (one.what < other.what ? -1 : 1));
  requireResources(snapshot, listings, namespace);
  return snapshot;
}

export const FORBIDDEN_LIST = 'forbidden: list';

/** @throws CliError when resources are listed, and none of their kinds may be */
function requireResources(
  snapshot: ClusterSnapshot,
  listings: readonly Listing[],
  namespace: string | undefined,
): void {
  const [first, ...others] = listings.filter(({ required }) => required);
  if (!first || [first, ...others].some(({ kind }) => snapshot.lists(kind))) return;
  const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
  const choice = namespace === undefined ? ', or use -n NAMESPACE' : '';
  throw new CliError(
    `forbidden: cannot list any resource of ${groupOf(first.kind.apiVersion)} ${where}; request a binding of the ClusterRole "view"${choice}`,
  );
}

/** All objects of a kind. @param namespace undefined for all */
export async function listOf(
  client: Pick<Client, 'request'>,
  { kind, labelSelector, metadataOnly }: Omit<Listing, 'required'>,
  namespace: string | undefined,
): Promise<readonly KubeObject[]> {
  const path = resourcePath(kind, namespace);
  const { items } = await listAll(client, path, { labelSelector, metadataOnly });
  return items.map((object) => ({ ...object, ...typeOf(kind) }));
}

export function omitted(kind: ObjectKind, namespace: string | undefined, why: string): Omission {
  return {
    what: resourceNameOf(kind),
    ...(namespace === undefined ? {} : { namespace }),
    why,
  };
}

/** The resource as in RBAC rules: `deployments.apps`. */
export function resourceNameOf({ apiVersion, plural }: ObjectKind): string {
  const group = groupOf(apiVersion);
  return group === '' ? plural : `${plural}.${group}`;
}

function notServed(kind: ObjectKind): CliError {
  return new CliError(
    `the cluster does not serve ${kindId(kind)}; to install app-operator, run: kubectl apply --server-side -f dist/install.yaml`,
  );
}

function typeOf({ apiVersion, kind }: ObjectKind): Pick<KubeObject, 'apiVersion' | 'kind'> {
  return { apiVersion, kind };
}
