import { ApiObject } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { Certificate } from '../../imports/cert-manager.io.js';
import { NGINX_PORT } from '../frappe/constants.generated.js';
import { childLabels } from '../kit/labels.js';
import { benchNames, siteNames } from '../kit/names.js';
import { TraefikMiddleware } from '../kit/object-kind.js';
import type { AppSite } from './api.js';
import type { SiteInputs } from './resolve.js';
import { redirectAnnotations, redirectsByMiddleware } from './redirect.js';

/** The Ingress that leads to the bench's proxy, and the Certificate where an issuer is named. HTTP leads to HTTPS once there is one. */
export class SiteIngress extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { site, inputs }: { readonly site: AppSite; readonly inputs: SiteInputs },
  ) {
    super(scope, id);
    const { bench, hosts, tls } = inputs;
    const names = siteNames(site.metadata.name);
    const { namespace } = bench;
    const { className = bench.domain.ingressClassName } = site.spec.ingress ?? {};
    const labels = childLabels(site, 'ingress');
    const secured = tls?.secretExists === true;
    const middleware = inputs.traefik && secured && redirectsByMiddleware(className);
    const annotations = {
      ...(tls ? redirectAnnotations(className, secured) : {}),
      ...(middleware
        ? {
            'traefik.ingress.kubernetes.io/router.middlewares': `${namespace}-${names.ingress}@kubernetescrd`,
          }
        : {}),
      ...site.spec.ingress?.annotations,
    };
    if (middleware) {
      new ApiObject(this, 'redirect', {
        apiVersion: TraefikMiddleware.apiVersion,
        kind: TraefikMiddleware.kind,
        metadata: { name: names.ingress, namespace, labels },
        spec: { redirectScheme: { scheme: 'https', permanent: true } },
      });
    }
    new k8s.KubeIngress(this, 'ingress', {
      metadata: {
        name: names.ingress,
        namespace,
        labels,
        ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
      },
      spec: {
        ...(className ? { ingressClassName: className } : {}),
        ...(tls ? { tls: [{ hosts: [...hosts], secretName: tls.secretName }] } : {}),
        rules: hosts.map((host) => ({
          host,
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: {
                  service: { name: benchNames(bench.name).nginx, port: { number: NGINX_PORT } },
                },
              },
            ],
          },
        })),
      },
    });
    if (!tls?.issuer || !tls.certManager) return;
    new Certificate(this, 'certificate', {
      metadata: { name: names.tls, namespace, labels },
      spec: {
        secretName: tls.secretName,
        dnsNames: [...hosts],
        issuerRef: { group: 'cert-manager.io', kind: tls.issuer.kind, name: tls.issuer.name },
      },
    });
  }
}
