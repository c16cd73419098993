import { delimiter } from 'node:path';
import type { RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Access } from './access.js';

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
  const merged = new KubeConfig();
  for (const [index, file] of files.split(delimiter).filter(Boolean).entries()) {
    if (index === 0) {
      merged.loadFromFile(file);
    } else {
      const next = new KubeConfig();
      next.loadFromFile(file);
      merged.mergeConfig(next, true);
    }
  }
  return merged;
}

async function accessOf(config: KubeConfig): Promise<Access> {
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`kubeconfig: no cluster for context "${config.currentContext}"`);
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
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

/** The library reads files as bytes and the output of plug-ins as text. */
function bytes(pem: unknown): Buffer {
  if (typeof pem === 'string') return Buffer.from(pem);
  if (Buffer.isBuffer(pem)) return pem;
  throw new Error('kubeconfig: certificates and keys of this form are not supported');
}
