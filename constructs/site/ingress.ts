import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { Certificate } from '../../imports/cert-manager.io.js';
import { childLabels } from '../kit/labels.js';
import { benchNames, siteNames } from '../kit/names.js';
import type { AppSite } from './api.js';
import type { SiteFacts } from './facts.js';

const NGINX_PORT = 8080;

/** The Ingress that leads to the bench's proxy, and the Certificate where an issuer is named. */
export class SiteIngress extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { site, facts }: { readonly site: AppSite; readonly facts: SiteFacts },
  ) {
    super(scope, id);
    const { bench, domain, tls } = facts;
    const names = siteNames(site.metadata.name);
    const { namespace } = bench;
    const { className = bench.domain.ingressClassName, annotations } = site.spec.ingress ?? {};
    const labels = childLabels(site, 'ingress');
    new k8s.KubeIngress(this, 'ingress', {
      metadata: {
        name: names.ingress,
        namespace,
        labels,
        ...(annotations ? { annotations: { ...annotations } } : {}),
      },
      spec: {
        ...(className ? { ingressClassName: className } : {}),
        ...(tls ? { tls: [{ hosts: [domain], secretName: tls.secretName }] } : {}),
        rules: [
          {
            host: domain,
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
          },
        ],
      },
    });
    if (!tls?.issuer || !tls.certManager) return;
    new Certificate(this, 'certificate', {
      metadata: { name: names.tls, namespace, labels },
      spec: {
        secretName: tls.secretName,
        dnsNames: [domain],
        issuerRef: { group: 'cert-manager.io', kind: tls.issuer.kind, name: tls.issuer.name },
      },
    });
  }
}
