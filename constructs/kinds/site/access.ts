import type { AppSite } from '../../api/site.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import {
  resolveIssuer,
  servesCertManager,
  type CertificateIssuer,
} from '../../integrations/cert-manager/issuer.js';
import { INTEGRATIONS } from '../../integrations/index.js';
import type { Integration } from '../../kit/integration.js';
import type { Problem } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import { uidOf } from '../../kit/object.js';
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
  const { ingress, siteName } = site.spec;
  const { suffix } = bench.domain;
  const ignored = ignoredAliases(site, suffix, reader);
  const hosts = usableHosts(site, suffix, ignored);
  const encrypted = ingress?.enabled === true && ingress.tls?.enabled === true;
  const served = INTEGRATIONS.filter(({ access }) => access && reader.serves(access.kind));
  const route = ingress?.enabled ? routeOf(site, { bench, encrypted, served }, reader) : undefined;
  return {
    domain: hosts[0] ?? siteName,
    hosts,
    ignoredAliases: ignored,
    ownHosts: ownHosts(site, hosts, reader),
    encrypted,
    protocol: site.spec.publicProtocol,
    tls: encrypted && route === undefined ? resolveTls(site, bench, reader) : undefined,
    route,
    integrations: served.flatMap(({ name, access }) => (access?.replacesIngress ? [] : [name])),
  };
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
