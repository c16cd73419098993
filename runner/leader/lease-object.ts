import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { isConflict, isInvalid, isNotFound } from '../api/api-error.js';
import { type Client, JSON_PATCH } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';

export const LeaseKind: ObjectKind = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
};

/** The holder of the lease; times are microseconds in RFC 3339, for people only. */
export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

export interface LeaseOptions {
  /** Limit of each call. */
  readonly timeoutMs: number;
  /** Written with the lease. @default none */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** One Lease on the API server. Each call ends within `timeoutMs`. */
export class LeaseObject {
  constructor(
    private readonly client: Pick<Client, 'request'>,
    private readonly namespace: string,
    private readonly name: string,
    private readonly options: LeaseOptions,
  ) {}

  /** Undefined if the lease does not exist. */
  async read(signal?: AbortSignal, timeoutMs = this.options.timeoutMs): Promise<Lease | undefined> {
    try {
      const limits = { ...this.limits(signal), timeoutMs };
      return await this.client.request<Lease>('GET', this.path(), limits);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** @throws ApiError 409 if another candidate was faster */
  create(spec: LeaseSpec, signal?: AbortSignal): Promise<Lease> {
    const { apiVersion, kind } = LeaseKind;
    const metadata = { name: this.name, namespace: this.namespace, ...this.labelled() };
    return this.client.request<Lease>('POST', resourcePath(LeaseKind, this.namespace), {
      ...this.limits(signal),
      body: { apiVersion, kind, metadata, spec },
    });
  }

  /** @throws ApiError 409 if the lease has changed */
  replace(lease: Lease, spec: LeaseSpec, signal?: AbortSignal): Promise<Lease> {
    return this.client.request<Lease>('PUT', this.path(), {
      ...this.limits(signal),
      body: { ...lease, metadata: { ...lease.metadata, ...this.labelled(lease) }, spec },
    });
  }

  /**
   * Sets the time of the lease if it has this holder, whatever else has changed.
   * @returns undefined if it has another holder or does not exist
   */
  async touch(holder: string, renewTime: string, signal?: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.client.request<Lease>('PATCH', this.path(), {
        ...this.limits(signal),
        contentType: JSON_PATCH,
        body: [
          { op: 'test', path: '/spec/holderIdentity', value: holder },
          { op: 'add', path: '/spec/renewTime', value: renewTime },
        ],
      });
    } catch (error) {
      // Invalid: the test failed.
      if (isNotFound(error) || isInvalid(error)) return undefined;
      throw error;
    }
  }

  /** Deletes this version of the lease; a lease that was deleted or has changed is left. */
  async delete(lease: Lease): Promise<void> {
    const { uid, resourceVersion } = lease.metadata;
    try {
      const preconditions = { uid, resourceVersion };
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
      await this.client.request('DELETE', this.path(), { ...this.limits(undefined), body });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  private labelled(lease?: Lease): { readonly labels?: Readonly<Record<string, string>> } {
    const { labels } = this.options;
    return labels ? { labels: { ...lease?.metadata.labels, ...labels } } : {};
  }

  private path(): string {
    return resourcePath(LeaseKind, this.namespace, this.name);
  }

  private limits(signal: AbortSignal | undefined) {
    return { timeoutMs: this.options.timeoutMs, ...(signal && { signal }) };
  }
}

/** A time as a `MicroTime`. */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
