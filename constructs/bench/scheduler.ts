import { Construct } from 'constructs';
import { SCHEDULER_REQUESTS } from '../frappe/default-resources.js';
import type { BenchModel } from '../frappe/bench-model.js';
import { SCRIPTS_DIR } from '../kit/constants.generated.js';
import { PYTHON } from '../frappe/pod.js';
import { Workload } from '../frappe/workload.js';
import type { Resources } from '../kit/api.js';
import { benchNames } from '../kit/names.js';
import type { AppBench } from './api.js';

export interface SchedulerProps {
  readonly bench: BenchModel;
  readonly owner: AppBench;
  readonly replicas: number;
  readonly resources?: Resources | undefined;
  readonly configHash: string;
}

/**
 * The scheduler of all sites. Two at once would enqueue every job twice, so the old one stops
 * first.
 */
export class Scheduler extends Construct {
  constructor(scope: Construct, id: string, props: SchedulerProps) {
    super(scope, id);
    const { bench, owner } = props;
    new Workload(this, 'workload', {
      bench,
      owner,
      name: benchNames(bench.name).scheduler,
      component: 'scheduler',
      replicas: props.replicas,
      strategy: 'Recreate',
      configHash: props.configHash,
      container: {
        name: 'scheduler',
        command: ['sh', `${SCRIPTS_DIR}/run.sh`, PYTHON, `${SCRIPTS_DIR}/scheduler.py`],
        env: [{ name: 'IMAGE', value: bench.image.reference }],
        resources: props.resources ?? SCHEDULER_REQUESTS,
      },
    });
  }
}
