import type { GatewayRef } from '../../kit/api.js';
import type { AccessGateway, AccessRoute } from '../../kit/integration.js';
import { hashOf } from '../../kit/json/hash.js';
import type { ClusterReader } from '../../kit/kind.js';
import { Gateway, HttpRoute, type GatewayLike, type Listener } from './kinds.js';

/** What a site asks of its Gateway. */
export interface GatewayRequest {
  readonly ref: GatewayRef;
  /** Of the site, and of a Gateway without one. */
  readonly namespace: string;
  /** Name of the first route. */
  readonly name: string;
  readonly hosts: readonly string[];
  /** Whether the site wants HTTPS. */
  readonly tls: boolean;
}

/** The Gateway of a site, and the routes that the site has there. It may be created later. */
export function resolveGateway(request: GatewayRequest, reader: ClusterReader): AccessGateway {
  const { ref, hosts } = request;
  const { namespace = request.namespace, name, sectionName } = ref;
  const isServed = reader.serves(HttpRoute);
  const listeners = reader.serves(Gateway)
    ? reader.get('Gateway', namespace, name, listenersOf)
    : undefined;
  const mayServe = (host: string): readonly Listener[] =>
    (listeners ?? []).filter(
      (listener) =>
        (listener.protocol === 'HTTP' || listener.protocol === 'HTTPS') && takes(listener, host),
    );
  const isChosen = (listener: Listener): boolean =>
    sectionName === undefined || listener.name === sectionName;
  const all = hosts.flatMap((host) => mayServe(host).filter(isChosen));
  const encrypted = request.tls || (all.length > 0 && all.every(isHttps));
  return {
    namespace,
    name,
    isServed,
    isFound: listeners !== undefined,
    encrypted,
    withoutHttps: listeners
      ? hosts.filter((host) => !mayServe(host).some((one) => isChosen(one) && isHttps(one)))
      : [],
    routes: hosts.map((host, index) => ({
      host,
      // The name depends on the host and not on its place in the list, so that it does not change.
      name: index === 0 ? request.name : `${request.name}-${hashOf(host).slice(0, 8)}`,
      ...sectionsOf(mayServe(host), { sectionName, encrypted }),
    })),
  };
}

/** Which listeners serve a host, and which ones redirect it to them. */
function sectionsOf(
  listeners: readonly Listener[],
  {
    sectionName,
    encrypted,
  }: { readonly sectionName: string | undefined; readonly encrypted: boolean },
): Pick<AccessRoute, 'sections' | 'redirects'> {
  const chosen = sectionName === undefined ? [] : [sectionName];
  const https = listeners
    .filter((one) => isHttps(one) && (sectionName === undefined || one.name === sectionName))
    .map(({ name }) => name);
  if (!encrypted || https.length === 0) return { sections: chosen, redirects: [] };
  const http = listeners.filter((one) => !isHttps(one)).map(({ name }) => name);
  return { sections: https.slice(0, MAX_PARENTS), redirects: http.slice(0, MAX_PARENTS) };
}

/** The API refuses a route with more parents. */
const MAX_PARENTS = 32;

function listenersOf({ spec }: GatewayLike): readonly Listener[] {
  return spec.listeners;
}

function isHttps({ protocol }: Listener): boolean {
  return protocol === 'HTTPS';
}

/** A wildcard takes names of any depth below it, and not its own. */
function takes({ hostname = '' }: Listener, host: string): boolean {
  if (hostname === '') return true;
  return hostname.startsWith('*.') ? host.endsWith(hostname.slice(1)) : host === hostname;
}
