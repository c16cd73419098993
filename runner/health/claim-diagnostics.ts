import type { KubeObject } from '../../constructs/kit/object.js';
import { PersistentVolumeClaim, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { resourcePath } from '../api/resource-path.js';
import type { Client } from '../api/client.js';

export const Event: ObjectKind = {
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  plural: 'events',
};

/** What is read of an event. The time of a repetition is in `series`, or in older clients' field. */
export interface EventObject extends KubeObject {
  readonly note?: string;
  readonly reason?: string;
  readonly series?: { readonly lastObservedTime?: string };
  readonly deprecatedLastTimestamp?: string;
}

interface Claim extends KubeObject {
  readonly spec?: { readonly accessModes?: readonly string[] };
  readonly status?: { readonly phase?: string };
}

interface PodVolumes extends KubeObject {
  readonly spec?: {
    readonly volumes?: readonly {
      readonly persistentVolumeClaim?: { readonly claimName?: string };
    }[];
  };
}

/** As the provisioner reports that it refuses a claim, and the controller that nothing can provide it. */
const REFUSALS: readonly unknown[] = ['ProvisioningFailed', 'FailedBinding'];
const MAX_TEXT = 300;
/** Claims of a pod that are read at most: whoever may create pods can name thousands. */
const MAX_CLAIMS = 10;

/** Why a claim of a pod is Pending; undefined if all are bound, or nothing refuses them. */
export async function problemOfClaims(
  client: Pick<Client, 'request'>,
  pod: KubeObject,
): Promise<string | undefined> {
  const { metadata, spec } = pod as PodVolumes;
  const names = spec?.volumes?.flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []);
  for (const name of new Set(names?.slice(0, MAX_CLAIMS))) {
    const path = resourcePath(PersistentVolumeClaim, metadata.namespace ?? '', name);
    const claim = await client.request<Claim>('GET', path);
    if (claim.status?.phase !== 'Pending') continue;
    const refusal = await lastRefusal(client, claim);
    if (refusal !== undefined) return `volume claim ${name} is Pending: ${refusal}${advice(claim)}`;
  }
  return undefined;
}

async function lastRefusal(
  client: Pick<Client, 'request'>,
  { metadata }: Claim,
): Promise<string | undefined> {
  const { items } = await client.request<{ items: readonly EventObject[] }>(
    'GET',
    resourcePath(Event, metadata.namespace ?? ''),
    { query: { fieldSelector: `regarding.uid=${metadata.uid ?? ''}`, limit: '20' } },
  );
  const [last] = items
    .filter(({ reason }) => REFUSALS.includes(reason))
    .toSorted((a, b) => lastSeen(b).localeCompare(lastSeen(a)));
  return last?.note?.slice(0, MAX_TEXT);
}

/** The storage of kind, minikube and k3s has no ReadWriteMany, which is the default of benches. */
function advice({ spec }: Claim): string {
  return spec?.accessModes?.includes('ReadWriteMany')
    ? '; without a storage class for ReadWriteMany, delete the bench and this claim, and create the bench with spec.storage.accessMode: ReadWriteOnce'
    : '';
}

/** When an event was last seen. */
export function lastSeen({ series, deprecatedLastTimestamp, metadata }: EventObject): string {
  return series?.lastObservedTime ?? deprecatedLastTimestamp ?? metadata.creationTimestamp ?? '';
}
