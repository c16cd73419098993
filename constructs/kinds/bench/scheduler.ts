import { Construct } from 'constructs';
import { SCHEDULER_REQUESTS } from '../../frappe/default-resources.js';
import { SCRIPTS_DIR } from '../../kit/constants.generated.js';
import { PYTHON } from '../../frappe/pod.js';
import { WorkloadConstruct } from '../../frappe/workload.js';
import { benchNames } from '../../kit/names.js';
import type { BenchComponentProps } from './component-props.js';

export interface SchedulerProps extends BenchComponentProps {
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
    new WorkloadConstruct(this, 'workload', {
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
