import { Construct } from 'constructs';
import { EXPORTER_REQUESTS } from '../../frappe/default-resources.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { METRICS_PORT, SCRIPTS_DIR } from '../../kit/constants.generated.js';
import { PYTHON } from '../../frappe/pod.js';
import { PodService } from '../../frappe/service.js';
import { scriptHash } from '../../frappe/script-modules.js';
import { WorkloadConstruct } from '../../frappe/workload.js';
import type { Resources } from '../../kit/api.js';
import { benchNames } from '../../kit/names.js';
import type { AppBench } from '../../api/bench.js';

const SCRIPT = 'bench_metrics.py';
/** The scripts are constant: one hash serves all benches. */
const SCRIPT_HASH = scriptHash(SCRIPT);

export interface MetricsProps {
  readonly bench: BenchModel;
  readonly owner: AppBench;
  readonly resources?: Resources | undefined;
}

/**
 * The exporter of queue lengths and database connections, and its Service with the port `metrics`.
 * It reads its inputs from the volume at each scrape, so no change of the bench restarts it.
 */
export class Metrics extends Construct {
  constructor(scope: Construct, id: string, { bench, owner, resources }: MetricsProps) {
    super(scope, id);
    const name = benchNames(bench.name).metrics;
    const component = 'metrics';
    new PodService(this, 'service', {
      owner,
      name,
      namespace: bench.namespace,
      component,
      ports: { metrics: METRICS_PORT },
    });
    const answers = {
      httpGet: { path: '/healthz', port: METRICS_PORT },
    };
    new WorkloadConstruct(this, 'workload', {
      bench,
      owner,
      name,
      component,
      replicas: 1,
      // Another release of the operator may bring another script, or other modules that it imports.
      configHash: SCRIPT_HASH,
      container: {
        name: component,
        command: [PYTHON, `${SCRIPTS_DIR}/${SCRIPT}`],
        env: [
          { name: 'NAMESPACE', value: bench.namespace },
          { name: 'BENCH', value: bench.name },
        ],
        ports: [{ name: 'metrics', containerPort: METRICS_PORT, protocol: 'TCP' }],
        resources: resources ?? EXPORTER_REQUESTS,
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
