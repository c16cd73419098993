import type * as k8s from '../../kit/k8s.js';
import type { ArchiveFiles, ArchiveHTTPS, ArchiveURL, SiteArchive } from '../../api/archive.js';
import {
  authorityOf,
  type BackupStore,
  backupStore,
  requireStoreSecrets,
} from '../../frappe/backup-store.js';
import { secretEnv } from '../../frappe/pod.js';
import { requireSecret } from '../../frappe/secret.js';
import type { KeyRef } from '../../kit/api.js';
import type { ClusterReader } from '../../kit/kind.js';
import { uidOf } from '../../kit/object.js';

const PATH = 'spec.restoreFrom.archive';
/** The top of a volume or of a bucket. */
const TOP = '/';

/** The variables of the links, see archive_source.py. */
const LINKS = [
  ['database', 'RESTORE_URL_DATABASE'],
  ['publicFiles', 'RESTORE_URL_PUBLIC_FILES'],
  ['privateFiles', 'RESTORE_URL_PRIVATE_FILES'],
  ['siteConfig', 'RESTORE_URL_SITE_CONFIG'],
] as const;

/**
 * How the init Job reaches a backup that the framework made: what archive.py reads.
 * @throws Waiting where a Secret does not exist
 */
export function archiveStore(
  archive: SiteArchive,
  namespace: string,
  reader: ClusterReader,
): BackupStore {
  const { files, encryptionKeySecretRef: key, siteConfigKeys } = archive;
  requireSecrets(archive, namespace, reader);
  const store = archive.https ? linkStore(archive.https) : backupStore(archive, TOP, 'Read');
  return {
    ...store,
    env: [
      { name: 'RESTORE_ARCHIVE', value: archive.https ? 'URLs' : 'Store' },
      ...jsonEnv('RESTORE_FILES', files && inOrder(files)),
      ...jsonEnv('RESTORE_CONFIG_KEYS', siteConfigKeys),
      ...(key ? [keyEnv('RESTORE_ENCRYPTION_KEY', key)] : []),
      ...store.env,
      // Only who writes nothing may use the top of a store.
      ...(archive.https ? [] : [{ name: 'STORE_ACCESS', value: 'Read' }]),
    ],
  };
}

function linkStore(https: ArchiveHTTPS): BackupStore {
  const { authorizationSecretRef, caSecretRef } = https;
  const authority = caSecretRef && authorityOf(caSecretRef.name, 'RESTORE_CA_FILE');
  return {
    location: 'https',
    env: [
      ...LINKS.flatMap(([file, variable]) => linkEnv(variable, https[file])),
      ...(authorizationSecretRef ? [keyEnv('RESTORE_AUTHORIZATION', authorizationSecretRef)] : []),
      ...(authority?.env ?? []),
    ],
    volumes: authority?.volumes ?? [],
    mounts: authority?.mounts ?? [],
    sidecars: [],
  };
}

function linkEnv(name: string, link: ArchiveURL | undefined): readonly k8s.EnvVar[] {
  if (!link) return [];
  return link.secretKeyRef ? [keyEnv(name, link.secretKeyRef)] : [{ name, value: link.url ?? '' }];
}

function keyEnv(variable: string, { name, key }: KeyRef): k8s.EnvVar {
  return secretEnv(variable, { secret: name, key });
}

/** Not in the order in which the user wrote them, which changes nothing. */
function inOrder(files: ArchiveFiles): object {
  return Object.fromEntries(LINKS.map(([file]) => [file, files[file]]));
}

function jsonEnv(name: string, value: object | undefined): readonly k8s.EnvVar[] {
  return value === undefined ? [] : [{ name, value: JSON.stringify(value) }];
}

/** @throws Waiting with the reason SecretMissing */
function requireSecrets(archive: SiteArchive, namespace: string, reader: ClusterReader): void {
  const { https, encryptionKeySecretRef } = archive;
  requireStoreSecrets(archive, namespace, PATH, reader);
  const secrets = [
    [`${PATH}.encryptionKeySecretRef`, encryptionKeySecretRef?.name],
    [`${PATH}.https.authorizationSecretRef`, https?.authorizationSecretRef?.name],
    [`${PATH}.https.caSecretRef`, https?.caSecretRef?.name],
    ...LINKS.map(
      ([file]) =>
        [`${PATH}.https.${file}.secretKeyRef`, https?.[file]?.secretKeyRef?.name] as const,
    ),
  ] as const;
  for (const [path, name] of secrets) {
    if (name !== undefined) requireSecret({ namespace, name, path: `${path}.name` }, reader, uidOf);
  }
}
