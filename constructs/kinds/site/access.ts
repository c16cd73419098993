import type { AppSite } from '../../api/site.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import {
  resolveIssuer,
  servesCertManager,
  type CertificateIssuer,
} from '../../integrations/cert-manager/issuer.js';
import { resolveGateway } from '../../integrations/gateway-api/gateway.js';
import { HttpRoute } from '../../integrations/gateway-api/kinds.js';
import { INTEGRATIONS } from '../../integrations/index.js';
import type { GatewayRef } from '../../kit/api.js';
import type { AccessGateway, Integration } from '../../kit/integration.js';
import type { Problem } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import { uidOf } from '../../kit/object.js';
import { isTaken } from './access-move.js';
import { ownHosts } from './foreign-hosts.js';
import { ignoredAliases, usableHosts } from './host-problems.js';

/** How the site is reached from outside of the cluster. */
export interface SiteAccess {
  /** The public host name. */
  readonly domain: string;
  /** All public host names, `domain` first. */
  readonly hosts: readonly string[];
  /** The aliases that are not among `hosts`. */
  readonly ignoredAliases: readonly Problem[];
  /** Those of `hosts` to record as the site's own; undefined where it takes no visitors. */
  readonly ownHosts: readonly string[] | undefined;
  /** Whether the site's Ingress, or what takes its place, encrypts. */
  readonly encrypted: boolean;
  /** Protocol of the public address; undefined where `encrypted` and the certificate decide. */
  readonly protocol: AppSite['spec']['publicProtocol'];
  /** The certificate in a Secret; undefined also where `route` has one of its own. */
  readonly tls: SiteTls | undefined;
  /** The integration that serves the site in place of an Ingress. */
  readonly route: string | undefined;
  /** The Gateway that the spec of the site names, or of its bench. */
  readonly gateway: AccessGateway | undefined;
  /** Whether nothing waits for the site's Ingress: a controller has it, or the site should have none. */
  readonly ingressTaken: boolean;
  /** The integrations that add to the site's Ingress. */
  readonly integrations: readonly string[];
}

/** How the site's traffic is encrypted. */
export interface SiteTls {
  readonly secretName: string;
  /** Who issues the certificate; undefined where the user provides the Secret. */
  readonly issuer: CertificateIssuer | undefined;
  /** Whether the cluster serves cert-manager's API. */
  readonly certManager: boolean;
  readonly secretExists: boolean;
  /** Whether the ingress controller has a certificate of its own: none is in a Secret. */
  readonly isControllers: boolean;
}

export function resolveAccess(site: AppSite, bench: BenchModel, reader: ClusterReader): SiteAccess {
  const { ingress, siteName, publicProtocol } = site.spec;
  const { suffix } = bench.domain;
  const ignored = ignoredAliases(site, suffix, reader);
  const hosts = usableHosts(site, suffix, ignored);
  return {
    domain: hosts[0] ?? siteName,
    hosts,
    ignoredAliases: ignored,
    ownHosts: ownHosts(site, hosts, reader),
    protocol: publicProtocol,
    ...(ingress?.enabled ? resolveWay(site, { bench, hosts }, reader) : NO_WAY),
  };
}

/** What leads to a site from outside of the cluster. */
type Way = Pick<
  SiteAccess,
  'encrypted' | 'tls' | 'route' | 'gateway' | 'ingressTaken' | 'integrations'
>;

const NO_WAY: Way = {
  encrypted: false,
  tls: undefined,
  route: undefined,
  gateway: undefined,
  ingressTaken: true,
  integrations: [],
};

function resolveWay(
  site: AppSite,
  { bench, hosts }: { readonly bench: BenchModel; readonly hosts: readonly string[] },
  reader: ClusterReader,
): Way {
  const gateway = siteGateway(site, { bench, hosts }, reader);
  const encrypted = gateway?.encrypted ?? site.spec.ingress?.tls?.enabled === true;
  const served = INTEGRATIONS.filter(({ access }) => access && reader.serves(access.kind));
  const route = routeOf(site, { bench, encrypted, served }, reader);
  const hasIngress = route === undefined && !gateway;
  return {
    encrypted,
    tls: encrypted && hasIngress ? resolveTls(site, bench, reader) : undefined,
    route,
    gateway,
    ingressTaken: !hasIngress || !reader.serves(HttpRoute) || isTaken(site, reader),
    integrations: served.flatMap(({ name, access }) => (access?.replacesIngress ? [] : [name])),
  };
}

/** The Gateway that a site's routes are attached to. A class of its own comes before that of its bench. */
function siteGateway(
  { metadata, spec: { ingress } }: AppSite,
  { bench, hosts }: { readonly bench: BenchModel; readonly hosts: readonly string[] },
  reader: ClusterReader,
): AccessGateway | undefined {
  const ref = gatewayOf(ingress, bench);
  if (!ref) return undefined;
  const { namespace } = bench;
  const { ingress: name } = siteNames(metadata.name);
  const tls = ingress?.tls?.enabled === true;
  return resolveGateway({ ref, namespace, name, hosts, tls }, reader);
}

function gatewayOf(ingress: AppSite['spec']['ingress'], bench: BenchModel): GatewayRef | undefined {
  if (!ingress?.enabled) return undefined;
  const ofBench = ingress.className === undefined ? bench.domain.gatewayRef : undefined;
  return ingress.gatewayRef ?? ofBench;
}

/** The integration that serves the site in place of an Ingress. */
function routeOf(
  site: AppSite,
  props: {
    readonly bench: BenchModel;
    readonly encrypted: boolean;
    readonly served: readonly Integration[];
  },
  reader: ClusterReader,
): string | undefined {
  const { bench, encrypted, served } = props;
  const request = {
    className: site.spec.ingress?.className ?? bench.domain.ingressClassName,
    certificateInSecret: encrypted && hasCertificateInSecret(site, bench, reader),
    namesGateway: gatewayOf(site.spec.ingress, bench) !== undefined,
  };
  return served.find(({ access }) => access?.replacesIngress?.(request))?.name;
}

/** Whether the spec names a Secret or an issuer, or the Secret by its default name exists. */
function hasCertificateInSecret(
  { metadata, spec }: AppSite,
  bench: BenchModel,
  reader: ClusterReader,
): boolean {
  const { secretName, certManagerIssuer } = spec.ingress?.tls ?? {};
  if ((secretName ?? certManagerIssuer ?? bench.domain.issuer) !== undefined) return true;
  return isSecret(metadata.namespace, siteNames(metadata.name).tls, reader);
}

function isSecret(namespace = 'default', name: string, reader: ClusterReader): boolean {
  return reader.get('Secret', namespace, name, uidOf) !== undefined;
}

function resolveTls(site: AppSite, bench: BenchModel, reader: ClusterReader): SiteTls {
  const { metadata, spec } = site;
  const { namespace = 'default', name } = metadata;
  const {
    secretName = siteNames(name).tls,
    certManagerIssuer,
    issuerKind,
  } = spec.ingress?.tls ?? {};
  const issuer = certManagerIssuer ?? bench.domain.issuer;
  return {
    secretName,
    issuer: issuer === undefined ? undefined : resolveIssuer(issuer, issuerKind, namespace, reader),
    certManager: servesCertManager(reader),
    secretExists: isSecret(namespace, secretName, reader),
    isControllers: spec.publicProtocol === 'https' && !hasCertificateInSecret(site, bench, reader),
  };
}
