import type { ClusterReader } from '../../constructs/kit/kind.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import { aborted } from '../kit/aborted.js';
import type { Client } from '../api/client.js';
import { type Clock, systemClock } from '../kit/clock.js';
import { fenced } from '../leader/fence.js';
import {
  leaderIdentity,
  LEASE_NAME,
  runLeaderElection,
  type Term,
  type Timing,
  timingFor,
} from '../leader/leader-election.js';
import { Manager } from '../manager.js';
import type { ManagerProps } from '../wiring.js';
import { shareOf } from './balance.js';
import { GroupLeases, groupIdentity, replicaLease, shardLease, shardsOf } from './group-leases.js';

export interface ShardedManagerProps extends Omit<ManagerProps, 'shard'> {
  /** Renewals must not wait behind other calls. */
  readonly leaseClient: Client;
  /** Called when the replica can no longer tell whether another group works: it must end. */
  readonly onLost: () => void;
  readonly clock?: Clock;
  /** Makes the manager of a shard; tests pass their own. */
  readonly create?: (shard: number, client: Client) => ShardManager;
}

/** What reconciles the resources of one shard. */
export type ShardManager = Pick<
  Manager,
  'sync' | 'start' | 'stop' | 'forget' | 'stuck' | 'unready' | 'brokenWatches' | 'reader'
>;

/** A shard that this replica holds, or is about to acquire. */
interface Held {
  /** Ends the term, or the attempt to acquire. */
  readonly abort: AbortController;
  manager: ShardManager | undefined;
  term: Term | undefined;
  /** Whether it is about to be released: its manager must not begin to work. */
  draining: boolean;
  /** Whether the last write is answered, so that the Lease may be given to another replica. */
  drained: boolean;
}

/**
 * Works for a share of all benches. There is a Lease for each shard: only its holder writes to the
 * resources of the shard, by a manager of its own. Replicas of one number of shards hold the Lease of
 * the leader together, so that they never work beside a leader or a group of another number.
 */
export class ShardedManager {
  readonly #identity = leaderIdentity();
  readonly #timing: Timing;
  readonly #clock: Clock;
  readonly #leases: GroupLeases;
  readonly #shards = new Map<number, Held>();
  readonly #stop = new AbortController();
  readonly #resign = new AbortController();
  readonly #running: Promise<void>[] = [];
  #group: Term | undefined;
  #share = 0;
  /** Answers for webhooks while no shard is held. */
  #standby: ShardManager | undefined;

