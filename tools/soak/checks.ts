import { CHILD_KINDS } from '../../testbed/child-kinds.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { objectKind } from '../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import type { Client } from '../../runner/api/client.js';
import { resourcePath } from '../../runner/api/resource-path.js';

interface Live extends KubeObject {
  readonly status?: {
    readonly phase?: string;
    readonly observedGeneration?: number;
    readonly appliedHash?: string;
  };
}

/** Resources that are being deleted, or are not Ready for their present spec. */
export async function stuck(client: Client): Promise<readonly string[]> {
  const all = await resources(client);
  return all.filter((one) => !isSettled(one)).map((one) => `${nameOf(one)}: ${stateOf(one)}`);
}

/** Children whose owner does not exist. */
export async function orphans(client: Client): Promise<readonly string[]> {
  const uids = new Set((await resources(client)).map(({ metadata }) => metadata.uid));
  const children = await Promise.all(
    CHILD_KINDS.map((kind) => list(client, kind, `${MANAGED_BY_LABEL}=${MANAGED_BY}`)),
  );
  // Retained Secrets and volumes have no owner.
  return children
    .flat()
    .filter(({ metadata: { ownerReferences = [] } }) =>
      ownerReferences.some(({ controller, uid }) => controller === true && !uids.has(uid)),
    )
    .map(nameOf);
}

async function resources(client: Client): Promise<readonly Live[]> {
  const lists = DEFINITIONS.map((definition) => list(client, objectKind(definition)));
  return (await Promise.all(lists)).flat();
}

function isSettled({ metadata, status }: Live): boolean {
  const isObserved = status?.observedGeneration === metadata.generation;
  return metadata.deletionTimestamp === undefined && status?.phase === 'Ready' && isObserved;
}

function stateOf({ metadata, status }: Live): string {
  return metadata.deletionTimestamp === undefined ? (status?.phase ?? 'no status') : 'deleting';
}

async function list(client: Client, kind: ObjectKind, labels?: string): Promise<readonly Live[]> {
  const { items } = await client.request<{ readonly items: readonly Live[] }>(
    'GET',
    resourcePath(kind, 'default'),
    { query: { labelSelector: labels } },
  );
  return items.map((item) => ({ ...item, kind: kind.kind }));
}

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name}`;
}
