import type { AdminClient, KubernetesObject } from './admin-client.js';

const STORAGE_CLASS = 'standard';

/** Creates the default StorageClass; its volumes are made in advance and bound at once. */
export async function createStorageClass(api: AdminClient): Promise<void> {
  await api.ensure('/apis/storage.k8s.io/v1/storageclasses', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {
      name: STORAGE_CLASS,
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
    provisioner: 'kubernetes.io/no-provisioner',
    reclaimPolicy: 'Retain',
    volumeBindingMode: 'Immediate',
    allowVolumeExpansion: true,
  });
}

/**
 * Creates volumes of 1 TiB for the default class, ReadWriteOnce and ReadWriteMany. A released one
 * becomes available again (stage `volume-recycle`), so the count limits what is bound at a time.
 */
export async function createVolumes(api: AdminClient, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      api.ensure('/api/v1/persistentvolumes', volume(index)),
    ),
  );
}

function volume(index: number): KubernetesObject {
  const name = `volume-${String(index).padStart(3, '0')}`;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      storageClassName: STORAGE_CLASS,
      capacity: { storage: '1Ti' },
      accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
      // Kept for the stage: `Delete` would use the volume up.
      persistentVolumeReclaimPolicy: 'Retain',
      // Never touched: no pod of a simulated node mounts anything.
      hostPath: { path: `/nonexistent/${name}` },
    },
  };
}
