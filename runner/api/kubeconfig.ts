import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, resolve } from 'node:path';
import { parse, YAMLParseError } from 'yaml';
import type { Access, TlsMaterial } from './endpoint.js';

interface Cluster {
  readonly server?: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
  readonly 'proxy-url'?: string;
}

interface User {
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
}

interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly contexts?: readonly {
    readonly name: string;
    readonly context?: {
      readonly cluster?: string;
      readonly user?: string;
      readonly namespace?: string;
    };
  }[];
  readonly clusters?: readonly { readonly name: string; readonly cluster?: Cluster }[];
  readonly users?: readonly { readonly name: string; readonly user?: User }[];
}

/** The fields of a user that are supported here; others (exec plug-ins, OIDC …) need the library. */
const PLAIN = new Set([
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
  'token',
  'tokenFile',
  'username',
  'password',
  'as',
]);

/**
 * The access of a kubeconfig of one file with plain credentials: a client certificate, a token or a
 * password. Undefined for any other: those need the library.
 * @param wanted the context @default the file's current context
 * @throws if the file cannot be read or names what it does not contain
 */
export function readKubeconfig(file: string, wanted?: string): Access | undefined {
  if (file.includes(delimiter)) return undefined;
  const { server, cluster, user } = entriesOf(file, wanted);
  if (!Object.keys(user).every((field) => PLAIN.has(field))) return undefined;
  const folder = dirname(file);
  return {
    endpoint: {
      server,
      tls: tlsOf(cluster, user, folder),
      ...(cluster['proxy-url'] !== undefined && { proxyUrl: cluster['proxy-url'] }),
    },
    headers: headersOf(user, folder),
  };
}

/** The cluster and the user of a context. */
function entriesOf(
  file: string,
  wanted: string | undefined,
): { readonly server: string; readonly cluster: Cluster; readonly user: User } {
  const config = parsed(file);
  const current = wanted ?? config['current-context'];
  const context = named(config.contexts, current)?.context;
  const cluster = named(config.clusters, context?.cluster)?.cluster;
  if (cluster?.server === undefined) {
    const which = wanted === undefined ? 'current context' : 'context';
    throw new Error(`${file}: no server for the ${which} ${JSON.stringify(current ?? '')}`);
  }
  return { server: cluster.server, cluster, user: userOf(config, context?.user) };
}

/** @throws an error of one line, which quotes nothing of the file: it has credentials */
function parsed(file: string): Kubeconfig {
  try {
    return (parse(readFileSync(file, 'utf8'), { prettyErrors: false }) ?? {}) as Kubeconfig;
  } catch (error) {
    throw error instanceof YAMLParseError
      ? new Error(`${file}: not YAML: ${error.message}`)
      : error;
  }
}

function userOf({ users }: Kubeconfig, name: string | undefined): User {
  return named(users, name)?.user ?? {};
}

function named<T extends { readonly name: string }>(
  entries: readonly T[] | undefined,
  name: string | undefined,
): T | undefined {
  return entries?.find((entry) => entry.name === name);
}

/** The contexts of a kubeconfig, or of several joined. A file that does not exist has none. */
export function contextsOf(files: string): {
  readonly current: string | undefined;
  readonly namespaces: ReadonlyMap<string, string | undefined>;
} {
  const configs = files.split(delimiter).filter((file) => existsSync(file));
  const found = configs.map(parsed);
  // Of several entries with one name the first file wins.
  const contexts = found.flatMap((config) => config.contexts ?? []).toReversed();
  return {
    current: found.map((config) => config['current-context']).find(Boolean),
    namespaces: new Map(contexts.map(({ name, context }) => [name, context?.namespace])),
  };
}

function tlsOf(cluster: Cluster, user: User, folder: string): TlsMaterial {
  const pem = (data: string | undefined, file: string | undefined): Buffer | undefined => {
    if (data !== undefined) return Buffer.from(data, 'base64');
    return file === undefined ? undefined : readFileSync(resolve(folder, file));
  };
  const ca = pem(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const cert = pem(user['client-certificate-data'], user['client-certificate']);
  const key = pem(user['client-key-data'], user['client-key']);
  const servername = cluster['tls-server-name'];
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(cluster['insecure-skip-tls-verify'] && { rejectUnauthorized: false }),
    ...(servername !== undefined && { servername }),
  };
}

function headersOf(user: User, folder: string): Record<string, string> {
  const headers: Record<string, string> = {};
  const token =
    user.tokenFile === undefined
      ? user.token
      : readFileSync(resolve(folder, user.tokenFile), 'utf8').trim();
  if (token !== undefined) {
    headers['authorization'] = `Bearer ${token}`;
  } else if (user.username !== undefined) {
    const pair = Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64');
    headers['authorization'] = `Basic ${pair}`;
  }
  if (user.as !== undefined) headers['impersonate-user'] = user.as;
  return headers;
}
