import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import type { BenchModel } from '../frappe/bench-model.js';
import { METRICS_PORT, SCRIPTS_DIR } from '../frappe/constants.generated.js';
import { PYTHON, selectorLabels } from '../frappe/pod.js';
import { scripts } from '../frappe/scripts.generated.js';
import { Workload } from '../frappe/workload.js';
import type { Resources } from '../kit/api.js';
import { hashOf } from '../kit/hash.js';
import { childLabels } from '../kit/labels.js';
import { benchNames } from '../kit/names.js';
import type { AppBench } from './api.js';

const SCRIPT = 'bench_metrics.py';

export interface MetricsProps {
  readonly bench: BenchModel;
  readonly owner: AppBench;
  readonly resources?: Resources | undefined;
}

/**
 * The exporter of queue lengths and database connections, and its Service with the port `metrics`.
 * It reads all that it needs from the volume when it is asked, so no change of the bench restarts it.
 */
export class Metrics extends Construct {
  constructor(scope: Construct, id: string, { bench, owner, resources }: MetricsProps) {
    super(scope, id);
    const name = benchNames(bench.name).metrics;
    const component = 'metrics';
    new k8s.KubeService(this, 'service', {
      metadata: { name, namespace: bench.namespace, labels: childLabels(owner, component) },
      spec: {
        selector: selectorLabels({ owner, name }),
        ports: [
          {
            name: 'metrics',
            port: METRICS_PORT,
            targetPort: k8s.IntOrString.fromNumber(METRICS_PORT),
            protocol: 'TCP',
          },
        ],
      },
    });
    const answers = {
      httpGet: { path: '/healthz', port: k8s.IntOrString.fromNumber(METRICS_PORT) },
    };
    new Workload(this, 'workload', {
      bench,
      owner,
      name,
      component,
      replicas: 1,
      // Another release of the operator may bring another script.
      configHash: hashOf([scripts[SCRIPT]]),
      container: {
        name: component,
        command: [PYTHON, `${SCRIPTS_DIR}/${SCRIPT}`],
        env: [
          { name: 'NAMESPACE', value: bench.namespace },
          { name: 'BENCH', value: bench.name },
        ],
        ports: [{ name: 'metrics', containerPort: METRICS_PORT, protocol: 'TCP' }],
        resources,
        writesSites: false,
        readinessProbe: { ...answers, periodSeconds: 10, timeoutSeconds: 5 },
        livenessProbe: {
          ...answers,
          initialDelaySeconds: 30,
          periodSeconds: 30,
          timeoutSeconds: 10,
          failureThreshold: 4,
        },
      },
    });
  }
}
