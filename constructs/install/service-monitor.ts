import { App, Chart } from 'cdk8s';
import { Construct } from 'constructs';
import {
  ServiceMonitor as Monitor,
  ServiceMonitorSpecEndpointsScheme as Scheme,
} from '../../imports/monitoring.coreos.com.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../kit/labels.js';
import type { KubeObject } from '../kit/object.js';
import type { ObjectKind } from '../kit/object-kind.js';
import { CONTROL_PLANE, OPERATOR, OPERATOR_LABELS } from './identity.js';

/** The kind that tells a Prometheus operator what to scrape. */
export const ServiceMonitorKind: ObjectKind = {
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'ServiceMonitor',
  plural: 'servicemonitors',
  optional: true,
};

/** How Prometheus scrapes the operator. The operator makes it itself where that API is served. */
export class ServiceMonitor extends Construct {
  constructor(scope: Construct, id: string, { namespace }: { readonly namespace: string }) {
    super(scope, id);
    new Monitor(this, 'monitor', {
      metadata: {
        name: OPERATOR.serviceMonitor,
        namespace,
        labels: { ...OPERATOR_LABELS, ...CONTROL_PLANE, [MANAGED_BY_LABEL]: MANAGED_BY },
      },
      spec: {
        endpoints: [
          {
            port: 'https',
            scheme: Scheme.HTTPS,
            path: '/metrics',
            interval: '30s',
            bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
            // The certificate is the operator's own, which nobody has signed.
            tlsConfig: { insecureSkipVerify: true },
          },
        ],
        selector: { matchLabels: { ...CONTROL_PLANE } },
      },
    });
  }
}

/** The ServiceMonitor as an object, for an operator in this namespace. */
export function serviceMonitorOf(namespace: string): KubeObject {
  const chart = new Chart(new App(), 'service-monitor');
  new ServiceMonitor(chart, 'service-monitor', { namespace });
  const [object] = chart.toJson() as KubeObject[];
  if (!object) throw new Error('the ServiceMonitor is not in its chart');
  return object;
}
