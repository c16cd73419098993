import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { isConflict, isNotFound } from '../api/api-error.js';
import type { Client } from '../api/client.js';
import { type Clock, systemClock } from '../kit/clock.js';
import { type Lease, LeaseObject, type LeaseSpec, microTime } from './lease-object.js';
import type { Logger } from '../telemetry/log.js';

/** The term of an elected leader. */
export interface Term {
  /** Aborted when the term ends, for any reason. */
  readonly signal: AbortSignal;
  /**
   * Whether the lease is certainly held: false as soon as another candidate may have it, also after
   * this process was suspended and its timers have not fired yet. Check before each write.
   */
  isHeld(): boolean;
}

export interface LeaderElection {
  readonly client: Pick<Client, 'request'>;
  readonly namespace: string;
  /** Different for each process. */
  readonly identity: string;
  readonly onElected: (term: Term) => void;
  /** Called when the lease is lost: stop writing at once. Not called if `signal` ended the term. */
  readonly onLost: () => void;
  /** Ends the candidacy. Abort it after the last write: a successor may start at once. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly timing?: Timing;
  readonly clock?: Clock;
  /** For jitter; in [0, 1). */
  readonly random?: () => number;
}

/** Milliseconds. `renewDeadlineMs` must be shorter than `leaseMs`, so that a leader stops before others start. */
export interface Timing {
  /** How long others wait after the last renewal. */
  readonly leaseMs: number;
  /** How long a leader continues without a renewal. */
  readonly renewDeadlineMs: number;
  /** Time between attempts. */
  readonly retryMs: number;
}

/** A leader has time for several attempts before it stops, and stops well before others start. */
export function timingFor(leaseMs: number): Timing {
  return { leaseMs, renewDeadlineMs: (leaseMs * 2) / 3, retryMs: Math.min(2_000, leaseMs / 7.5) };
}

const DEFAULT_TIMING = timingFor(15_000);
/** The duration of a Lease that its holder released. */
const RELEASED_SECONDS = 1;

/** `<hostname>_<uuid>`: readable, and different for a restarted pod. */
export function leaderIdentity(): string {
  return `${hostname()}_${randomUUID()}`;
}

/**
 * Acquires the lease, leads until it is lost or the signal is aborted, and resolves; call it again for
 * another term. On the signal a held lease is released, so that a successor need not wait.
 *
 * Clocks of candidates are never compared: each measures with its own monotonic clock how long the
 * lease is unchanged. A leader counts from before it sent its renewal, others from after they saw it,
 * so a term ends here before it can start elsewhere. The resourceVersion decides conflicting writes.
 */
export async function runLeaderElection(election: LeaderElection): Promise<void> {
  await new Candidate(election).run();
}

class Candidate {
  private readonly timing: Timing;
  private readonly clock: Clock;
  private readonly lease: LeaseObject;
  private readonly term = new AbortController();
  /** The last observed lease, and when it was first observed unchanged. */
  private observed: Lease | undefined;
  private observedAt = -Infinity;
  /** When the last successful renewal was sent. */
  private renewedAt = -Infinity;

  constructor(private readonly election: LeaderElection) {
    this.timing = election.timing ?? DEFAULT_TIMING;
    this.clock = election.clock ?? systemClock;
    if (this.timing.renewDeadlineMs >= this.timing.leaseMs) {
      throw new RangeError('renewDeadlineMs must be shorter than leaseMs');
    }
    const { client, namespace } = election;
    this.lease = new LeaseObject(
      client,
      namespace,
      OPERATOR.lease,
      this.timing.renewDeadlineMs / 2,
    );
  }

  async run(): Promise<void> {
    const { signal, log, onElected, onLost, identity } = this.election;
    try {
      if (!(await this.acquire())) return;
      if (!signal.aborted) {
        log.info('elected', { identity });
        onElected({ signal: this.term.signal, isHeld: () => this.isHeld() });
        await this.renewUntilLost();
        this.term.abort();
      }
      if (signal.aborted) await this.release();
      else {
        log.error('leadership lost', { identity, holder: this.holder() });
        onLost();
      }
    } finally {
      this.term.abort();
    }
  }

  /** Retries until the lease is acquired (true) or the signal is aborted (false). */
  private async acquire(): Promise<boolean> {
    const { signal, log, random = Math.random } = this.election;
    const ended = () => signal.aborted;
    let holder: string | undefined;
    for (;;) {
      if (await this.attempt(signal)) return true;
      if (ended()) return false;
      if (holder !== this.holder()) {
        holder = this.holder();
        log.info('waiting for the lease', { holder });
      }
      // Jitter, so that candidates that started together do not collide each time.
      await this.clock.sleep(this.timing.retryMs * (1 + 0.2 * random()), signal);
      if (ended()) return false;
    }
  }

