import type * as k8s from '../kit/k8s.js';
import type { S3Destination, S3Store, VolumeDestination } from '../api/backup.js';
import type { ClusterReader } from '../kit/kind.js';
import { STORE_SIGNER_DIR } from '../kit/constants.generated.js';
import { uidOf } from '../kit/object.js';
import { type FrappeContainerProps, jobCommand, secretEnv, SECRETS_SIDECAR } from './pod.js';
import { requireSecret } from './secret.js';

const STORE_DIR = '/app-operator/store';
const CA_DIR = '/app-operator/store-ca';
const SIGNER = 'store-signer';
const SOCKET: k8s.EnvVar = { name: 'STORE_SIGNER_SOCKET', value: `${STORE_SIGNER_DIR}/socket` };
const MOUNT: k8s.VolumeMount = { name: SIGNER, mountPath: STORE_SIGNER_DIR };

/** A place of backups, or of an archive. */
interface StorePlace {
  readonly pvc?: VolumeDestination;
  readonly s3?: S3Store & Partial<S3Destination>;
}

/** The folder of a site's backups, where a place names none. */
export function folderOf(site: { readonly namespace: string; readonly name: string }): string {
  return `${site.namespace}/${site.name}`;
}

/** How a pod reaches a store: what backup_store.py reads. */
export interface BackupStore {
  /** `s3://bucket/prefix` or `pvc://claim/prefix`. */
  readonly location: string;
  readonly env: readonly k8s.EnvVar[];
  readonly volumes: readonly k8s.Volume[];
  readonly mounts: readonly k8s.VolumeMount[];
  /** Run beside the Job's own container. */
  readonly sidecars: readonly FrappeContainerProps[];
}

/**
 * The access key of a store is in the container `store-signer` only, which mounts no site, see
 * store_signer.py.
 * @param folder where the place names none
 * @param access what the Job may do in the store
 */
export function backupStore(
  { pvc, s3 }: StorePlace,
  folder: string,
  access: 'Read' | 'Write',
): BackupStore {
  const prefix = pvc?.prefix ?? s3?.prefix ?? folder;
  if (pvc) return onVolume(pvc.claimName, prefix, access);
  if (!s3) throw new Error('a destination is a volume or an S3-compatible store');
  return inS3(s3, prefix, access);
}

function onVolume(claimName: string, prefix: string, access: 'Read' | 'Write'): BackupStore {
  return {
    location: `pvc://${claimName}/${prefix}`,
    env: [
      { name: 'STORE_PREFIX', value: prefix },
      { name: 'STORE_DIR', value: STORE_DIR },
      { name: 'STORE_CLAIM', value: claimName },
    ],
    volumes: [{ name: 'store', persistentVolumeClaim: { claimName } }],
    mounts: [
      { name: 'store', mountPath: STORE_DIR, ...(access === 'Read' ? { readOnly: true } : {}) },
    ],
    sidecars: [],
  };
}

function inS3(
  s3: NonNullable<StorePlace['s3']>,
  prefix: string,
  access: 'Read' | 'Write',
): BackupStore {
  const place = [
    { name: 'STORE_PREFIX', value: prefix },
    { name: 'S3_ENDPOINT', value: s3.endpoint },
    { name: 'S3_REGION', value: s3.region },
    { name: 'S3_BUCKET', value: s3.bucket },
    { name: 'S3_PATH_STYLE', value: s3.forcePathStyle ? '1' : '0' },
    SOCKET,
    ...valueEnv('S3_ENCRYPTION', s3.serverSideEncryption),
    ...valueEnv('S3_KMS_KEY_ID', s3.kmsKeyId),
  ];
  const authority = s3.caSecretRef && authorityOf(s3.caSecretRef.name, 'S3_CA_FILE');
  return {
    location: `s3://${s3.bucket}/${prefix}`,
    env: [...place, ...(authority?.env ?? [])],
    volumes: [{ name: SIGNER, emptyDir: {} }, ...(authority?.volumes ?? [])],
    mounts: [MOUNT, ...(authority?.mounts ?? [])],
    sidecars: [signer(s3.secretRef.name, [...place, { name: 'STORE_ACCESS', value: access }])],
  };
}

function valueEnv(name: string, value: string | undefined): readonly k8s.EnvVar[] {
  return value === undefined ? [] : [{ name, value }];
}

/** The certificate of a private authority, whose file is in a variable. */
export function authorityOf(
  secretName: string,
  variable: string,
): Pick<BackupStore, 'env' | 'volumes' | 'mounts'> {
  const name = 'store-ca';
  return {
    env: [{ name: variable, value: `${CA_DIR}/ca.crt` }],
    volumes: [{ name, secret: { secretName } }],
    mounts: [{ name, mountPath: CA_DIR, readOnly: true }],
  };
}

/** The container with the access key. */
function signer(secret: string, place: readonly k8s.EnvVar[]): FrappeContainerProps {
  return {
    name: SIGNER,
    command: jobCommand('store_signer.py'),
    env: [
      ...place,
      secretEnv('S3_ACCESS_KEY_ID', { secret, key: 'access-key-id' }),
      secretEnv('S3_SECRET_ACCESS_KEY', { secret, key: 'secret-access-key' }),
    ],
    ...SECRETS_SIDECAR,
    extraMounts: [MOUNT],
  };
}

/**
 * The Secrets of a store, watched.
 * @param path where the destination stands in the spec
 * @throws Waiting with the reason SecretMissing
 */
export function requireStoreSecrets(
  { s3 }: StorePlace,
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
