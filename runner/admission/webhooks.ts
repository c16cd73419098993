import { OPERATOR } from '../../constructs/index.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import { KINDS } from '../../constructs/registry.js';
import type { Client } from '../api/client.js';
import type { Config } from '../config/config.js';
import type { Logger } from '../telemetry/log.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';
import { Admission } from './admission.js';
import { CaInjector } from './ca-injector.js';
import { type Answered, serveWebhooks } from './server.js';

export interface WebhooksOptions {
  readonly config: Pick<
    Config,
    'webhooks' | 'webhookBindAddress' | 'apiGroup' | 'watchNamespaces' | 'leaderElectionNamespace'
  >;
  /** Not fenced: every replica serves, and keeps what it serves with. */
  readonly client: Pick<Client, 'request' | 'watch'>;
  readonly reader: () => ClusterReader | undefined;
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
}

/** The admission webhooks of this replica. */
export interface Webhooks {
  readonly port: number;
  /** Why they cannot be served yet. */
  problems(): readonly string[];
  close(): Promise<void>;
}

/**
 * Serves the admission webhooks, where they are on.
 * @throws where the address is taken
 */
export async function startWebhooks(options: WebhooksOptions): Promise<Webhooks | undefined> {
  const { config, client, reader, metrics } = options;
  if (!config.webhooks || !config.webhookBindAddress) return undefined;
  const log = options.log.child({ logger: 'webhooks' });
  const admission = new Admission({
    kinds: KINDS,
    group: config.apiGroup,
    namespaces: config.watchNamespaces,
    reader,
    log,
  });
  const server = await serveWebhooks({
    address: config.webhookBindAddress,
    webhooks: {
      [OPERATOR.validatePath]: (request) => admission.validate(request),
      [OPERATOR.mutatePath]: (request) => admission.mutate(request),
    },
    onAnswer: (answered) => count(metrics, answered),
    log,
  });
  const namespace = config.leaderElectionNamespace;
  const service = `${OPERATOR.webhookService}.${namespace}.svc`;
  const caInjector = new CaInjector({
    client,
    namespace,
    // Outside of a cluster, callers on this machine reach it by its address.
    hosts: [service, '127.0.0.1'],
    onKeys: (keys) => {
      server.use(keys);
      log.info('the certificate is served', { port: server.port });
    },
    log,
  });
  caInjector.start();
  return {
    port: server.port,
    problems: () => caInjector.problems(),
    close: async () => {
      caInjector.stop();
      await server.close();
    },
  };
}

const NAMES = new Set(KINDS.map(({ definition }) => definition.kind));
const OPERATIONS = new Set(['CREATE', 'UPDATE', 'DELETE']);

/** What callers write must not make series without end. */
function count(metrics: OperatorMetrics, { webhook, request, allowed, seconds }: Answered): void {
  const known = (set: ReadonlySet<string>, value = ''): string =>
    set.has(value) ? value : 'other';
  metrics.admitted(
    {
      webhook,
      kind: known(NAMES, request?.kind.kind),
      operation: known(OPERATIONS, request?.operation),
      allowed: allowed === undefined ? 'error' : allowed ? 'true' : 'false',
    },
    seconds,
  );
}
