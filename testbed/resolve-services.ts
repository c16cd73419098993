import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

/** Variable with the addresses of Services: JSON, by namespace. */
export const SERVICE_ADDRESSES = 'SERVICE_ADDRESSES';

const addresses = JSON.parse(process.env[SERVICE_ADDRESSES] ?? '{}') as Partial<
  Record<string, string>
>;
const lookup = dns.lookup as (...args: unknown[]) => void;

/**
 * Loaded with `--import` into an operator outside of a cluster, where no name server knows Services:
 * `<name>.<namespace>.svc.<domain>` gets the address of its namespace.
 */
function lookupService(host: string, ...rest: unknown[]): void {
  const [, namespace = '', svc] = host.split('.');
  const address = svc === 'svc' ? addresses[namespace] : undefined;
  lookup(address ?? host, ...rest);
}
dns.lookup = lookupService as typeof dns.lookup;
syncBuiltinESMExports();
