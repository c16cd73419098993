import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { isForbidden, isNotFound } from '../../runner/api/api-error.js';
import type { Client } from '../../runner/api/client.js';

/** A kind that the cluster serves. */
export interface ServedKind extends ObjectKind {
  readonly namespaced: boolean;
}

/** The kinds that the cluster serves. Each version of a group is requested once. */
export class ServedKinds {
  readonly #versions = new Map<string, Promise<ReadonlyMap<string, ServedKind>>>();

  constructor(private readonly client: Pick<Client, 'request'>) {}

  /** The kind; undefined when it is not served. */
  async of(apiVersion: string, kind: string): Promise<ServedKind | undefined> {
    let version = this.#versions.get(apiVersion);
    version ??= this.#kindsOf(apiVersion);
    this.#versions.set(apiVersion, version);
    return (await version).get(kind);
  }

  /**
   * Whether the cluster serves an optional kind, or may do so. Without rights the API server responds to a list
   * alike, whether it serves the kind or not.
   */
  async mayServe({ optional, apiVersion, kind }: ObjectKind): Promise<boolean> {
    if (!optional) return true;
    try {
      return (await this.of(apiVersion, kind)) !== undefined;
    } catch (error) {
      if (isForbidden(error)) return true;
      throw error;
    }
  }

  /** The served kinds among some, as `<apiVersion>/<kind>`. */
  async among(kinds: readonly ObjectKind[]): Promise<readonly string[]> {
    const found = await Promise.all(
      kinds.map(async (kind) => ((await this.of(kind.apiVersion, kind.kind)) ? kindId(kind) : [])),
    );
    return found.flat();
  }

  async #kindsOf(apiVersion: string): Promise<ReadonlyMap<string, ServedKind>> {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    try {
      const { resources } = await this.client.request<{
        resources: readonly { name: string; kind: string; namespaced: boolean }[];
      }>('GET', path);
      return new Map(
        resources
          .filter(({ name }) => !name.includes('/'))
          .map(({ name, kind, namespaced }) => [
            kind,
            { apiVersion, kind, plural: name, namespaced },
          ]),
      );
    } catch (error) {
      if (isNotFound(error)) return new Map();
      throw error;
    }
  }
}
