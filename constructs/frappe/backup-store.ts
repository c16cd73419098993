import type { k8s } from 'cdk8s-plus-28';
import type { BackupDestination } from '../backup/api.js';
import type { ClusterReader } from '../kit/kind.js';
import { uidOf } from '../kit/object.js';
import { secretEnv } from './pod.js';
import { requireSecret } from './secret.js';

const STORE_DIR = '/app-operator/store';
const CA_DIR = '/app-operator/store-ca';

/** How a pod reaches a store: what backup_store.py reads. */
export interface BackupStore {
  /** `s3://bucket/prefix` or `pvc://claim/prefix`. */
  readonly location: string;
  readonly env: readonly k8s.EnvVar[];
  readonly volumes: readonly k8s.Volume[];
  readonly mounts: readonly k8s.VolumeMount[];
}

/** @param site the site whose backups it holds, for the folder where none is given */
export function backupStore(
  { pvc, s3 }: BackupDestination,
  site: { readonly namespace: string; readonly name: string },
): BackupStore {
  const prefix = pvc?.prefix ?? s3?.prefix ?? `${site.namespace}/${site.name}`;
  const folder = { name: 'STORE_PREFIX', value: prefix };
  if (pvc) {
    return {
      location: `pvc://${pvc.claimName}/${prefix}`,
      env: [
        folder,
        { name: 'STORE_DIR', value: STORE_DIR },
        { name: 'STORE_CLAIM', value: pvc.claimName },
      ],
      volumes: [{ name: 'store', persistentVolumeClaim: { claimName: pvc.claimName } }],
      mounts: [{ name: 'store', mountPath: STORE_DIR }],
    };
  }
  if (!s3) throw new Error('a destination is a volume or an S3-compatible store');
  const ca = s3.caSecretRef?.name;
  return {
    location: `s3://${s3.bucket}/${prefix}`,
    env: [
      folder,
      { name: 'S3_ENDPOINT', value: s3.endpoint },
      { name: 'S3_REGION', value: s3.region },
      { name: 'S3_BUCKET', value: s3.bucket },
      { name: 'S3_PATH_STYLE', value: s3.forcePathStyle ? '1' : '0' },
      ...(ca === undefined ? [] : [{ name: 'S3_CA_FILE', value: `${CA_DIR}/ca.crt` }]),
      secretEnv('S3_ACCESS_KEY_ID', { secret: s3.secretRef.name, key: 'access-key-id' }),
      secretEnv('S3_SECRET_ACCESS_KEY', { secret: s3.secretRef.name, key: 'secret-access-key' }),
    ],
    volumes: ca === undefined ? [] : [{ name: 'store-ca', secret: { secretName: ca } }],
    mounts: ca === undefined ? [] : [{ name: 'store-ca', mountPath: CA_DIR, readOnly: true }],
  };
}

/**
 * The Secrets of a store, watched.
 * @param path where the destination stands in the spec
 * @throws Waiting with the reason SecretMissing
 */
export function requireStoreSecrets(
  { s3 }: BackupDestination,
  namespace: string,
  path: string,
  reader: ClusterReader,
): void {
  for (const [field, ref] of [
    ['secretRef', s3?.secretRef],
    ['caSecretRef', s3?.caSecretRef],
  ] as const) {
    if (ref)
      requireSecret({ namespace, name: ref.name, path: `${path}.s3.${field}.name` }, reader, uidOf);
  }
}
