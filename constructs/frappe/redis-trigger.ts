import { Construct } from 'constructs';
import { TriggerAuthentication } from '../../imports/keda.sh.js';
import { childLabels } from '../kit/labels.js';
import { benchNames } from '../kit/names.js';
import type { Resource } from '../kit/object.js';
import type { BenchModel } from './bench-model.js';

/** How KEDA authenticates to the bench's Redis. */
export class RedisTrigger extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { bench, owner }: { readonly bench: BenchModel; readonly owner: Resource },
  ) {
    super(scope, id);
    if (bench.redis.external) return;
    const { secret, key } = bench.redis.password;
    new TriggerAuthentication(this, 'authentication', {
      metadata: {
        name: benchNames(bench.name).redisTrigger,
        namespace: bench.namespace,
        labels: childLabels(owner, 'redis'),
      },
      spec: { secretTargetRef: [{ parameter: 'password', name: secret, key }] },
    });
  }
}
