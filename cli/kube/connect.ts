import { messageOf } from '../../constructs/kit/errors.js';
import { statSync } from 'node:fs';
import { delimiter } from 'node:path';
import { ConnectionError } from '../../runner/api/api-error.js';
import { createClient, type Client } from '../../runner/api/client.js';
import { loadCredentials, podNamespace } from '../../runner/api/credentials.js';
import { contextsOf } from '../../runner/api/kubeconfig.js';
import type { GivenValues } from '../../runner/config/flag-parser.js';
import { CliError } from '../arguments/errors.js';
import type { CLUSTER_FLAGS } from '../arguments/shared-flags.js';
import type { IOStreams } from '../io/streams.js';
import { cliErrorOf } from './errors.js';

/** The requests that commands send to an API server. */
export type ApiClient = Pick<Client, 'request'>;

/** A connection to the cluster of a command. */
export interface Connection {
  /** With a signal: its requests are cancelled, with the signal's reason, when the signal is aborted. */
  readonly client: ApiClient;
  /** The namespace of `--namespace`, or of the context. */
  readonly namespace: string;
}

type ClusterValues = Partial<GivenValues<typeof CLUSTER_FLAGS>>;

/** Where the kubeconfig is, and which of its contexts counts. */
interface Target {
  /** Undefined without a flag and a variable. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly env: IOStreams['env'];
  /** Whether the service account of the pod counts. */
  readonly inPod: boolean;
}

/** Connects to the cluster that the flags name, and disconnects after the work. @throws CliError */
export async function connected<T>(
  values: ClusterValues,
  io: Pick<IOStreams, 'env'> & Partial<Pick<IOStreams, 'signal'>>,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { env, signal } = io;
  const kubeconfig = values.kubeconfig || env['KUBECONFIG'] || undefined;
  const inPod = kubeconfig === undefined && env['KUBERNETES_SERVICE_HOST'] !== undefined;
  const target = { kubeconfig, context: values.context || undefined, env, inPod };
  const { client, namespace, server } = await connect(target);
  try {
    return await work({
      client: signal ? cancelledBy(signal, client) : client,
      namespace: values.namespace || namespace || 'default',
    });
  } catch (error) {
    throw error instanceof ConnectionError ? (cliErrorOf(error, server) ?? error) : error;
  } finally {
    await client.close();
  }
}

function cancelledBy(signal: AbortSignal, client: Client): ApiClient {
  return {
    request: (method, path, options) => client.request(method, path, { signal, ...options }),
  };
}

async function connect(target: Target) {
  try {
    const namespace = namespaceOf(target);
    const { kubeconfig, env, context } = target;
    const credentials = await loadCredentials(kubeconfig, env, undefined, context);
    const { endpoint } = await credentials.access();
    const server = URL.parse(endpoint.server)?.origin;
    return { client: createClient({ credentials }), namespace, server };
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(messageOf(error));
  }
}

/** The namespace of the context, or of the pod. @throws CliError for a missing kubeconfig or context */
function namespaceOf({ kubeconfig, context, env, inPod }: Target): string | undefined {
  const files = kubeconfig ?? `${env['HOME'] ?? ''}/.kube/config`;
  if (!inPod) requireFile(files);
  const { current, namespaces } = contextsOf(files);
  if (context !== undefined) return namespaceOfContext(context, namespaces);
  return inPod ? podNamespace() : namespaces.get(current ?? '');
}

/** @param files one file, or several joined as in `KUBECONFIG`, which may be missing */
function requireFile(files: string): void {
  if (files.includes(delimiter)) return;
  const stats = statSync(files, { throwIfNoEntry: false });
  if (stats && !stats.isDirectory()) return;
  const problem = stats ? 'is a folder' : 'no such file';
  throw new CliError(`${files}: ${problem}; use --kubeconfig FILE, or set KUBECONFIG`);
}

function namespaceOfContext(
  context: string,
  namespaces: ReadonlyMap<string, string | undefined>,
): string | undefined {
  if (namespaces.has(context)) return namespaces.get(context);
  const known = [...namespaces.keys()].toSorted().join(', ') || 'none';
  throw new CliError(`context ${JSON.stringify(context)} not found; available: ${known}`);
}
