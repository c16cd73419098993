import type { Client } from '../api/client.js';
import { listAll } from '../api/list.js';
import { resourcePath } from '../api/resource-path.js';
import { type Clock, systemClock } from '../kit/clock.js';
import { RELEASED_SECONDS, type Timing } from '../leader/leader-election.js';
import { type Lease, LeaseKind, LeaseObject, microTime } from '../leader/lease-object.js';
import type { GroupView } from './balance.js';

const SHARD_PREFIX = 'app-operator-shard-';
const REPLICA_PREFIX = 'app-operator-replica-';
/** A replica's Lease that was not renewed for this many durations is deleted. */
const DELETED_AFTER = 4;

export function shardLease(shard: number): string {
  return `${SHARD_PREFIX}${shard}`;
}

/** The Lease by which a replica is seen. @param identity ends in a UUID after an underscore */
export function replicaLease(identity: string): string {
  return `${REPLICA_PREFIX}${identity.slice(identity.lastIndexOf('_') + 1)}`;
}

/** The holder in the Lease of all replicas: one for each number of shards. */
export function groupIdentity(shards: number): string {
  return `app-operator-shards-${shards}`;
}

/** The number of shards of a group; undefined for another holder. */
export function shardsOf(holder: string): number | undefined {
  const match = /^app-operator-shards-([0-9]+)$/.exec(holder);
  return match ? Number(match[1]) : undefined;
}

export interface GroupLeasesProps {
  readonly client: Pick<Client, 'request'>;
  readonly namespace: string;
  readonly identity: string;
  readonly shards: number;
  /** Key of the label of all Leases of the group; its value is the number of shards. */
  readonly label: string;
  readonly timing: Timing;
  readonly clock?: Clock;
}

interface Seen {
  readonly lease: Lease;
  /** When this version was first seen, monotonic. */
  readonly at: number;
}

/** The Leases of a group as one replica sees them. Clocks are not compared: see `runLeaderElection`. */
export class GroupLeases {
  #seen = new Map<string, Seen>();

  constructor(private readonly props: GroupLeasesProps) {}

  get labels(): Readonly<Record<string, string>> {
    return { [this.props.label]: String(this.props.shards) };
  }

  /** Lists the Leases, and deletes those of replicas that ended. */
  async refresh(): Promise<GroupView> {
    const leases = await this.#list(`${this.props.label}=${this.props.shards}`);
    const now = this.#clock.monotonic();
    this.#seen = new Map(
      leases.map((lease) => {
        const { name, resourceVersion } = lease.metadata;
        const before = this.#seen.get(name);
        const isSame = before?.lease.metadata.resourceVersion === resourceVersion;
        return [name, before && isSame ? before : { lease, at: now }];
      }),
    );
    await this.#deleteEnded(now);
    return this.view();
  }

  view(): GroupView {
    const { identity, shards, timing } = this.props;
    const now = this.#clock.monotonic();
    const alive = [...this.#seen.values()].filter(
      // A replica stops by itself at the deadline, before others acquire its shards.
      ({ lease, at }) => isReplica(lease) && now - at < timing.renewDeadlineMs,
    );
    const holders = alive.flatMap(({ lease }) => lease.spec?.holderIdentity || []);
    return {
      replicas: [...new Set([identity, ...holders])],
      holders: Array.from(
        { length: shards },
        (_, shard) => this.#seen.get(shardLease(shard))?.lease.spec?.holderIdentity || undefined,
      ),
    };
  }

  /** Whether any shard has a Lease. */
  any(): boolean {
    return [...this.#seen.keys()].some((name) => name.startsWith(SHARD_PREFIX));
  }

  /**
   * Prepares the Leases of shards for a new group: all are free, and those of another number of shards
   * are deleted. Later a missing Lease is one that a user deleted: it is waited for.
   */
  async prepare(): Promise<void> {
    const { shards } = this.props;
    const leases = await this.#list(this.props.label);
    for (const lease of leases) {
      const { name } = lease.metadata;
      const index = name.startsWith(SHARD_PREFIX) ? Number(name.slice(SHARD_PREFIX.length)) : -1;
      if (index >= shards) await this.#object(name).delete(lease);
    }
    const names = new Set(leases.map(({ metadata }) => metadata.name));
    for (let shard = 0; shard < shards; shard++) {
      const name = shardLease(shard);
      if (names.has(name)) continue;
      const renewTime = microTime(this.#clock.now());
      await this.#object(name).create({ leaseDurationSeconds: RELEASED_SECONDS, renewTime });
    }
  }

  /** Deletes the Lease of this replica, after its end. */
  async leave(): Promise<void> {
    const object = this.#object(replicaLease(this.props.identity));
    const lease = await object.read();
    if (lease) await object.delete(lease);
  }

  get #clock(): Clock {
    return this.props.clock ?? systemClock;
  }

  #object(name: string): LeaseObject {
    const { client, namespace, timing } = this.props;
    const options = { timeoutMs: timing.renewDeadlineMs / 2, labels: this.labels };
    return new LeaseObject(client, namespace, name, options);
  }

  async #list(labelSelector: string): Promise<readonly Lease[]> {
    const { client, namespace, timing } = this.props;
    const signal = AbortSignal.timeout(Math.floor(timing.renewDeadlineMs / 2));
    const path = resourcePath(LeaseKind, namespace);
    return (await listAll(client, path, { labelSelector, signal })).items;
  }

  async #deleteEnded(now: number): Promise<void> {
    for (const [name, { lease, at }] of this.#seen) {
      if (!isReplica(lease) || now - at < DELETED_AFTER * this.props.timing.leaseMs) continue;
      await this.#object(name).delete(lease);
    }
  }
}

function isReplica({ metadata }: Lease): boolean {
  return metadata.name.startsWith(REPLICA_PREFIX);
}
