import { statSync } from 'node:fs';
import { delimiter } from 'node:path';
import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { messageOf } from '../../constructs/kit/errors.js';
import type { Access } from './endpoint.js';

/**
 * A reader of all kubeconfig files: exec plug-ins, OIDC, several files joined. Its library takes half a
 * second and 50 MiB to load, so it is imported only for the files that need it.
 */
export function libraryReader(
  files: string,
  context?: string,
): (invalid: boolean) => Promise<Access> {
  let config: KubeConfig | undefined;
  return async (invalid) => {
    // Refused credentials may be in the library's cache, or the file may have changed.
    if (!config || invalid) {
      config = await load(files);
      if (context !== undefined) config.setCurrentContext(context);
    }
    return accessOf(config);
  };
}

async function load(files: string): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const names = files.split(delimiter).filter(Boolean);
  // As in kubectl, a file of several may be missing or empty.
  const existing = names.filter((file) => statSync(file, { throwIfNoEntry: false })?.size);
  if (existing.length === 0) throw new Error(`${names.join(', ')}: no such file, or empty`);
  const configs = existing.map((file) => {
    const config = new KubeConfig();
    config.loadFromFile(file);
    return config;
  });
  const merged = new KubeConfig();
  merged.loadFromOptions({
    clusters: firstOfEachName(configs.flatMap(({ clusters }) => clusters)),
    contexts: firstOfEachName(configs.flatMap(({ contexts }) => contexts)),
    users: firstOfEachName(configs.flatMap(({ users }) => users)),
    currentContext: configs.map(({ currentContext }) => currentContext).find(Boolean),
  });
  return merged;
}

/** The library itself refuses names that two files have. */
function firstOfEachName<T extends { readonly name: string }>(entries: readonly T[]): T[] {
  return [...new Map(entries.toReversed().map((entry) => [entry.name, entry])).values()];
}

async function accessOf(config: KubeConfig): Promise<Access> {
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`kubeconfig: no cluster for context "${config.currentContext}"`);
  const options = await requestOptions(config);
  const { ca, cert, key, rejectUnauthorized, servername } = options;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (value !== undefined) headers[name.toLowerCase()] = String(value);
  }
  if (options.auth)
    headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  return {
    endpoint: {
      server: cluster.server,
      tls: {
        ...(ca !== undefined && { ca: bytes(ca) }),
        ...(cert !== undefined && { cert: bytes(cert) }),
        ...(key !== undefined && { key: bytes(key) }),
        ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
        ...(servername !== undefined && { servername }),
      },
      ...(cluster.proxyUrl !== undefined && { proxyUrl: cluster.proxyUrl }),
    },
    headers,
  };
}

/** Runs the plug-in of the user, if there is one. */
async function requestOptions(config: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(options);
    return options;
  } catch (error) {
    throw plugInError(config, error);
  }
}

/** Names the plug-in that has failed. Its output is left out: it may have a token. */
function plugInError(config: KubeConfig, error: unknown): unknown {
  const { command } = (config.getCurrentUser()?.exec ?? {}) as { readonly command?: string };
  if (command === undefined) return error;
  const { code } = error as NodeJS.ErrnoException;
  const problem =
    code === 'ENOENT'
      ? 'not found; install it, or choose another context'
      : error instanceof SyntaxError
        ? 'its output is not JSON'
        : messageOf(error).trim() || 'no output on standard error';
  return new Error(`kubeconfig: plug-in ${command}: ${problem}`);
}

/** The library reads files as bytes and the output of plug-ins as text. */
function bytes(pem: unknown): Buffer {
  if (typeof pem === 'string') return Buffer.from(pem);
  if (Buffer.isBuffer(pem)) return pem;
  throw new Error('kubeconfig: certificates and keys of this form are not supported');
}
