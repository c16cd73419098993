import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { childLabels, retention } from '../kit/labels.js';
import { benchNames } from '../kit/names.js';
import type { AppBench } from './api.js';

/** The volume that all pods of a bench and of its sites share: sites, files, local backups. */
export class SitesVolume extends Construct {
  constructor(scope: Construct, id: string, { owner }: { readonly owner: AppBench }) {
    super(scope, id);
    const { storage } = owner.spec;
    new k8s.KubePersistentVolumeClaim(this, 'claim', {
      metadata: {
        name: benchNames(owner.metadata.name).sites,
        ...(owner.metadata.namespace ? { namespace: owner.metadata.namespace } : {}),
        labels: { ...childLabels(owner, 'sites'), ...retention(owner) },
      },
      spec: {
        accessModes: [storage.accessMode],
        ...(storage.className ? { storageClassName: storage.className } : {}),
        resources: { requests: { storage: k8s.Quantity.fromString(storage.size) } },
      },
    });
  }
}
