import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import { childLabels } from '../kit/labels.js';
import { keepTogether } from './co-scheduling.js';
import { podComponent } from './pod-components.js';
import { frappePod, selectorLabels, type FrappePodProps, withPodTemplates } from './pod.js';

export interface WorkloadProps extends FrappePodProps {
  /** Number of replicas; undefined leaves the number to an autoscaler. */
  readonly replicas: number | undefined;
  /** Whether there may be several at a time. @default whether the number is more than one */
  readonly several?: boolean;
  /** @default RollingUpdate that never has less than the wanted replicas */
  readonly strategy?: 'Recreate';
}

/**
 * A Deployment of the framework's image, with a PodDisruptionBudget where it may have several replicas.
 */
export class WorkloadConstruct extends Construct {
  constructor(scope: Construct, id: string, props: WorkloadProps) {
    super(scope, id);
    const { owner, name, component, replicas, several = (replicas ?? 1) > 1 } = props;
    const namespace = props.bench.namespace;
    const labels = { ...childLabels(owner, component), ...selectorLabels(props) };
    const deployment = new k8s.KubeDeployment(this, 'deployment', {
      metadata: { name, namespace, labels },
      spec: {
        ...(replicas === undefined ? {} : { replicas }),
        revisionHistoryLimit: 3,
        selector: { matchLabels: selectorLabels(props) },
        strategy:
          props.strategy === 'Recreate'
            ? { type: 'Recreate' }
            : {
                type: 'RollingUpdate',
                rollingUpdate: {
                  maxUnavailable: 0,
                  maxSurge: 1,
                },
              },
        template: frappePod(props, spread(props)),
      },
    });
    withPodTemplates(deployment, { ...props, component: podComponent(component) });
    keepTogether(deployment, props);
    // On one node a budget would stop a drain: no pod can start elsewhere before the last one ends.
    const { onOneNode } = props.bench.sitesVolume;
    if (several && !onOneNode) {
      new k8s.KubePodDisruptionBudget(this, 'budget', {
        metadata: { name, namespace, labels },
        spec: {
          maxUnavailable: 1,
          selector: { matchLabels: selectorLabels(props) },
        },
      });
    }
  }
}

/**
 * Prefers other nodes and zones for each replica, also for one: another number of replicas must not
 * replace the pods. A template's own constraints are in place of these.
 */
function spread(props: WorkloadProps): Pick<k8s.PodSpec, 'topologySpreadConstraints'> {
  const { bench, strategy } = props;
  const component = podComponent(props.component);
  if (component === undefined || strategy === 'Recreate' || bench.sitesVolume.onOneNode) return {};
  if (bench.componentPodTemplates[component]?.spec?.topologySpreadConstraints) return {};
  const constraints = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map(
    (topologyKey) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: selectorLabels(props) },
      // Each version by itself: the pods that it replaces do not count.
      matchLabelKeys: ['pod-template-hash'],
    }),
  );
  return { topologySpreadConstraints: constraints };
}
