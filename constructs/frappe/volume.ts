import { Construct } from 'constructs';
import * as k8s from '../kit/k8s.js';
import type { Storage } from '../kit/api.js';
import { dataLabels } from '../kit/deletion-policy.js';
import type { Resource } from '../kit/object.js';

export interface VolumeProps {
  /** Its deletion policy decides about the volume. */
  readonly owner: Resource<{ readonly deletionPolicy: string }>;
  readonly name: string;
  readonly component: string;
  readonly accessMode: string;
  readonly storage: Storage & { readonly size: string };
}

/**
 * A claim for each volume, also of a StatefulSet, so that the volume grows with its size, and is
 * kept, adopted and deleted like all other data.
 */
export class Volume extends Construct {
  constructor(scope: Construct, id: string, props: VolumeProps) {
    super(scope, id);
    const { owner, name, component, accessMode, storage } = props;
    const { namespace } = owner.metadata;
    new k8s.KubePersistentVolumeClaim(this, 'claim', {
      metadata: {
        name,
        ...(namespace ? { namespace } : {}),
        labels: dataLabels(owner, component),
      },
      spec: {
        accessModes: [accessMode],
        ...(storage.className ? { storageClassName: storage.className } : {}),
        resources: { requests: { storage: storage.size } },
      },
    });
  }
}
