import type { KubeObject } from '../../../constructs/kit/object.js';
import type { ObjectKind } from '../../../constructs/kit/object-kind.js';
import { isNotFound } from '../../../runner/api/api-error.js';
import { APPLY_PATCH, type Client } from '../../../runner/api/client.js';
import { resourcePath } from '../../../runner/api/resource-path.js';

/** Sends writes to the API server as dry runs: nothing is stored. */
export class DryRun {
  constructor(private readonly client: Pick<Client, 'request'>) {}

  async live(kind: ObjectKind, namespace: string | undefined, name: string) {
    try {
      return await this.client.request<KubeObject>('GET', resourcePath(kind, namespace, name));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** The object after a forced server-side apply. @throws ApiError */
  apply(kind: ObjectKind, object: KubeObject, fieldManager: string): Promise<KubeObject> {
    const { namespace, name } = object.metadata;
    return this.client.request<KubeObject>('PATCH', resourcePath(kind, namespace, name), {
      query: { dryRun: 'All', fieldManager, force: 'true', fieldValidation: 'Strict' },
      contentType: APPLY_PATCH,
      body: object,
    });
  }

  /** The object as it would be created after the live one was deleted. @throws ApiError */
  async create(kind: ObjectKind, object: KubeObject): Promise<KubeObject> {
    // The live object still has the name.
    const { name, ...metadata } = object.metadata;
    const generateName = `${name}-`;
    const { namespace } = metadata;
    const created = await this.client.request<KubeObject & { metadata: { generateName?: string } }>(
      'POST',
      resourcePath(kind, namespace),
      { query: { dryRun: 'All' }, body: { ...object, metadata: { ...metadata, generateName } } },
    );
    const { generateName: _, ...made } = created.metadata;
    return { ...created, metadata: { ...made, name } };
  }
}
