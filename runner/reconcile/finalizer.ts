import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { isNotFound } from '../api/api-error.js';
import { MERGE_PATCH, type Client } from '../api/client.js';
import { FIELD_MANAGER } from '../cache/child.js';
import { resourcePath } from '../api/resource-path.js';

/**
 * Adds and removes the operator's finalizer. Other finalizers stay: the list is written with the
 * version in which it was read, so a concurrent change is a conflict.
 */
export class Finalizer {
  constructor(
    private readonly client: Pick<Client, 'request'>,
    private readonly metadataKeys: MetadataKeys,
  ) {}

  has({ metadata }: Resource): boolean {
    return metadata.finalizers?.includes(this.metadataKeys.finalizer) ?? false;
  }

  /** @returns the updated resource; undefined if it no longer exists */
  async set(
    kind: ObjectKind,
    resource: Resource,
    wanted: boolean,
  ): Promise<KubeObject | undefined> {
    const { namespace, name, resourceVersion, finalizers = [] } = resource.metadata;
    const others = finalizers.filter((finalizer) => finalizer !== this.metadataKeys.finalizer);
    try {
      return await this.client.request<KubeObject>('PATCH', resourcePath(kind, namespace, name), {
        query: { fieldManager: FIELD_MANAGER },
        contentType: MERGE_PATCH,
        body: {
          metadata: {
            resourceVersion,
            finalizers: wanted ? [...others, this.metadataKeys.finalizer] : others,
          },
        },
      });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