  constructor(private readonly props: ShardedManagerProps) {
    const { config, leaseClient: client, clock = systemClock } = props;
    this.#timing = timingFor(config.leaderElectLeaseMs);
    this.#clock = clock;
    this.#leases = new GroupLeases({
      ...{ client, clock, identity: this.#identity, shards: config.shards },
      namespace: config.leaderElectionNamespace,
      label: metadataKeysFor(config.apiGroup).shards,
      timing: this.#timing,
    });
    props.metrics.shards(config.shards);
  }

  /** Joins the group, and works until `stop`. */
  async start(): Promise<void> {
    await this.#standBy();
    if (this.#stop.signal.aborted) return;
    this.#running.push(this.#joinGroup());
  }

  /** Finishes the running reconciles of all shards, and releases these. */
  async drain(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#shards.keys()].map((shard) => this.#drain(shard)));
    await this.#standby?.stop();
  }

  /** Leaves the group. */
  async resign(): Promise<void> {
    this.#stop.abort();
    this.#resign.abort();
    await Promise.all(this.#running);
    await this.#leases.leave().catch(() => undefined);
  }

  stuck(): readonly string[] {
    const all = this.#managers().map((manager) => manager.stuck());
    return all.length > 0 && all.every((problems) => problems.length > 0) ? all.flat() : [];
  }

  /** A replica without a shard is ready: it waits for its share. */
  unready(): readonly string[] {
    if (this.reader()) return [];
    return this.#managers().flatMap((manager) => manager.unready());
  }

  brokenWatches(): readonly string[] {
    return this.#managers().flatMap((manager) => manager.brokenWatches());
  }

  reader(): ClusterReader | undefined {
    for (const manager of this.#managers()) {
      const reader = manager.reader();
      if (reader) return reader;
    }
    return undefined;
  }

  #managers(): readonly ShardManager[] {
    const held = [...this.#shards.values()].flatMap(({ manager }) => manager ?? []);
    return this.#standby ? [...held, this.#standby] : held;
  }

  #managerOf(index: number, client: Client): ShardManager {
    const { config, metrics, log, kinds, batches, create } = this.props;
    if (create) return create(index, client);
    return new Manager({
      ...{ config, client, metrics },
      log: log.child({ shard: index }),
      ...(kinds && { kinds }),
      ...(batches && { batches }),
      shard: { index, shards: config.shards },
    });
  }

  /** Fills caches that answer webhooks, unless a shard's caches do. */
  async #standBy(): Promise<void> {
    if (!this.props.config.webhooks || this.#managers().length > 0) return;
    this.#standby = this.#managerOf(-1, this.props.client);
    await Promise.race([this.#standby.sync(), aborted(this.#stop.signal)]);
  }

  /** Holds the leader's Lease together with all replicas of the same number of shards. */
  async #joinGroup(): Promise<void> {
    const { config } = this.props;
    await this.#elect({
      name: LEASE_NAME,
      identity: groupIdentity(config.shards),
      shared: true,
      // Others of the group renew it; without any, it expires.
      mayRelease: () => false,
      onWaiting: (holder) => {
        this.#reportWaiting(holder);
      },
      onElected: (term) => {
        this.#group = term;
        this.#running.push(this.#work(term));
      },
      onLost: this.props.onLost,
    });
  }

  #reportWaiting(holder: string | undefined): void {
    const { config, log } = this.props;
    if (!holder) return;
    const others = shardsOf(holder);
    if (others === undefined)
      log.warn('waiting for a replica without shards to end', { holder, shards: config.shards });
    else
      log.error(
        `--shards: got ${config.shards}, but other replicas run with ${others}; ` +
          'waiting until they end: give all replicas the same number',
      );
  }

  async #work(group: Term): Promise<void> {
    const { log, config } = this.props;
    await this.#retrying('prepare the leases of shards', async () => {
      if (group.previous !== undefined || (await this.#isNew())) await this.#leases.prepare();
    });
    this.#running.push(this.#announce());
    // Replicas that start together see each other before they take their shares.
    await this.#clock.sleep(this.#timing.retryMs * 1.5, this.#stop.signal);
    for (let shard = 0; shard < config.shards; shard++) this.#running.push(this.#compete(shard));
    const ended = (): boolean => this.#stop.signal.aborted || group.signal.aborted;
    while (!ended()) {
      try {
        const view = await this.#leases.refresh();
        this.#share = shareOf(this.#identity, view);
        await this.#releaseSurplus();
      } catch (error) {
        if (!ended()) log.warn('leases of shards not read', { error });
      }
      await this.#clock.sleep(this.#timing.retryMs, this.#stop.signal);
    }
  }

  /** Whether no shard was ever held: the group of a new installation. */
  async #isNew(): Promise<boolean> {
    await this.#leases.refresh();
    return !this.#leases.any();
  }

  /** Holds the Lease by which other replicas see this one. */
  async #announce(): Promise<void> {
    await this.#repeat(() =>
      this.#elect({
        name: replicaLease(this.#identity),
        identity: this.#identity,
        onElected: () => undefined,
        onLost: () => undefined,
      }),
    );
  }

  /** Acquires a shard whenever it is free and within the share of this replica. */
  async #compete(index: number): Promise<void> {
    await this.#repeat(() => this.#competeOnce(index));
  }

  async #competeOnce(index: number): Promise<void> {
    const held: Held = {
      ...{ abort: new AbortController(), manager: undefined, term: undefined },
      ...{ draining: false, drained: false },
    };
    const end = (): void => {
      held.abort.abort();
    };
    this.#resign.signal.addEventListener('abort', end, { once: true });
    try {
      await this.#elect({
        name: shardLease(index),
        identity: this.#identity,
        strict: true,
        signal: held.abort.signal,
        claim: () => this.#claim(index, held),
        unclaim: () => this.#shards.delete(index),
        mayRelease: () => held.drained,
        onElected: (term) => {
          void this.#serve(index, held, term);
        },
        onLost: () => {
          this.props.log.error(
            `lease ${shardLease(index)}: lost, since it was changed or could not be renewed; ` +
              'its benches are not written until it expires',
          );
        },
      });
    } finally {
      this.#resign.signal.removeEventListener('abort', end);
      await this.#end(index, held);
    }
  }

  #claim(index: number, held: Held): boolean {
    if (this.#stop.signal.aborted || this.#shards.size >= this.#share) return false;
    this.#shards.set(index, held);
    return true;
  }

  /** Fills the caches of a shard, then works for it until its term ends. */
  async #serve(index: number, held: Held, term: Term): Promise<void> {
    const { client, metrics, log } = this.props;
    const group = this.#group;
    if (!group) return;
    const signal = AbortSignal.any([term.signal, group.signal]);
    const mayWrite = (): boolean => term.isHeld() && group.isHeld();
    const manager = this.#managerOf(index, fenced(client, { mayWrite, signal: () => signal }));
    held.term = term;
    held.manager = manager;
    metrics.shardHeld(index, true);
    this.#reportLeader();
    log.info('shard acquired', { shard: index, previous: term.previous });
    try {
      await Promise.race([manager.sync(), aborted(signal), aborted(this.#stop.signal)]);
      if (signal.aborted || held.draining || this.#stop.signal.aborted) return;
      manager.start();
      log.info('caches are filled', { shard: index });
      await this.#standby?.stop();
      this.#standby = undefined;
    } catch (error) {
      log.error('shard not started', { shard: index, error });
    }
  }

  /** Gives back the shards beyond the share, for replicas that have fewer. */
  async #releaseSurplus(): Promise<void> {
    const { log } = this.props;
    const surplus = [...this.#shards.keys()].slice(this.#share);
    for (const shard of surplus) log.info('shard released', { shard, share: this.#share });
    await Promise.all(surplus.map((shard) => this.#drain(shard)));
  }

  /** Waits for the last writes of a shard, then releases its Lease. */
  async #drain(index: number): Promise<void> {
    const held = this.#shards.get(index);
    if (!held || held.draining) return;
    held.draining = true;
    const limit = new AbortController();
    const drained = (held.manager?.stop() ?? Promise.resolve()).then(() => true);
    const late = this.#clock
      .sleep(this.props.config.shutdownTimeoutMs, limit.signal)
      .then(() => false);
    held.drained = await Promise.race([drained, late]);
    limit.abort();
    held.abort.abort();
  }

  /** After a term, for whatever reason. */
  async #end(index: number, held: Held): Promise<void> {
    if (this.#shards.get(index) !== held) return;
    this.#shards.delete(index);
    if (!held.term) return;
    this.props.metrics.shardHeld(index, false);
    this.#reportLeader();
    if (!held.drained) await held.manager?.stop();
    await held.manager?.forget();
    if (!this.#stop.signal.aborted) await this.#standBy();
  }

  /** The holder of the first shard writes the objects of the operator itself: it is the leader. */
  #reportLeader(): void {
    this.props.metrics.leader(this.#shards.get(0)?.term !== undefined);
  }

  async #elect(
    election: Omit<
      Parameters<typeof runLeaderElection>[0],
      'client' | 'namespace' | 'log' | 'timing' | 'clock' | 'signal'
    > & { readonly signal?: AbortSignal },
  ): Promise<void> {
    const { leaseClient: client, config, log } = this.props;
    await runLeaderElection({
      ...{ client, clock: this.#clock, timing: this.#timing, labels: this.#leases.labels },
      namespace: config.leaderElectionNamespace,
      log: log.child({ logger: 'leader', lease: election.name ?? '' }),
      signal: this.#resign.signal,
      ...election,
    });
  }

  /** Repeats until the replica ends. */
  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#stop.signal.aborted && !this.#resign.signal.aborted) {
      await work().catch((error: unknown) => {
        this.props.log.error('lease failed', { error });
      });
      await this.#clock.sleep(this.#timing.retryMs, this.#stop.signal);
    }
  }

  async #retrying(what: string, work: () => Promise<void>): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await work();
        return;
      } catch (error) {
        this.props.log.warn(`cannot ${what}`, { error });
        await this.#clock.sleep(this.#timing.retryMs, this.#stop.signal);
      }
    }
  }
}
