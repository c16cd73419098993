import type { Client } from '../api/client.js';
import type { Config } from '../config/config.js';
import type { Logger } from '../telemetry/log.js';
import { fenced } from './fence.js';
import { leaderIdentity, runLeaderElection, type Term, timingFor } from './leader-election.js';

export interface LeadershipProps {
  readonly config: Pick<Config, 'leaderElect' | 'leaderElectLeaseMs' | 'leaderElectionNamespace'>;
  /** Of the Lease: renewals must not wait for a connection behind other calls that hang. */
  readonly client: Pick<Client, 'request'>;
  readonly log: Logger;
  /** Called when this replica may write. */
  readonly onElected: () => void;
  /** Called when the Lease is lost. */
  readonly onLost: () => void;
}

/** Whether this replica may write: alone it always may, otherwise while it holds the Lease. */
export class Leadership {
  #term: Term | undefined;
  readonly #resign = new AbortController();
  #election = Promise.resolve();

  constructor(private readonly props: LeadershipProps) {}

  /** A client that writes only while this replica leads. */
  fence(client: Client): Client {
    const { leaderElect } = this.props.config;
    return fenced(client, {
      mayWrite: () => !leaderElect || this.#term?.isHeld() === true,
      signal: () => this.#term?.signal,
    });
  }

  /** Becomes the leader, at once or when it is elected. */
  start(): void {
    const { config, client, log, onElected, onLost } = this.props;
    if (!config.leaderElect) {
      onElected();
      return;
    }
    this.#election = runLeaderElection({
      client,
      namespace: config.leaderElectionNamespace,
      identity: leaderIdentity(),
      signal: this.#resign.signal,
      timing: timingFor(config.leaderElectLeaseMs),
      log: log.child({ logger: 'leader' }),
      onElected: (term) => {
        this.#term = term;
        onElected();
      },
      onLost,
    }).catch((error: unknown) => {
      log.error('leader election failed', { error });
      onLost();
    });
  }

  /** Gives the Lease to another replica. */
  async resign(): Promise<void> {
    this.#resign.abort();
    await this.#election;
  }
}
