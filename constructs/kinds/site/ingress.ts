import { Construct } from 'constructs';
import * as k8s from '../../kit/k8s.js';
import type { AppSite } from '../../api/site.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { accessHooks } from '../../integrations/index.js';
import { NGINX_PORT } from '../../kit/constants.generated.js';
import { hasCertificate, type AccessProps } from '../../kit/integration.js';
import { childLabels } from '../../kit/labels.js';
import { benchNames, siteNames } from '../../kit/names.js';
import type { SiteAccess } from './access.js';
import { redirectAnnotations } from './ingress-redirect.js';

export interface SiteIngressProps {
  readonly site: AppSite;
  readonly bench: BenchModel;
  readonly access: SiteAccess;
}

/**
 * The way to the bench's proxy from outside of the cluster: an Ingress with what integrations add to
 * it, such as a Certificate, or what one of them has in its place.
 */
export class SiteIngress extends Construct {
  constructor(scope: Construct, id: string, props: SiteIngressProps) {
    super(scope, id);
    const { route, gateway, integrations } = props.access;
    const access = accessProps(props, new Construct(this, 'named'));
    if (route !== undefined) {
      for (const hook of accessHooks([route])) hook.add(this, access);
      return;
    }
    // Without the API of routes the site has nothing: an Ingress could be served by any controller.
    if (gateway) return;
    const { name, namespace, labels, className, tls } = access;
    const ingress = new k8s.KubeIngress(this, 'ingress', {
      metadata: {
        name,
        namespace,
        labels: { ...labels },
        annotations: { ...(tls ? redirectAnnotations(className, hasCertificate(tls)) : {}) },
      },
      spec: ingressSpec(access),
    });
    const added = accessHooks(integrations).map((hook) => hook.add(this, access));
    for (const annotations of [...added, access.annotations ?? {}]) {
      for (const [key, value] of Object.entries(annotations)) {
        ingress.metadata.addAnnotation(key, value);
      }
    }
  }
}

function accessProps({ site, bench, access }: SiteIngressProps, named: Construct): AccessProps {
  const names = siteNames(site.metadata.name);
  const { ingress } = site.spec;
  const { hosts, encrypted, tls, gateway } = access;
  return {
    name: names.ingress,
    namespace: bench.namespace,
    labels: childLabels(site, 'ingress'),
    annotations: ingress?.annotations,
    className: ingress?.className ?? bench.domain.ingressClassName,
    hosts,
    encrypted,
    tls: tls && { ...tls, certificate: names.tls },
    gateway,
    backend: { service: benchNames(bench.name).nginx, port: NGINX_PORT },
    named,
  };
}

function ingressSpec({ className, hosts, tls, backend }: AccessProps): k8s.IngressSpec {
  const service = { name: backend.service, port: { number: backend.port } };
  return {
    ...(className ? { ingressClassName: className } : {}),
    ...(tls
      ? {
          tls: [
            { hosts: [...hosts], ...(tls.isControllers ? {} : { secretName: tls.secretName }) },
          ],
        }
      : {}),
    rules: hosts.map((host) => ({
      host,
      http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service } }] },
    })),
  };
}
