import type { MetadataKeys } from '../../constructs/kit/labels.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { MERGE_PATCH, type Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import { Pod } from '../health/pod-diagnostics.js';

/**
 * Has the kubelets bring a new version of a ConfigMap to the pods that mount it: left alone they take up
 * to a minute, but a pod that changes in any way gets its volumes at once. Never rejects: it only saves time.
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
    // The kubelets come by themselves.
  }
}
