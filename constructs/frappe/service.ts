import type { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import { childLabels } from '../kit/labels.js';
import type { Resource } from '../kit/object.js';
import { selectorLabels } from './pod.js';

export interface PodServiceProps {
  readonly owner: Resource;
  /** Name of the Service. */
  readonly name: string;
  /** Name of the workload whose pods it selects. @default the Service's */
  readonly workload?: string;
  readonly namespace: string;
  readonly component: string;
  /** The ports by name; each is the port of the pods too. */
  readonly ports: Readonly<Record<string, number>>;
  /** @default those of every child */
  readonly labels?: Readonly<Record<string, string>>;
  readonly sessionAffinity?: 'ClientIP';
  /** Whether its name has the addresses of the pods, instead of one of its own. @default false */
  readonly headless?: true;
  /**
   * Whether a pod that is not ready gets connections. For a server of one pod: no other pod can
   * answer, and a slow probe must not cut off every client. @default false
   */
  readonly publishNotReadyAddresses?: true;
}

/** A Service in front of the pods of one workload. */
export class PodService extends k8s.KubeService {
  constructor(scope: Construct, id: string, props: PodServiceProps) {
    const { owner, name, namespace, component, sessionAffinity, publishNotReadyAddresses } = props;
    const { workload = name, headless } = props;
    super(scope, id, {
      metadata: { name, namespace, labels: props.labels ?? childLabels(owner, component) },
      spec: {
        // An ExternalName would lead elsewhere.
        type: 'ClusterIP',
        selector: selectorLabels({ owner, name: workload }),
        ...(headless ? { clusterIP: 'None' } : {}),
        ...(sessionAffinity ? { sessionAffinity } : {}),
        ...(publishNotReadyAddresses ? { publishNotReadyAddresses } : {}),
        ports: Object.entries(props.ports).map(([portName, port]) => ({
          name: portName,
          port,
          targetPort: port,
          protocol: 'TCP',
        })),
      },
    });
  }
}
