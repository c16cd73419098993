/** What nginx's configuration is rendered from, and its values as text: an invalid one throws. */

import type { ResponseHeader } from '../../api/bench.js';
import { SITES_DIR } from '../../frappe/pod.js';

/** One site as nginx sees it. */
export interface NginxSite {
  /** Name of the site's directory; also a host name that leads to it. */
  readonly siteName: string;
  /** Further host names that lead to it. */
  readonly domains: readonly string[];
  /** `host:port` of the site's own gunicorn Service; default: the bench's. */
  readonly backend?: string;
  /** Protocol of its public address; default: what the proxy in front of nginx says. */
  readonly protocol?: 'http' | 'https';
}

export interface NginxConfigInput {
  /**
   * Fully qualified `host:port` of the bench's gunicorn; without it only sites with their own
   * backend are served.
   */
  readonly benchBackend?: string;
  /** Fully qualified `host:port` of socketio; without it `/socket.io` answers 502. */
  readonly socketio?: string;
  /**
   * Fully qualified `host:port` whose addresses are the pods of socketio: each site has one of them.
   * Without it all sites share `socketio`.
   */
  readonly socketioPods?: string;
  readonly sites: readonly NginxSite[];
  /** Addresses or CIDRs of proxies that are trusted to name the client; default: none. */
  readonly realIpFrom?: readonly string[];
  /** Largest request body, in nginx's notation: `50m`. */
  readonly clientMaxBodySize: string;
  /** Seconds the framework may take for an answer. */
  readonly proxyReadTimeout: number;
  /** Seconds the framework may take to read a request; default: as long. */
  readonly proxySendTimeout?: number;
  /** Seconds for a connection; default: CONNECT_SECONDS. */
  readonly proxyConnectTimeout?: number;
  /** Headers of every answer, in place of those of the framework and of the default ones. */
  readonly responseHeaders?: readonly ResponseHeader[];
  /** Header in which a trusted proxy names the client; default: `X-Forwarded-For`. */
  readonly realIpHeader?: string;
  /** Port nginx listens on; default NGINX_PORT. */
  readonly port?: number;
  /** The sites volume; default: where the image has it. */
  readonly sitesDirectory?: string;
}

const LABEL = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';
const HOST = new RegExp(`^(?=.{1,253}$)${LABEL}(\\.${LABEL})*$`);
const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f:]*:[0-9a-f:.]*)(\/\d{1,3})?$/i;

export function hostName(value: string): string {
  if (!HOST.test(value)) throw new Error(`not a host name: ${JSON.stringify(value)}`);
  return value;
}

export function backend(value: string): string {
  const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(value) ?? [];
  if (Number(port) < 1 || Number(port) > 65535) {
    throw new Error(`not a host and port: ${JSON.stringify(value)}`);
  }
  return `${hostName(host)}:${port}`;
}

export function address(value: string): string {
  if (!ADDRESS.test(value)) throw new Error(`not an address or CIDR: ${JSON.stringify(value)}`);
  return value;
}

export function optionalBackend(value: string | undefined): string {
  return value === undefined ? '""' : backend(value);
}

export function bodySize({ clientMaxBodySize }: NginxConfigInput): string {
  if (/^\d+[kmg]?$/i.test(clientMaxBodySize)) return clientMaxBodySize;
  throw new Error(`not a size: ${JSON.stringify(clientMaxBodySize)}`);
}

export function seconds(value: number): string {
  if (Number.isInteger(value) && value >= 1) return `${value}s`;
  throw new Error(`not a number of seconds: ${String(value)}`);
}

export function headerName(value: string): string {
  if (/^[A-Za-z][A-Za-z0-9-]*$/.test(value)) return value;
  throw new Error(`not a name of a header: ${JSON.stringify(value)}`);
}

/**
 * A value as nginx reads it in double quotes. It would take a dollar for the start of a variable, and
 * knows no way to write one but a variable that holds it.
 */
export function headerValue(value: string): string {
  if (!/^[ -~]+$/.test(value)) throw new Error(`not a value of a header: ${JSON.stringify(value)}`);
  return `"${value.replace(/["\\]/g, '\\$&').replaceAll('$', '${dollar}')}"`;
}

export function sitesDirectory({ sitesDirectory: root = SITES_DIR }: NginxConfigInput): string {
  if (/^\/[\w./-]+$/.test(root)) return root;
  throw new Error(`not a directory: ${JSON.stringify(root)}`);
}
