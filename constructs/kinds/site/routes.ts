import { Construct } from 'constructs';
import type { BenchModel } from '../../frappe/bench-model.js';
import type { ConditionResult } from '../../kit/condition.js';
import type { Integration, RouteProvider } from '../../kit/integration.js';
import type { ClusterReader } from '../../kit/kind.js';
import { childLabels } from '../../kit/labels.js';
import { benchNames, siteNames } from '../../kit/names.js';
import { uidOf } from '../../kit/object.js';
import type { AppSite } from '../../api/site.js';
import { NGINX_PORT } from '../../kit/constants.generated.js';
import type { SiteInputs, SiteRouteInputs } from './inputs.js';

export interface RouteSources {
  readonly bench: BenchModel;
  readonly reader: ClusterReader;
  readonly integrations: readonly Integration[];
}

/** @returns undefined where the site has an Ingress, or no access from outside */
export function resolveRoute(site: AppSite, sources: RouteSources): SiteRouteInputs | undefined {
  const { ingress } = site.spec;
  if (!ingress?.enabled) return undefined;
  const { bench, reader, integrations } = sources;
  const encrypted = ingress.tls?.enabled ?? false;
  const request = {
    className: ingress.className ?? bench.domain.ingressClassName,
    tls: encrypted,
    certificateInSecret: encrypted && hasCertificateInSecret(site, sources),
  };
  const provider = integrations.find(({ route }) => route?.takes(request, reader));
  return provider && { provider: provider.name, encrypted };
}

/** Whether the spec names a Secret or an issuer, or the Secret by its default name exists. */
function hasCertificateInSecret(site: AppSite, { bench, reader }: RouteSources): boolean {
  const { secretName, certManagerIssuer } = site.spec.ingress?.tls ?? {};
  const named = secretName ?? certManagerIssuer ?? bench.domain.issuer;
  return named !== undefined || hasSecret(site, reader);
}

/** Whether the Secret exists that holds a site's certificate where no other is named. */
function hasSecret({ metadata }: AppSite, reader: ClusterReader): boolean {
  const { namespace = 'default', name } = metadata;
  return reader.get('Secret', namespace, siteNames(name).tls, uidOf) !== undefined;
}

export interface SiteRoutesProps {
  readonly site: AppSite;
  readonly inputs: Pick<SiteInputs, 'bench' | 'hosts'>;
  readonly route: SiteRouteInputs;
  readonly integrations: readonly Integration[];
}

/** The routes to the bench's proxy: one for each host name of the site. */
export class SiteRoutes extends Construct {
  constructor(scope: Construct, id: string, props: SiteRoutesProps) {
    super(scope, id);
    const { site, inputs, route, integrations } = props;
    providerOf(route, integrations)?.chart(this, {
      name: siteNames(site.metadata.name).ingress,
      namespace: inputs.bench.namespace,
      labels: childLabels(site, 'ingress'),
      annotations: site.spec.ingress?.annotations,
      hosts: inputs.hosts,
      encrypted: route.encrypted,
      backend: { service: benchNames(inputs.bench.name).nginx, port: NGINX_PORT },
    });
  }
}

/** The certificate of an encrypted route. */
export function routeCertificate(
  route: SiteRouteInputs,
  integrations: readonly Integration[],
): ConditionResult | undefined {
  return route.encrypted ? providerOf(route, integrations)?.certificate : undefined;
}

function providerOf(
  { provider }: SiteRouteInputs,
  integrations: readonly Integration[],
): RouteProvider | undefined {
  return integrations.find(({ name }) => name === provider)?.route;
}
