import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { libraryReader } from './kubeconfig-library.js';
import { readKubeconfig } from './kubeconfig.js';

/** Where the API server is and how to know it: what a connection is made of. */
export interface Endpoint {
  /** `https://host:port`, possibly with a path. */
  readonly server: string;
  readonly tls: TlsMaterial;
  /** `http://`, `https://` or `socks5://`. */
  readonly proxyUrl?: string;
}

/** Options of a TLS connection; certificates and keys are PEM. */
export interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** False where the server is not verified. */
  readonly rejectUnauthorized?: boolean;
  readonly servername?: string;
}

export interface Access {
  /** The same object for as long as nothing in it changes, so that connections can be kept. */
  readonly endpoint: Endpoint;
  /** `authorization` and the like, for each request. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Who the operator is for the API server. */
export interface Credentials {
  /** What to use now. Tokens and certificates rotate, so it is at most `REFRESH_MS` old, which is less than a minute. */
  access(): Promise<Access>;
  /** Makes the next `access` read everything again: the server has refused what it got. */
  invalidate(): void;
}

/** Bound service account tokens live for an hour at most, and are replaced well before their end. */
export const REFRESH_MS = 50_000;

/** Credentials from something that reads them afresh; `now` is monotonic, in milliseconds. */
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
      // A file that is being replaced: what was read before is still good, unless it was refused.
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

export const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Credentials from, in this order: the given kubeconfig file (or files, joined as in `KUBECONFIG`), the
 * pod's service account, `~/.kube/config`.
 * @param context of the kubeconfig; without it the one that the file calls current
 * @throws when there is none of them or the file cannot be read
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

/** A mistake in the files shows at the start, not with the first request. */
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
