import { ApiObject, Chart } from 'cdk8s';
import type { Construct } from 'constructs';

import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import type { Resource } from '../../constructs/kit/object.js';
import { ScaledObject } from '../../constructs/integrations/keda/kinds.js';
import { MariaDbDatabase } from '../../constructs/integrations/mariadb-operator/kinds.js';
import * as kinds from '../../constructs/kit/object-kind.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import { Stage } from '../../constructs/kit/synth.js';
import { planOf, type Plan, type PlannedStage } from '../../runner/plan/plan.js';

export const METADATA_KEYS = metadataKeysFor(DEFAULT_API_GROUP);
export const KINDS = new Map(
  [
    kinds.ConfigMap,
    kinds.Secret,
    kinds.Job,
    kinds.StatefulSet,
    kinds.Deployment,
    MariaDbDatabase,
    ScaledObject,
  ].map((kind) => [kindId(kind), kind]),
);
export const BENCH: Resource = {
  apiVersion: `${DEFAULT_API_GROUP}/v1alpha1`,
  kind: 'AppBench',
  metadata: { name: 'b', namespace: 'n', uid: 'u-1', generation: 1 },
  spec: {},
};

/** An object of a tree; further fields are its content. */
export interface Wanted {
  readonly kind:
    'ConfigMap' | 'Secret' | 'Job' | 'StatefulSet' | 'Deployment' | 'Database' | 'ScaledObject';
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly [field: string]: unknown;
}

interface PlanOptions {
  readonly resource?: Resource;
  /** Called for each synthesis. */
  readonly onMade?: () => unknown;
  readonly known?: readonly PlannedStage[];
}

/** A plan of stages of objects. */
export function aPlan(
  stages: readonly (readonly Wanted[])[],
  { resource = BENCH, onMade = () => undefined, known }: PlanOptions = {},
): Plan {
  return planOf(
    resource,
    { kinds: KINDS, metadataKeys: METADATA_KEYS },
    (scope: Construct, id: string) => {
      onMade();
      const chart = new Chart(scope, id, { disableResourceNameHashes: true });
      stages.forEach((objects, number) => {
        const stage = new Stage(chart, `stage-${number}`, { waitForReady: number === 0 });
        for (const { kind, name, namespace, labels, annotations, ...rest } of objects) {
          new ApiObject(stage, `${kind}-${name}`, {
            apiVersion: [...KINDS.values()].find((known) => known.kind === kind)?.apiVersion ?? '',
            kind,
            metadata: {
              name,
              ...(namespace === undefined ? {} : { namespace }),
              ...(labels ? { labels } : {}),
              ...(annotations ? { annotations } : {}),
            },
            ...rest,
          });
        }
      });
      return chart;
    },
    known,
  );
}
