import type { KubeObject, OwnerReference } from '../../constructs/kit/object.js';
import { ApiError } from '../../runner/api/api-error.js';
import type { Client, Method, RequestOptions } from '../../runner/api/client.js';
import { METADATA_LIST } from '../../runner/api/media-type.js';

type Pod = Pick<KubeObject, 'metadata'>;

/** As much of an API server as reading pods needs; further paths have fixed answers. */
export class PodApi implements Pick<Client, 'request'> {
  /** As `LIST app=x 20`, with `metadata` where no more is requested, or `GET pod`. */
  readonly calls: string[] = [];
  pods: readonly Pod[];

  constructor(
    pods: readonly Pod[] = [],
    private readonly answers: Readonly<Record<string, object>> = {},
  ) {
    this.pods = pods;
  }

  request<T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> {
    const [ofPods, last] = /^\/api\/v1\/namespaces\/ns\/pods(?:\/(.+))?$/.exec(path) ?? [];
    if (ofPods === undefined) return Promise.resolve((this.answers[path] ?? { items: [] }) as T);
    if (last === undefined) return Promise.resolve(this.#list(options) as T);
    const name = decodeURIComponent(last);
    this.calls.push(`${method} ${name}`);
    const found = this.pods.find(({ metadata }) => metadata.name === name);
    return found
      ? Promise.resolve(found as T)
      : Promise.reject(new ApiError(404, 'NotFound', {}, 'no'));
  }

  get lists(): readonly string[] {
    return this.calls.filter((call) => call.startsWith('LIST'));
  }

  #list({ query = {}, accept }: RequestOptions): object {
    const { labelSelector = '', limit = 'all' } = query;
    const partial = accept === METADATA_LIST;
    this.calls.push(`LIST ${labelSelector} ${limit}${partial ? ' metadata' : ''}`);
    const [label = '', value] = labelSelector.split('=');
    const found = this.pods
      .filter(({ metadata }) => metadata.labels?.[label] === value)
      .toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name));
    const start = Number(query['continue'] ?? 0);
    const end = limit === 'all' ? found.length : start + Number(limit);
    const items = found.slice(start, end);
    return {
      ...{ apiVersion: 'v1', kind: 'PodList' },
      metadata: end < found.length ? { continue: String(end) } : {},
      items: partial ? items.map(({ metadata }) => ({ metadata })) : items,
    };
  }
}

/** A reference to the controller of a pod. */
export function controlledBy(
  kind: string,
  name: string,
  uid: string,
): { readonly ownerReferences: readonly OwnerReference[] } {
  const apiVersion = kind === 'Job' ? 'batch/v1' : 'apps/v1';
  const reference: OwnerReference = { apiVersion, kind, name, uid, controller: true };
  return { ownerReferences: [reference] };
}
