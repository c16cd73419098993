import { existsSync } from 'node:fs';
import { createClient, type Client } from '../../runner/api/client.js';
import { loadCredentials, podNamespace } from '../../runner/api/credentials.js';
import { contextsOf } from '../../runner/api/kubeconfig.js';
import type { Arguments } from '../arguments/arguments.js';
import { CliError, type IOStreams } from '../arguments/command.js';

/** What the command line asks an API server with. */
export type Asker = Pick<Client, 'request' | 'watch'>;

/** A cluster as the command line asks it. */
export interface Connection {
  /** Its requests end, with the signal's reason, where there is a signal and it is aborted. */
  readonly client: Asker;
  /** The namespace that was asked for, or the context's. */
  readonly namespace: string;
}

/** Lets a command ask the cluster that its flags name, and closes the connections after it. @throws CliError */
export async function connected<T>(
  args: Arguments,
  io: Pick<IOStreams, 'env'> & Partial<Pick<IOStreams, 'signal'>>,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { env, signal } = io;
  const kubeconfig = args.text('kubeconfig') ?? env['KUBECONFIG'];
  const context = args.text('context');
  const { client, namespace } = await connect(kubeconfig || undefined, context, env);
  try {
    return await work({
      client: signal ? heeding(client, signal) : client,
      namespace: args.text('namespace') ?? namespace ?? 'default',
    });
  } finally {
    await client.close();
  }
}

/** Watches have a signal anyway. */
function heeding(client: Client, signal: AbortSignal): Asker {
  return {
    request: (method, path, options) => client.request(method, path, { signal, ...options }),
    watch: (path, query, options) => client.watch(path, query, options),
  };
}

async function connect(
  kubeconfig: string | undefined,
  context: string | undefined,
  env: IOStreams['env'],
) {
  const files = kubeconfig ?? `${env['HOME'] ?? ''}/.kube/config`;
  const inPod = kubeconfig === undefined && env['KUBERNETES_SERVICE_HOST'] !== undefined;
  if (!inPod && !files.includes(':') && !existsSync(files)) {
    throw new CliError(`${files}: no such file: give --kubeconfig FILE, or set KUBECONFIG`);
  }
  try {
    const { current, namespaces } = contextsOf(files);
    if (context !== undefined && !namespaces.has(context)) {
      const known = [...namespaces.keys()].toSorted().join(', ') || 'none';
      throw new CliError(`there is no context ${JSON.stringify(context)}: there are ${known}`);
    }
    const credentials = await loadCredentials(kubeconfig, env, undefined, context);
    const ofContext = namespaces.get(context ?? current ?? '');
    return {
      client: createClient({ credentials }),
      namespace: inPod && context === undefined ? podNamespace() : ofContext,
    };
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(error instanceof Error ? error.message : String(error));
  }
}
