import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import { childLabels } from '../kit/labels.js';
import { keepTogether } from './co-scheduling.js';
import { frappePod, type FrappePodProps, SCRIPT_RESOURCES, withPodTemplates } from './pod.js';

/** A Job ends when its containers have ended, and the proxy of a mesh does not end. */
const OUTSIDE_MESH = {
  labels: { 'sidecar.istio.io/inject': 'false' },
  annotations: { 'linkerd.io/inject': 'disabled' },
};

export interface FrappeJobProps extends Omit<
  FrappePodProps,
  'restartPolicy' | 'configHash' | 'defaults'
> {
  /** Hash of the work: the Job runs again when it changes, and only then. */
  readonly taskHash: string;
  /** Further labels of the Job itself. */
  readonly labels?: Readonly<Record<string, string>>;
  /** @default 3600 */
  readonly deadlineSeconds?: number;
  /** The field of the owner that sets it. */
  readonly deadlineField?: string;
  /** How often a failed pod is followed by another. @default 3 */
  readonly backoffLimit?: number;
  /** Whether a failed Job is kept as it is. @default false: it is created again after a while */
  readonly once?: boolean;
}

/**
 * A Job in the framework's image. Unless it is `once`, its script is idempotent, so that any
 * attempt may repair the last.
 */
export class FrappeJob extends Construct {
  constructor(scope: Construct, id: string, props: FrappeJobProps) {
    super(scope, id);
    const { name, bench } = props;
    const job = new k8s.KubeJob(this, 'job', {
      metadata: { name, namespace: bench.namespace, ...jobMetadata(props) },
      spec: jobSpec(props),
    });
    withPodTemplates(job, { ...props, component: 'jobs' });
    keepTogether(job, props);
  }
}

export interface FrappeCronJobProps extends FrappeJobProps {
  readonly schedule: string;
  /** @default Etc/UTC */
  readonly timeZone?: string | undefined;
  readonly suspend: boolean;
  readonly startingDeadlineSeconds?: number | undefined;
  readonly concurrencyPolicy: 'Allow' | 'Forbid' | 'Replace';
  readonly successfulJobsHistoryLimit: number;
  readonly failedJobsHistoryLimit: number;
}

/** Runs a Job of the framework's image by a schedule. Its Jobs have the labels of children, by which they are found. */
export class FrappeCronJob extends Construct {
  constructor(scope: Construct, id: string, props: FrappeCronJobProps) {
    super(scope, id);
    const { name, bench, owner, component, startingDeadlineSeconds } = props;
    const cronJob = new k8s.KubeCronJob(this, 'cron-job', {
      metadata: { name, namespace: bench.namespace, labels: childLabels(owner, component) },
      spec: {
        schedule: props.schedule,
        // Not the time zone of the control plane, which users do not know.
        timeZone: props.timeZone ?? 'Etc/UTC',
        suspend: props.suspend,
        ...(startingDeadlineSeconds === undefined ? {} : { startingDeadlineSeconds }),
        concurrencyPolicy: props.concurrencyPolicy,
        successfulJobsHistoryLimit: props.successfulJobsHistoryLimit,
        failedJobsHistoryLimit: props.failedJobsHistoryLimit,
        jobTemplate: { metadata: jobMetadata(props), spec: jobSpec(props) },
      },
    });
    const at = '/spec/jobTemplate/spec/template';
    withPodTemplates(cronJob, { ...props, component: 'jobs' }, at);
    keepTogether(cronJob, props, at);
  }
}

function jobMetadata({
  bench,
  owner,
  component,
  taskHash,
  once = false,
  deadlineField,
  labels,
}: FrappeJobProps): k8s.ObjectMeta {
  return {
    labels: { ...childLabels(owner, component), ...labels },
    annotations: {
      [bench.metadataKeys.run]: taskHash,
      ...(once ? { [bench.metadataKeys.once]: 'true' } : {}),
      ...(deadlineField === undefined ? {} : { [bench.metadataKeys.timeoutField]: deadlineField }),
    },
  };
}

function jobSpec(props: FrappeJobProps): k8s.JobSpec {
  const { container, initContainers = [] } = props;
  const { jobs, workerDefault } = props.bench.componentResources;
  return {
    backoffLimit: props.backoffLimit ?? 3,
    activeDeadlineSeconds: props.deadlineSeconds ?? 3600,
    // A drained node, an eviction or a preemption is no failure: another pod takes its place.
    podFailurePolicy: {
      rules: [
        { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
      ],
    },
    // One pod for each attempt, so that the logs of failed attempts stay readable.
    template: frappePod({
      ...props,
      restartPolicy: 'Never',
      defaults: OUTSIDE_MESH,
      container: { ...container, resources: container.resources ?? jobs ?? workerDefault },
      // They run no program of the framework.
      initContainers: initContainers.map((one) => ({
        ...one,
        resources: jobs ?? SCRIPT_RESOURCES,
      })),
    }),
  };
}
