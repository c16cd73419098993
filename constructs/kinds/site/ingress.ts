import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { NGINX_PORT } from '../../kit/constants.generated.js';
import type { IngressProps, Integration } from '../../kit/integration.js';
import { childLabels } from '../../kit/labels.js';
import { benchNames, siteNames } from '../../kit/names.js';
import type { AppSite } from '../../api/site.js';
import type { SiteInputs } from './inputs.js';
import { redirectAnnotations } from './ingress-redirect.js';

export interface SiteIngressProps {
  readonly site: AppSite;
  readonly inputs: SiteInputs;
  readonly integrations: readonly Integration[];
}

/**
 * The Ingress that routes to the bench's proxy, with what integrations add to it: a Certificate
 * where an issuer is named, a redirect to HTTPS once the certificate exists.
 */
export class SiteIngress extends Construct {
  constructor(scope: Construct, id: string, { site, inputs, integrations }: SiteIngressProps) {
    super(scope, id);
    const ingress = ingressProps(site, inputs);
    const { name, namespace, labels, className, tls } = ingress;
    const extensions = integrations
      .filter((integration) => inputs.ingressExtensions.includes(integration.name))
      .flatMap((integration) => integration.ingress ?? []);
    const annotations = {
      ...(tls ? redirectAnnotations(className, tls.secretExists) : {}),
      ...Object.assign({}, ...extensions.map((extension) => extension.before?.(this, ingress))),
      ...site.spec.ingress?.annotations,
    } as Record<string, string>;
    new k8s.KubeIngress(this, 'ingress', {
      metadata: {
        name,
        namespace,
        labels: { ...labels },
        ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
      },
      spec: ingressSpec(ingress, benchNames(inputs.bench.name).nginx),
    });
    for (const extension of extensions) extension.after?.(this, ingress);
  }
}

function ingressProps(site: AppSite, { bench, hosts, tls }: SiteInputs): IngressProps {
  const names = siteNames(site.metadata.name);
  return {
    name: names.ingress,
    namespace: bench.namespace,
    labels: childLabels(site, 'ingress'),
    className: site.spec.ingress?.className ?? bench.domain.ingressClassName,
    hosts,
    tls: tls && { ...tls, certificate: names.tls },
  };
}

function ingressSpec({ className, hosts, tls }: IngressProps, service: string): k8s.IngressSpec {
  const backend = { service: { name: service, port: { number: NGINX_PORT } } };
  return {
    ...(className ? { ingressClassName: className } : {}),
    ...(tls ? { tls: [{ hosts: [...hosts], secretName: tls.secretName }] } : {}),
    rules: hosts.map((host) => ({
      host,
      http: { paths: [{ path: '/', pathType: 'Prefix', backend }] },
    })),
  };
}
