import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { memoize } from '../support/memoize.js';
import { graphOf, kindOf, outcomesOf } from './outcome.js';
import { readScenario, scenarioNames, type Scenario } from './scenario.js';

/** The objects of one resource of a scenario, with all that they may refer to. */
export interface Graph {
  readonly scenario: string;
  readonly resource: Resource;
  readonly objects: readonly KubeObject[];
  /** Objects of its bench, and objects that the user made. */
  readonly others: readonly KubeObject[];
}

/** The graphs of all golden scenarios. Properties of every graph are tested on them. */
export function corpus(): readonly Graph[] {
  return scenarioNames().flatMap(graphsOf);
}

const graphsOf = memoize((name: string): readonly Graph[] => {
  const scenario = readScenario(name);
  return outcomesOf(scenario)
    .filter(({ stages }) => stages.length > 0)
    .map(({ resource, stages }) => ({
      scenario: name,
      resource,
      objects: stages.flatMap(({ objects }) => objects),
      others: [...scenario.objects, ...benchObjects(scenario)],
    }));
});

function benchObjects({ objects, settings, serves }: Scenario): readonly KubeObject[] {
  const reader = new StaticReader({ objects, settings, serves });
  return objects
    .filter(({ kind }) => kind === 'AppBench')
    .flatMap((object) => {
      const bench = object as Resource;
      const kind = kindOf(bench);
      const inputs = kind.resolve(bench, reader);
      return graphOf(kind, bench, (scope, id) =>
        kind.chart(scope, id, { resource: bench, inputs }),
      );
    })
    .flatMap((stage) => stage.objects);
}

/** What these tests read of a container. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly lifecycle?: unknown;
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: {
      readonly name: string;
      readonly key: string;
      readonly optional?: boolean;
    };
  };
}

export interface Probe {
  readonly httpGet?: {
    readonly path: string;
    readonly port: number;
    readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
  };
  readonly tcpSocket?: { readonly port: number };
  readonly exec?: { readonly command: readonly string[] };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

export interface Volume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly configMap?: { readonly name: string };
  readonly persistentVolumeClaim?: { readonly claimName: string };
}

/** The template of a workload's or a Job's pods. */
export interface PodTemplate {
  /** `<kind> <name>` of the object that makes the pods. */
  readonly of: string;
  readonly component: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly selector: Readonly<Record<string, string>> | undefined;
  readonly spec: {
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly volumes: readonly Volume[];
    readonly securityContext: Readonly<Record<string, unknown>>;
    readonly serviceAccountName?: string;
    readonly [field: string]: unknown;
  };
}

interface Maker {
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly template?: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: PodTemplate['spec'];
  };
}

/** All pod templates among objects. */
export function podTemplates(objects: readonly KubeObject[]): readonly PodTemplate[] {
  return objects.flatMap((object) => {
    const { spec: own } = object as KubeObject & {
      readonly spec?: Maker & { readonly jobTemplate?: { readonly spec: Maker } };
    };
    const spec = own?.jobTemplate?.spec ?? own;
    // The template of a database of PostgreSQL is a name.
    if (typeof spec?.template !== 'object') return [];
    return [
      {
        of: `${object.kind} ${object.metadata.name}`,
        component: spec.template.metadata.labels['app.kubernetes.io/component'] ?? '',
        labels: spec.template.metadata.labels,
        selector: spec.selector?.matchLabels,
        spec: spec.template.spec,
      },
    ];
  });
}

export function containersOf({ spec }: PodTemplate): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}
