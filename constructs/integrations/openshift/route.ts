import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import type { ConditionResult } from '../../kit/condition.js';
import { hashOf } from '../../kit/json/hash.js';
import type { AccessHook, AccessProps } from '../../kit/integration.js';
import { Route } from './kinds.js';

/** The ingress class of OpenShift's own router. */
const ROUTER_CLASS = 'openshift-default';

/** The certificate of a Route is the router's, which always exists. */
const CERTIFICATE: ConditionResult = {
  type: 'CertificateReady',
  status: 'True',
  reason: 'RouterCertificate',
  message: "the certificate of OpenShift's router",
};

/**
 * OpenShift's router serves Routes. It converts Ingresses to Routes too, with certificates from
 * Secrets, which a Route cannot name. So a site has a Route unless its certificate is in a Secret,
 * or its ingress class is another one.
 */
export const routes: AccessHook = {
  kind: Route,
  replacesIngress({ className = ROUTER_CLASS, certificateInSecret, namesGateway }) {
    return className === ROUTER_CLASS && !certificateInSecret && !namesGateway;
  },
  certificate: CERTIFICATE,
  add: addRoutes,
};

function addRoutes(scope: Construct, props: AccessProps): Readonly<Record<string, string>> {
  const { name, namespace, labels, annotations, backend } = props;
  props.hosts.forEach((host, index) => {
    new ApiObject(scope, host, {
      apiVersion: Route.apiVersion,
      kind: Route.kind,
      metadata: {
        // The name depends on the host and not on its place in the list, so that it does not
        // change.
        name: index === 0 ? name : `${name}-${hashOf(host).slice(0, 8)}`,
        namespace,
        labels: { ...labels },
        ...(annotations ? { annotations: { ...annotations } } : {}),
      },
      spec: {
        host,
        to: { kind: 'Service', name: backend.service, weight: 100 },
        port: { targetPort: backend.port },
        wildcardPolicy: 'None',
        ...(props.encrypted
          ? { tls: { termination: 'edge', insecureEdgeTerminationPolicy: 'Redirect' } }
          : {}),
      },
    });
  });
  return {};
}
