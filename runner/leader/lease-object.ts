import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { isNotFound } from '../api/api-error.js';
import type { Client } from '../api/client.js';
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

/** One Lease on the API server. Each call ends within `timeoutMs`. */
export class LeaseObject {
  constructor(
    private readonly client: Pick<Client, 'request'>,
    private readonly namespace: string,
    private readonly name: string,
    /** Limit of each call. */
    private readonly timeoutMs: number,
  ) {}

  /** Undefined if the lease does not exist. */
  async read(signal?: AbortSignal, timeoutMs = this.timeoutMs): Promise<Lease | undefined> {
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
    const metadata = { name: this.name, namespace: this.namespace };
    return this.client.request<Lease>('POST', resourcePath(LeaseKind, this.namespace), {
      ...this.limits(signal),
      body: { apiVersion, kind, metadata, spec },
    });
  }

  /** @throws ApiError 409 if the lease has changed */
  replace(lease: Lease, spec: LeaseSpec, signal?: AbortSignal): Promise<Lease> {
    return this.client.request<Lease>('PUT', this.path(), {
      ...this.limits(signal),
      body: { ...lease, spec },
    });
  }

  private path(): string {
    return resourcePath(LeaseKind, this.namespace, this.name);
  }

  private limits(signal: AbortSignal | undefined) {
    return { timeoutMs: this.timeoutMs, ...(signal && { signal }) };
  }
}

/** A time as a `MicroTime`. */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
