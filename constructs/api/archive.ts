import type { KeyRef, NameRef } from '../kit/api.js';
import type { S3Store, StorePrefix } from './backup.js';
import type { ObjectName } from './site-scoped.js';

/** A backup that the framework itself made, or that Frappe Cloud offers: a dump, archives of files, and the configuration.
 * @cel (has(self.pvc) ? 1 : 0) + (has(self.s3) ? 1 : 0) + (has(self.https) ? 1 : 0) == 1 ;; archive needs one of pvc, s3 and https
 * @cel !(has(self.https) && has(self.files)) ;; files belongs to pvc and s3: https has a URL for each file */
export interface SiteArchive {
  /** A volume. */
  readonly pvc?: ArchiveVolume;
  /** An S3-compatible store. */
  readonly s3?: ArchiveS3;
  /** Links to download the files. */
  readonly https?: ArchiveHTTPS;
  /** The files one by one, by their paths below `prefix`. By default the newest backup in that folder, by the names that the framework gives to its files. */
  readonly files?: ArchiveFiles;
  /** The key of encrypted files. By default `backup_encryption_key` of the archive's configuration. */
  readonly encryptionKeySecretRef?: KeyRef;
  /** Keys of the archive's configuration that the site gets. It gets `encryption_key` in any case.
   * @maxItems 64
   * @listType set */
  readonly siteConfigKeys?: readonly ArchiveConfigKey[];
}

/** Name of a key of `site_config.json`.
 * @minLength 1
 * @maxLength 128
 * @pattern ^[A-Za-z_][A-Za-z0-9_.-]*$
 * @cel !self.matches('^((db|redis|socketio|webserver|app_operator|rq|ssl|root)_.*|use_rq_auth|host_name|domains|admin_password|extra_config|bench_id|maintenance_mode|pause_scheduler|scheduler_tick_interval|workers)$') ;; the key belongs to the installation that the archive is of, and the operator sets it itself ;; self + ' belongs to the installation that the archive is of, and the operator sets it itself; remove it'
 * @cel !(self in ['encryption_key', 'backup_encryption_key']) ;; encryption_key is taken in any case, and backup_encryption_key never ;; self == 'encryption_key' ? 'encryption_key is taken in any case; remove it' : 'backup_encryption_key is never taken; remove it' */
export type ArchiveConfigKey = string;

/** A folder on a volume. */
export interface ArchiveVolume {
  /** Name of the PersistentVolumeClaim, in the same namespace. It is mounted read-only. */
  readonly claimName: ObjectName;
  /** Folder on the volume. By default its top. */
  readonly prefix?: StorePrefix;
}

/** A place in an S3-compatible store.
 * @cel self.forcePathStyle || !self.endpoint.contains('[') ;; forcePathStyle: false needs an endpoint with a name: a bucket cannot be put before an address */
export interface ArchiveS3 extends S3Store {
  /** What the keys of the files start with. By default nothing. */
  readonly prefix?: StorePrefix;
}

/** The files of an archive. */
export interface ArchiveFiles {
  /** The dump: plain, or compressed by gzip. */
  readonly database: ArchivePath;
  /** The archive of public files: tar, or compressed by gzip. */
  readonly publicFiles?: ArchivePath;
  /** The archive of private files: tar, or compressed by gzip. */
  readonly privateFiles?: ArchivePath;
  /** The configuration, such as `site_config_backup.json`. */
  readonly siteConfig?: ArchivePath;
}

/** A relative path, without `..`.
 * @minLength 1
 * @maxLength 512
 * @pattern ^[^/\x00-\x1f\x7f][^\x00-\x1f\x7f]*$
 * @cel !self.matches('(^|/)[.][.](/|$)') ;; a path has no .. */
export type ArchivePath = string;

/** Links to the files of an archive. */
export interface ArchiveHTTPS {
  /** The dump: plain, or compressed by gzip. */
  readonly database: ArchiveURL;
  /** The archive of public files: tar, or compressed by gzip. */
  readonly publicFiles?: ArchiveURL;
  /** The archive of private files: tar, or compressed by gzip. */
  readonly privateFiles?: ArchiveURL;
  /** The configuration, such as `site_config_backup.json`. */
  readonly siteConfig?: ArchiveURL;
  /** The value of the header `Authorization`, such as `Bearer x` or `Basic x`. It is sent to the hosts of the links, and not to where they redirect. */
  readonly authorizationSecretRef?: KeyRef;
  /** Secret with the certificate of the server's private authority, under the key `ca.crt`. */
  readonly caSecretRef?: NameRef;
}

/** A link to a file.
 * @cel has(self.url) != has(self.secretKeyRef) ;; a file needs one of url and secretKeyRef */
export interface ArchiveURL {
  /** The link. One with `?` is a secret, as signed links are: put it into a Secret.
   * @maxLength 2048
   * @pattern ^https://([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/[\x21-\x7e]*$
   * @cel !self.contains('?') ;; a link with ? is a secret: put it into a Secret, and name it with secretKeyRef */
  readonly url?: string;
  /** The key of a Secret with the link. */
  readonly secretKeyRef?: KeyRef;
}
