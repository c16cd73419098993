import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { childLabels, retention } from '../kit/labels.js';
import type { Resource } from '../kit/object.js';
import type { BenchModel } from './bench-model.js';

/** The rule that only pods of the bench and of its sites reach a server. */
export class OnlyFromBench extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: {
      readonly bench: BenchModel;
      readonly owner: Resource<{ readonly deletionPolicy: string }>;
      /** Value of the label `app` of the pods that are protected, and name of the policy. */
      readonly name: string;
      readonly ports: readonly number[];
      /** Pods of any namespace that get in too, by their `app.kubernetes.io/name`. */
      readonly alsoFrom?: readonly string[];
      /** Whether the pods outlive their owner, together with their data. */
      readonly retained?: boolean;
    },
  ) {
    super(scope, id);
    const { bench, owner, name } = props;
    new k8s.KubeNetworkPolicy(this, 'policy', {
      metadata: {
        name,
        namespace: bench.namespace,
        labels: { ...childLabels(owner, 'network'), ...(props.retained ? retention(owner) : {}) },
      },
      spec: {
        podSelector: { matchLabels: { app: name } },
        policyTypes: ['Ingress'],
        ingress: [
          {
            from: [
              { podSelector: { matchLabels: { [bench.metadataKeys.bench]: bench.name } } },
              ...(props.alsoFrom ?? []).map((app) => ({
                namespaceSelector: {},
                podSelector: { matchLabels: { 'app.kubernetes.io/name': app } },
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
