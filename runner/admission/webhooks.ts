import { readFile } from 'node:fs/promises';
import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import type { ClusterReader } from '../../constructs/kit/kind.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { KINDS, type AnyKind } from '../../constructs/registry.js';
import type { Client } from '../api/client.js';
import type { Config } from '../config/config.js';
import { matchesSelector } from '../config/label-selector.js';
import type { Logger } from '../telemetry/log.js';
import type { OperatorMetrics } from '../telemetry/metrics.js';
import { Admission } from './admission.js';
import { CaInjector } from './ca-injector.js';
import type { AdmissionRequest } from './review.js';
import { type Answered, serveWebhooks, type Webhook } from './server.js';

export interface WebhooksOptions {
  readonly config: Pick<
    Config,
    | 'webhooks'
    | 'webhookBindAddress'
    | 'webhookClientCaFile'
    | 'webhookClientNames'
    | 'apiGroup'
    | 'watchNamespaces'
    | 'watchLabelSelector'
    | 'leaderElectionNamespace'
    | 'settings'
  >;
  /** Not fenced: every replica serves, and maintains the certificates. */
  readonly client: Pick<Client, 'request' | 'watch'>;
  readonly reader: () => ClusterReader | undefined;
  /** @default all kinds of the registry */
  readonly kinds?: readonly AnyKind[];
  readonly metrics: OperatorMetrics;
  readonly log: Logger;
}

/** The admission webhooks of this replica. */
export interface Webhooks {
  readonly port: number;
  /** Why the webhooks are not ready. */
  problems(): readonly string[];
  close(): Promise<void>;
}

/**
 * Serves the admission webhooks, if they are enabled.
 * @throws if the address is in use
 */
export async function startWebhooks(options: WebhooksOptions): Promise<Webhooks | undefined> {
  const { config, client, reader, kinds = KINDS } = options;
  if (!config.webhooks || !config.webhookBindAddress) return undefined;
  const log = options.log.child({ logger: 'webhooks' });
  const admission = new Admission({
    kinds,
    group: config.apiGroup,
    namespaces: config.watchNamespaces,
    reader,
    settings: config.settings,
    log,
  });
  const { webhookClientCaFile: caFile, watchLabelSelector } = config;
  // Another installation advises on the rest.
  const scoped =
    (webhook: Webhook): Webhook =>
    (request) =>
      matchesSelector(watchLabelSelector, labelsOf(request))
        ? webhook(request)
        : { uid: request.uid, allowed: true };
  const server = await serveWebhooks({
    address: config.webhookBindAddress,
    webhooks: {
      [OPERATOR.validatePath]: scoped((request) => admission.validate(request)),
      [OPERATOR.mutatePath]: scoped((request) => admission.mutate(request)),
    },
    onAnswer: counter(options.metrics, kinds),
    log,
    clientAuthorities: caFile === undefined ? undefined : () => readFile(caFile, 'utf8'),
    clientNames: config.webhookClientNames,
  });
  const namespace = config.leaderElectionNamespace;
  const service = `${OPERATOR.webhookService}.${namespace}.svc`;
  const caInjector = new CaInjector({
    client,
    namespace,
    // Outside of a cluster, callers on this machine use its address.
    hosts: [service, '127.0.0.1'],
    onKeys: (keys) => {
      void server.use(keys).then(() => {
        log.info('the certificate is served', { port: server.port });
      });
    },
    log,
  });
  caInjector.start();
  return {
    port: server.port,
    problems: () => caInjector.problems(),
    close: async () => {
      await Promise.all([caInjector.stop(), server.close()]);
    },
  };
}

function labelsOf({ object, oldObject }: AdmissionRequest): KubeObject['metadata']['labels'] {
  return (object ?? oldObject)?.metadata.labels;
}

const OPERATIONS = new Set(['CREATE', 'UPDATE', 'DELETE']);

/** Counts requests. Values that callers choose must not create series without limit. */
function counter(
  metrics: OperatorMetrics,
  kinds: readonly AnyKind[],
): (answered: Answered) => void {
  const names = new Set(kinds.map(({ definition }) => definition.kind));
  const known = (set: ReadonlySet<string>, value = ''): string =>
    set.has(value) ? value : 'other';
  return ({ webhook, request, allowed, seconds }) => {
    const labels = {
      webhook,
      kind: known(names, request?.kind.kind),
      operation: known(OPERATIONS, request?.operation),
      allowed: allowed === undefined ? 'error' : allowed ? 'true' : 'false',
    } as const;
    metrics.admissions.inc(labels);
    metrics.admissionDuration.observe({ webhook }, seconds);
  };
}
