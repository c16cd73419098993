import { ApiObject } from 'cdk8s';
import { Construct } from 'constructs';
import type { BenchModel } from '../frappe/bench-model.js';
import { NGINX_PORT } from '../frappe/constants.generated.js';
import type { ConditionResult } from '../kit/condition.js';
import { hashOf } from '../kit/hash.js';
import type { ClusterReader } from '../kit/kind.js';
import { childLabels } from '../kit/labels.js';
import { benchNames, siteNames } from '../kit/names.js';
import { uidOf } from '../kit/object.js';
import { Route } from '../kit/object-kind.js';
import type { AppSite } from './api.js';
import type { SiteInputs } from './resolve.js';

/** The class of OpenShift's own router. */
const OPENSHIFT_CLASS = 'openshift-default';

/** How OpenShift's router leads to the site. */
export interface SiteRouteInputs {
  /** Whether the router answers HTTPS, with its own certificate. */
  readonly encrypted: boolean;
}

/**
 * OpenShift's router takes Routes. It makes them of Ingresses too, and puts in certificates that are in
 * Secrets, which a Route cannot name: so a site has a Route where no Secret is wanted or there, and an
 * Ingress where one is, or where another class is asked for.
 * @returns undefined where the site has an Ingress, or neither
 */
export function resolveRoute(
  site: AppSite,
  bench: BenchModel,
  reader: ClusterReader,
): SiteRouteInputs | undefined {
  const { ingress } = site.spec;
  if (!ingress?.enabled) return undefined;
  const { className = bench.domain.ingressClassName, tls } = ingress;
  if (className !== undefined && className !== OPENSHIFT_CLASS) return undefined;
  const named = tls?.secretName ?? tls?.certManagerIssuer ?? bench.domain.issuer;
  if (tls?.enabled && (named !== undefined || hasSecret(site, reader))) return undefined;
  return reader.serves(Route) ? { encrypted: tls?.enabled ?? false } : undefined;
}

/** Whether there is a Secret of the name that a site's certificate has where no other is given. */
function hasSecret({ metadata }: AppSite, reader: ClusterReader): boolean {
  const { namespace = 'default', name } = metadata;
  return reader.get('Secret', namespace, siteNames(name).tls, uidOf) !== undefined;
}

/** The Routes that lead to the bench's proxy: one for each host name of the site. */
export class SiteRoutes extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: {
      readonly site: AppSite;
      readonly inputs: Pick<SiteInputs, 'bench' | 'hosts'>;
      readonly route: SiteRouteInputs;
    },
  ) {
    super(scope, id);
    const { site, route } = props;
    const { bench, hosts } = props.inputs;
    const { annotations } = site.spec.ingress ?? {};
    const name = siteNames(site.metadata.name).ingress;
    hosts.forEach((host, index) => {
      new ApiObject(this, host, {
        apiVersion: Route.apiVersion,
        kind: Route.kind,
        metadata: {
          // A name that stays with its host, whatever is before it in the list.
          name: index === 0 ? name : `${name}-${hashOf(host).slice(0, 8)}`,
          namespace: bench.namespace,
          labels: childLabels(site, 'ingress'),
          ...(annotations ? { annotations: { ...annotations } } : {}),
        },
        spec: {
          host,
          to: { kind: 'Service', name: benchNames(bench.name).nginx, weight: 100 },
          port: { targetPort: NGINX_PORT },
          wildcardPolicy: 'None',
          ...(route.encrypted
            ? { tls: { termination: 'edge', insecureEdgeTerminationPolicy: 'Redirect' } }
            : {}),
        },
      });
    });
  }
}

/** The certificate of a Route is the router's, and always there. */
export function routeCertificate({ encrypted }: SiteRouteInputs): ConditionResult | undefined {
  if (!encrypted) return undefined;
  const message = "the certificate of OpenShift's router";
  return { type: 'CertificateReady', status: 'True', reason: 'RouterCertificate', message };
}
