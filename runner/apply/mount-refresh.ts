import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { isNotFound } from '../api/api-error.js';
import { MERGE_PATCH, type Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import { ownedPods, Pod } from '../health/owned-pods.js';

/** Pods that are patched at once: all tenants share the connections. */
const AT_ONCE = 4;

/**
 * Makes the kubelets update a mounted ConfigMap at once: without a change of the pod they take up to a
 * minute. Pods of others with the label of the workload are skipped. Never rejects: it only saves time.
 */
export async function refreshMounts(
  client: Pick<Client, 'request'>,
  { metadata }: KubeObject,
  metadataKeys: MetadataKeys,
): Promise<void> {
  const { namespace = '', resourceVersion } = metadata;
  const app = metadata.annotations?.[metadataKeys.mountedBy];
  if (app === undefined) return;
  const body = { metadata: { annotations: { [metadataKeys.mounted]: resourceVersion } } };
  const refresh = async (pod: KubeObject): Promise<void> => {
    const path = resourcePath(Pod, namespace, pod.metadata.name);
    try {
      await client.request('PATCH', path, { contentType: MERGE_PATCH, body });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  };
  try {
    const owner = { namespace, kind: 'Deployment', name: app };
    const owned = await ownedPods(client, owner, `app=${app}`);
    const pods = owned.filter((pod) => pod.metadata.deletionTimestamp === undefined);
    for (let start = 0; start < pods.length; start += AT_ONCE) {
      await Promise.all(pods.slice(start, start + AT_ONCE).map(refresh));
    }
  } catch {
    // The kubelets update the volume later.
  }
}
