import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Access, Endpoint } from './endpoint.js';
import { libraryReader } from './kubeconfig-library.js';
import { readKubeconfig } from './kubeconfig.js';

/** The operator's identity for the API server. */
export interface Credentials {
  /** The present access, at most `REFRESH_MS` old: tokens and certificates rotate. */
  access(): Promise<Access>;
  /** Makes the next `access` read everything again, after a 401. */
  invalidate(): void;
}

/** Bound service account tokens live for an hour at most, and are replaced well before their end. */
export const REFRESH_MS = 50_000;

/** Credentials that are read again when they are old; `now` is monotonic, in milliseconds. */
export function refreshed(
  read: (invalid: boolean) => Promise<Access>,
  now: () => number = () => performance.now(),
): Credentials {
  let current: Access | undefined;
  let until = -Infinity;
  let invalid = false;
  let reading: Promise<Access> | undefined;

  const renew = async (): Promise<Access> => {
    try {
      const next = await read(invalid);
      const same = current && fingerprint(current.endpoint) === fingerprint(next.endpoint);
      current = {
        endpoint: same && current ? current.endpoint : next.endpoint,
        headers: next.headers,
      };
      invalid = false;
    } catch (error) {
      // A file that is being replaced: the earlier credentials are still good, unless refused.
      if (!current || invalid) throw error;
    } finally {
      reading = undefined;
    }
    until = now() + REFRESH_MS;
    return current;
  };

  return {
    access: async () => {
      if (current && !invalid && now() < until) return current;
      return (reading ??= renew());
    },
    invalidate: () => {
      invalid = true;
    },
  };
}

/** Credentials that never change. */
export function fixed(access: Access): Credentials {
  return { access: () => Promise.resolve(access), invalidate: () => undefined };
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Credentials from, in this order: the given kubeconfig file (or files, joined as in `KUBECONFIG`), the
 * pod's service account, `~/.kube/config`.
 * @param context of the kubeconfig @default its current context
 * @throws if none of them exists or the file cannot be read
 */
export async function loadCredentials(
  kubeconfig: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  serviceAccountFolder = SERVICE_ACCOUNT,
  context?: string,
): Promise<Credentials> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (
    kubeconfig === undefined &&
    context === undefined &&
    host !== undefined &&
    port !== undefined
  ) {
    return ready(refreshed(() => serviceAccount(host, port, serviceAccountFolder)));
  }
  const file = kubeconfig ?? `${env['HOME'] ?? ''}/.kube/config`;
  return ready(refreshed(kubeconfigReader(file, context)));
}

/** Reads once, so that an error in the files fails the start and not the first request. */
async function ready(credentials: Credentials): Promise<Credentials> {
  await credentials.access();
  return credentials;
}

function kubeconfigReader(
  file: string,
  context: string | undefined,
): (invalid: boolean) => Promise<Access> {
  const library = libraryReader(file, context);
  return async (invalid) => readKubeconfig(file, context) ?? library(invalid);
}

/** The namespace that this pod runs in; undefined outside of a cluster. */
export function podNamespace(folder = SERVICE_ACCOUNT): string | undefined {
  try {
    return readFileSync(`${folder}/namespace`, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

async function serviceAccount(host: string, port: string, folder: string): Promise<Access> {
  const token = (await readFile(`${folder}/token`, 'utf8')).trim();
  return {
    endpoint: {
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      tls: { ca: await readFile(`${folder}/ca.crt`) },
    },
    headers: { authorization: `Bearer ${token}` },
  };
}

function fingerprint(endpoint: Endpoint): string {
  const { ca, cert, key, ...rest } = endpoint.tls;
  const hash = createHash('sha256');
  for (const part of [ca, cert, key]) hash.update(part ?? '').update('\0');
  return hash.update(JSON.stringify([endpoint.server, endpoint.proxyUrl, rest])).digest('hex');
}
