import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import { OPERATOR } from '../../../constructs/kit/operator-identity.js';
import type { InstallProps } from '../../../constructs/install/chart.js';
import { install } from '../../unit/install-manifest.js';
import type { Cluster } from '../harness.js';

const GROUP = 'admissionregistration.k8s.io/v1';
export const CONFIGURATION_PATHS = [
  `/apis/${GROUP}/validatingwebhookconfigurations/${OPERATOR.webhookConfiguration}`,
  `/apis/${GROUP}/mutatingwebhookconfigurations/${OPERATOR.webhookConfiguration}`,
] as const;

export interface Configuration {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
  readonly webhooks: readonly {
    readonly name: string;
    readonly failurePolicy: string;
    readonly clientConfig: {
      readonly url?: string;
      readonly caBundle?: string;
      readonly service?: { readonly path: string };
    };
  }[];
}

/**
 * The configurations of the install manifest, but by URL: the embedded control plane has no network for
 * Services, and its API server reaches the operator on 127.0.0.1.
 */
export function configurations(
  port: number,
  changes: Readonly<Record<string, unknown>> = {},
  props: Partial<InstallProps> = {},
): Configuration[] {
  const found = install(props).filter(({ kind }) => kind.endsWith('WebhookConfiguration'));
  return (found as unknown as Configuration[]).map((configuration) => ({
    ...configuration,
    webhooks: configuration.webhooks.map((webhook) => ({
      ...webhook,
      // More than the 3 s of a manifest: on a busy machine a late answer would be none.
      timeoutSeconds: 30,
      ...changes,
      clientConfig: {
        url: `https://127.0.0.1:${port}${webhook.clientConfig.service?.path ?? ''}`,
      },
    })),
  }));
}

/** Applies the configurations as an installation does. */
export async function register(cluster: Cluster, items: readonly Configuration[]): Promise<void> {
  await cluster.controlPlane.kubectl(
    ['apply', '--server-side', '--field-manager=install', '--filename=-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  );
}

/** The present configurations, without the deleted ones. */
export async function registered(cluster: Cluster): Promise<readonly Configuration[]> {
  const answers = await Promise.all(
    CONFIGURATION_PATHS.map((path) =>
      cluster.controlPlane.api.request('GET', path).catch(() => undefined),
    ),
  );
  return answers.filter((answer) => answer !== undefined) as Configuration[];
}

/** The one bundle of all configurations, as PEM; undefined where they differ or have none. */
export async function bundleOf(cluster: Cluster, count = 2): Promise<string | undefined> {
  const all = await registered(cluster);
  const bundles = new Set(
    all.flatMap(({ webhooks }) => webhooks.map(({ clientConfig }) => clientConfig.caBundle)),
  );
  const [bundle] = bundles;
  if (all.length !== count || bundles.size !== 1 || !bundle) return undefined;
  return Buffer.from(bundle, 'base64').toString('utf8');
}

/** Spreads connections over ports, as a Service does over the pods that are there. */
export class Balancer {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #turn = 0;

  private constructor(private readonly targets: readonly number[]) {
    this.#server = createServer((socket) => this.#pass(socket, this.targets.length));
  }

  static async start(targets: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(targets);
    await new Promise<void>((resolve) => {
      balancer.#server.listen({ host: '127.0.0.1', port: 0 }, resolve);
    });
    return balancer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(socket: Socket, tries: number): void {
    const target = this.targets[this.#turn++ % this.targets.length] ?? 0;
    const other = connect({ host: '127.0.0.1', port: target });
    this.#open.add(socket).add(other);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      this.#open.delete(socket);
      other.destroy();
    });
    other.once('connect', () => {
      socket.pipe(other).pipe(socket);
      other.once('close', () => socket.destroy());
    });
    other.on('error', () => {
      this.#open.delete(other);
      if (other.connecting || tries <= 1) socket.destroy();
      else if (!socket.destroyed && other.bytesRead === 0) this.#pass(socket, tries - 1);
    });
  }
}
