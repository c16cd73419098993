import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { childLabels } from '../kit/labels.js';
import { frameworkPod, type FrameworkPodProps, withAffinity } from './pod.js';

export interface FrameworkJobProps extends Omit<
  FrameworkPodProps,
  'restartPolicy' | 'terminationGracePeriodSeconds' | 'configHash'
> {
  /** What the Job has to do, as a hash: it runs again when this changes, and only then. */
  readonly run: string;
  /** @default 3600 */
  readonly deadlineSeconds?: number;
}

/** A Job in the framework's image. Its script is idempotent, so that any attempt may repair the last. */
export class FrameworkJob extends Construct {
  constructor(scope: Construct, id: string, props: FrameworkJobProps) {
    super(scope, id);
    const { bench, owner, name, component } = props;
    const job = new k8s.KubeJob(this, 'job', {
      metadata: {
        name,
        namespace: bench.namespace,
        labels: childLabels(owner, component),
        annotations: { [bench.markers.run]: props.run },
      },
      spec: {
        backoffLimit: 3,
        activeDeadlineSeconds: props.deadlineSeconds ?? 3600,
        // A pod each attempt: the logs of those that failed stay readable.
        template: frameworkPod({ ...props, restartPolicy: 'Never' }),
      },
    });
    withAffinity(job, bench);
  }
}
