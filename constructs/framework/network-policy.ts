import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { childLabels } from '../kit/labels.js';
import type { Resource } from '../kit/object.js';
import type { BenchModel } from './bench-model.js';

/** The rule that only pods of the bench and of its sites reach a server. */
export class OnlyFromBench extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: {
      readonly bench: BenchModel;
      readonly owner: Resource;
      /** Value of the label `app` of the pods that are protected, and name of the policy. */
      readonly name: string;
      readonly ports: readonly number[];
      /** Namespaces whose pods get in too, by their `kubernetes.io/metadata.name`. */
      readonly alsoFrom?: readonly string[];
    },
  ) {
    super(scope, id);
    const { bench, owner, name } = props;
    new k8s.KubeNetworkPolicy(this, 'policy', {
      metadata: { name, namespace: bench.namespace, labels: childLabels(owner, 'network') },
      spec: {
        podSelector: { matchLabels: { app: name } },
        policyTypes: ['Ingress'],
        ingress: [
          {
            from: [
              { podSelector: { matchLabels: { [bench.markers.bench]: bench.name } } },
              ...(props.alsoFrom ?? []).map((namespace) => ({
                namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
              })),
            ],
            ports: props.ports.map((port) => ({
              port: k8s.IntOrString.fromNumber(port),
              protocol: 'TCP',
            })),
          },
        ],
      },
    });
  }
}
