import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import { childLabels } from '../kit/labels.js';
import { dataLabels } from '../kit/deletion-policy.js';
import { metadataKeysOf } from '../kit/metadata-keys.js';
import type { Resource } from '../kit/object.js';

export interface GeneratedSecretProps {
  readonly owner: Resource<{ readonly deletionPolicy: string }>;
  readonly name: string;
  readonly namespace: string;
  readonly component: string;
  /** What to put under each key: a `password` of letters and digits, a `fernet` key, or a text that is no secret, such as a user's name. */
  readonly keys: Readonly<Record<string, 'password' | 'fernet' | { readonly text: string }>>;
  /** Further labels, such as those by which other operators watch a Secret. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Further annotations: what is recorded of the data that the Secret belongs to. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Whether the Secret belongs to data and outlives its owner with that data. */
  readonly retained?: boolean;
}

/**
 * A Secret whose values are made once, by the runner, when the Secret does not exist. They are never
 * read or written again, so no value ever stands in a synthesized manifest.
 */
export class GeneratedSecret extends Construct {
  constructor(scope: Construct, id: string, props: GeneratedSecretProps) {
    super(scope, id);
    const { owner, name, namespace } = props;
    new k8s.KubeSecret(this, 'secret', {
      metadata: {
        name,
        namespace,
        labels: {
          ...props.labels,
          ...(props.retained ? dataLabels : childLabels)(owner, props.component),
        },
        annotations: {
          ...props.annotations,
          [metadataKeysOf(owner).generate]: JSON.stringify(props.keys),
        },
      },
      type: 'Opaque',
    });
  }
}