  /** Renews until the signal is aborted, the deadline passes, or another candidate has the lease. */
  private async renewUntilLost(): Promise<void> {
    const { signal, identity } = this.election;
    const ended = () => signal.aborted || left() <= 0;
    const left = () => this.timing.renewDeadlineMs - (this.clock.monotonic() - this.renewedAt);
    for (;;) {
      await this.clock.sleep(Math.min(this.timing.retryMs, left()), signal);
      if (ended()) return;
      await this.attemptWithin(left());
      const holder = this.holder();
      if (ended() || (holder && holder !== identity)) return;
    }
  }

  /** An attempt that ends in time even while its call hangs, and with the election. */
  private async attemptWithin(ms: number): Promise<void> {
    const { signal } = this.election;
    const limit = new AbortController();
    const stop = (): void => {
      limit.abort();
    };
    signal.addEventListener('abort', stop, { once: true });
    await Promise.race([this.attempt(limit.signal), this.clock.sleep(ms, limit.signal)]);
    signal.removeEventListener('abort', stop);
    limit.abort();
  }

  private isHeld(): boolean {
    return (
      !this.term.signal.aborted && this.clock.monotonic() - this.renewedAt < this.timing.leaseMs
    );
  }

  /** One attempt to acquire or renew the lease. Errors are logged, not thrown: the next attempt follows. */
  private async attempt(signal: AbortSignal): Promise<boolean> {
    const { identity, log } = this.election;
    try {
      // A leader renews the lease without reading it.
      if (this.holder() === identity && (await this.write(signal))) return true;
      this.observe(await this.lease.read(signal));
      const holder = this.holder();
      const mayTake = !holder || holder === identity || this.expired();
      // The resourceVersion decides between two candidates.
      return mayTake && (await this.write(signal));
    } catch (error) {
      if (!signal.aborted) log.warn('lease not updated', { error });
      return false;
    }
  }

  /** Writes the lease; false if it has changed since it was observed. */
  private async write(signal: AbortSignal): Promise<boolean> {
    const sentAt = this.clock.monotonic();
    const record = this.record(this.observed?.spec);
    try {
      this.observe(
        this.observed
          ? await this.lease.replace(this.observed, record, signal)
          : await this.lease.create(record, signal),
      );
    } catch (error) {
      const isStored = !isNotFound(error) && (await this.isStored(record, signal));
      if (!isStored && (isConflict(error) || isNotFound(error))) return false;
      if (!isStored) throw error;
    }
    this.renewedAt = sentAt;
    return true;
  }

  /**
   * Whether a failed write was stored: its response may be lost, and a repeated write then conflicts
   * with the first one. Another holder of this identity would write another time.
   */
  private async isStored(record: LeaseSpec, signal: AbortSignal): Promise<boolean> {
    // A read that hangs must leave time for the next attempt.
    const stored = await this.lease.read(signal, this.timing.retryMs).catch(() => undefined);
    const { holderIdentity, renewTime } = stored?.spec ?? {};
    if (holderIdentity !== record.holderIdentity || renewTime !== record.renewTime) return false;
    this.observe(stored);
    return true;
  }

  private record(before: LeaseSpec | undefined): LeaseSpec {
    const { identity } = this.election;
    const renewTime = microTime(this.clock.now());
    const renewed = before?.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.timing.leaseMs / 1000),
      acquireTime: renewed ? (before.acquireTime ?? renewTime) : renewTime,
      renewTime,
      leaseTransitions: (before?.leaseTransitions ?? 0) + (before && !renewed ? 1 : 0),
    };
  }

  /** Releases the lease, so that others need not wait until it expires. */
  private async release(attempts = 3): Promise<void> {
    const { identity, log } = this.election;
    try {
      // Read again: an aborted renewal may have been stored.
      const lease = await this.lease.read();
      if (lease?.spec?.holderIdentity !== identity) return;
      await this.lease.replace(lease, {
        ...lease.spec,
        holderIdentity: '',
        leaseDurationSeconds: RELEASED_SECONDS,
        renewTime: microTime(this.clock.now()),
      });
      log.info('lease released', { identity });
    } catch (error) {
      // It may also be stored between the two calls.
      if (isConflict(error) && attempts > 1) return this.release(attempts - 1);
      log.warn('lease not released; it expires', { identity, error });
    }
  }

  private observe(lease: Lease | undefined): void {
    const before = this.observed?.metadata.resourceVersion;
    if (lease && lease.metadata.resourceVersion === before) return;
    this.observed = lease;
    this.observedAt = this.clock.monotonic();
  }

  private holder(): string | undefined {
    return this.observed?.spec?.holderIdentity;
  }

  /** Whether the lease is expired. The holder's lease duration counts if it is longer than ours. */
  private expired(): boolean {
    const theirs = (this.observed?.spec?.leaseDurationSeconds ?? 0) * 1000;
    const expiresAfterMs = Math.max(theirs, this.timing.leaseMs);
    return this.clock.monotonic() - this.observedAt >= expiresAfterMs;
  }
}
