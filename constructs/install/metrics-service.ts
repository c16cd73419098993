import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { CONTROL_PLANE, OPERATOR, OPERATOR_LABELS, PORTS } from './identity.js';

/** The Service in front of the operator's endpoints: metrics over HTTPS, and health. */
export class MetricsService extends Construct {
  constructor(scope: Construct, id: string, { namespace }: { readonly namespace: string }) {
    super(scope, id);
    new k8s.KubeService(this, 'service', {
      metadata: {
        name: OPERATOR.metricsService,
        namespace,
        labels: { ...OPERATOR_LABELS, ...CONTROL_PLANE },
      },
      spec: {
        selector: { ...CONTROL_PLANE },
        ports: Object.entries(PORTS).map(([name, port]) => ({
          name,
          port,
          targetPort: k8s.IntOrString.fromString(name),
          protocol: 'TCP',
        })),
      },
    });
  }
}
