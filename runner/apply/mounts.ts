import type { MetadataKeys } from '../../constructs/kit/labels.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { MERGE_PATCH, type Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import { Pod } from '../health/pod-diagnostics.js';

/**
 * Makes the kubelets update a mounted ConfigMap at once: without a change of the pod they take up to a
 * minute. Never rejects: it only saves time.
 */
export async function refreshMounts(
  client: Pick<Client, 'request'>,
  { metadata }: KubeObject,
  metadataKeys: MetadataKeys,
): Promise<void> {
  const app = metadata.annotations?.[metadataKeys.mountedBy];
  if (app === undefined) return;
  try {
    const { items } = await client.request<{ readonly items: readonly KubeObject[] }>(
      'GET',
      resourcePath(Pod, metadata.namespace),
      { query: { labelSelector: `app=${app}` } },
    );
    const annotations = { [metadataKeys.mounted]: metadata.resourceVersion };
    await Promise.all(
      items.map((pod) =>
        client.request('PATCH', resourcePath(Pod, metadata.namespace, pod.metadata.name), {
          contentType: MERGE_PATCH,
          body: { metadata: { annotations } },
        }),
      ),
    );
  } catch {
    // The kubelets update the volume later.
  }
}
