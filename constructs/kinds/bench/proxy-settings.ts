import type { Problem } from '../../kit/errors.js';
import { bytesOf } from '../../kit/quantity.js';
import type { AppBench, ProxySettings, ResponseHeader } from '../../api/bench.js';
import type { NginxConfigInput } from './nginx-input.js';

/** The ingress controller's pods: a proxy in the cluster is trusted to name its client. */
const PRIVATE_RANGES = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '172.16.0.0/12',
  '192.168.0.0/16',
  'fd00::/8',
] as const;

const MEBIBYTE = 1024 * 1024;

/** What the proxy's part of a spec is in nginx's configuration, with every default decided. */
export function proxySettings(
  proxy: ProxySettings = {},
): Omit<NginxConfigInput, 'sites' | 'benchBackend' | 'socketio' | 'socketioPods'> {
  const { connectTimeoutSeconds, responseHeaders, realIPHeader } = proxy;
  return {
    clientMaxBodySize: proxy.maxBodySize === undefined ? '50m' : sizeOf(proxy.maxBodySize),
    proxyReadTimeout: proxy.readTimeoutSeconds ?? 120,
    proxySendTimeout: proxy.sendTimeoutSeconds ?? 120,
    ...(connectTimeoutSeconds === undefined ? {} : { proxyConnectTimeout: connectTimeoutSeconds }),
    ...(responseHeaders === undefined
      ? {}
      : { responseHeaders: responseHeaders.filter(isFirstOfName) }),
    realIpFrom: proxy.realIPFrom?.filter(isRange) ?? PRIVATE_RANGES,
    ...(realIPHeader === undefined ? {} : { realIpHeader: realIPHeader }),
  };
}

/** A quantity in nginx's notation. */
function sizeOf(quantity: string): string {
  const bytes = Math.floor(bytesOf(quantity));
  return bytes % MEBIBYTE === 0 ? `${bytes / MEBIBYTE}m` : String(bytes);
}

/** Whether an address that the schema takes has as many groups as IPv6 has, at most. */
function isRange(range: string): boolean {
  const [address = ''] = range.split('/', 1);
  return !address.includes('::') || address.split(':').filter((group) => group !== '').length < 8;
}

/** Whether no header before it has the name in another spelling. */
function isFirstOfName(
  { name }: ResponseHeader,
  index: number,
  headers: readonly ResponseHeader[],
): boolean {
  const isSame = (other: ResponseHeader): boolean =>
    other.name.toLowerCase() === name.toLowerCase();
  return headers.findIndex(isSame) === index;
}

/**
 * What the schema cannot find. It is left out: a configuration that nginx rejects would hold up every
 * later change of the bench's sites.
 */
export function proxyWithoutEffect({ spec }: Pick<AppBench, 'spec'>): readonly Problem[] {
  const { realIPFrom = [], responseHeaders = [] } = spec.proxy ?? {};
  return [
    ...realIPFrom.flatMap((range, index) => {
      if (isRange(range)) return [];
      const message = `has no effect: "${range}" is no address, such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32`;
      return [{ path: `spec.proxy.realIPFrom[${index}]`, message }];
    }),
    ...responseHeaders.flatMap((header, index) => {
      if (isFirstOfName(header, index, responseHeaders)) return [];
      const message = `has no effect: the list has the header "${header.name}" in another spelling, which is the same name`;
      return [{ path: `spec.proxy.responseHeaders[${index}].name`, message }];
    }),
  ];
}
