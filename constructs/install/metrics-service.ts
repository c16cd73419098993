import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import {
  CONTROL_PLANE,
  OPERATOR,
  OPERATOR_LABELS,
  OPERATOR_SELECTOR,
  servedPorts,
} from '../kit/operator-identity.js';

export interface MetricsServiceProps {
  readonly namespace: string;
  /** Whether the metrics are served over plain HTTP too. @default false */
  readonly plainMetrics?: boolean | undefined;
}

/** The Service in front of the operator's endpoints: metrics and health. */
export class MetricsService extends Construct {
  constructor(scope: Construct, id: string, props: MetricsServiceProps) {
    super(scope, id);
    const { namespace, plainMetrics } = props;
    new k8s.KubeService(this, 'service', {
      metadata: {
        name: OPERATOR.metricsService,
        namespace,
        labels: { ...OPERATOR_LABELS, ...CONTROL_PLANE },
      },
      spec: {
        selector: { ...OPERATOR_SELECTOR },
        ports: Object.entries(servedPorts(plainMetrics)).map(([name, port]) => ({
          name,
          port,
          targetPort: name,
          protocol: 'TCP',
        })),
      },
    });
  }
}
