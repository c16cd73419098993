import type { DeletionPolicy, NameRef, Resources } from '../kit/api.js';
import type { CommonStatus } from '../kit/condition.js';
import type { Resource } from '../kit/object.js';
import type { Duration, ObjectName, Schedule, SiteScoped, TimeZone } from './site-scoped.js';

/** Backups of a site: one, or one after the other by a schedule. */
export type SiteBackup = Resource<SiteBackupSpec, SiteBackupStatus>;

/** What should be backed up, when and where to.
 * @cel has(self.schedule) == has(oldSelf.schedule) ;; schedule cannot be added or removed: a single backup stays one, and a schedule is stopped with suspend
 * @cel has(self.schedule) || !(has(self.timeZone) || has(self.retention) || has(self.suspend)) ;; timeZone, retention and suspend belong to a schedule
 * @cel !(has(self.include) && has(self.exclude)) ;; include and exclude cannot be given together */
export interface SiteBackupSpec extends SiteScoped {
  /** When backups are made. One is made at once, and no further, when not given. */
  readonly schedule?: Schedule;
  /** Time zone of the schedule. By default UTC. */
  readonly timeZone?: TimeZone;
  /** Stops the schedule while true. */
  readonly suspend?: boolean;
  /** Whether the site's files are backed up with the database. Without them a backup is not complete.
   * @default true */
  readonly withFiles: boolean;
  /** Whether the files are compressed. The database always is.
   * @default true */
  readonly compress: boolean;
  /** Document types to back up, and no others. Such a backup cannot be restored as a whole.
   * @minItems 1
   * @maxItems 100
   * @listType set */
  readonly include?: readonly DocumentType[];
  /** Document types to leave out. Such a backup cannot be restored as a whole.
   * @minItems 1
   * @maxItems 100
   * @listType set */
  readonly exclude?: readonly DocumentType[];
  /** Which backups of the schedule are kept. By default all. Complete and incomplete backups are counted separately, and the last complete one is never removed. */
  readonly retention?: BackupRetention;
  /** Where the backups are stored. */
  readonly destination: BackupDestination;
  /** How long one backup may take.
   * @default 6h
   * @cel self.matches('[1-9]') ;; must be longer than zero */
  readonly timeout: Duration;
  /** How often a failed backup is tried again.
   * @default 2
   * @type integer
   * @format int32
   * @minimum 0
   * @maximum 10 */
  readonly backoffLimit: number;
  /** Compute resources of a backup. */
  readonly resources?: Resources;
  /** What happens to the stored backups when the object is deleted.
   * @default Retain */
  readonly deletionPolicy: DeletionPolicy;
}

/** Name of a document type: no comma, which separates them for the framework.
 * @minLength 2
 * @maxLength 61
 * @pattern ^[A-Za-z][A-Za-z0-9_ -]*[A-Za-z0-9_-]$ */
export type DocumentType = string;

/** Which backups are kept: one that either rule keeps stays.
 * @cel has(self.keepLast) || has(self.keepDays) ;; retention needs keepLast or keepDays */
export interface BackupRetention {
  /** How many of the newest backups are kept.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 1000 */
  readonly keepLast?: number;
  /** For how many days backups are kept.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 3660 */
  readonly keepDays?: number;
}

/** Where backups are stored.
 * @cel has(self.pvc) != has(self.s3) ;; destination needs one of pvc and s3 */
export interface BackupDestination {
  /** A volume. */
  readonly pvc?: VolumeDestination;
  /** An S3-compatible store. */
  readonly s3?: S3Destination;
}

/** A folder on a volume. */
export interface VolumeDestination {
  /** Name of the PersistentVolumeClaim, in the same namespace. */
  readonly claimName: ObjectName;
  /** Folder on the volume. By default `<namespace>/<site>`. */
  readonly prefix?: StorePrefix;
}

/** A place in an S3-compatible store.
 * @cel !has(self.kmsKeyId) || (has(self.serverSideEncryption) && self.serverSideEncryption == 'aws:kms') ;; kmsKeyId needs serverSideEncryption: aws:kms
 * @cel self.forcePathStyle || !self.endpoint.contains('[') ;; forcePathStyle: false needs an endpoint with a name: a bucket cannot be put before an address */
export interface S3Destination extends S3Store {
  /** What the keys in the bucket start with. By default `<namespace>/<site>`. */
  readonly prefix?: StorePrefix;
  /** How the store should encrypt what it stores, where a policy of the bucket demands it. */
  readonly serverSideEncryption?: 'AES256' | 'aws:kms';
  /** Key of `aws:kms`. By default the store's own.
   * @minLength 1
   * @maxLength 2048
   * @pattern ^[A-Za-z0-9:/_-]+$ */
  readonly kmsKeyId?: string;
}

/** A bucket of an S3-compatible store. */
export interface S3Store {
  /** URL of the store, such as `https://s3.eu-central-1.amazonaws.com`: a name or an address, with a port and a path where it has them.
   * @maxLength 512
   * @pattern ^https?://([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*[/]?$ */
  readonly endpoint: string;
  /** Region that requests are signed for.
   * @default us-east-1
   * @maxLength 64
   * @pattern ^[a-z0-9-]+$ */
  readonly region: string;
  /** Name of the bucket. It must exist.
   * @minLength 3
   * @maxLength 63
   * @pattern ^[a-z0-9][a-z0-9.-]*[a-z0-9]$ */
  readonly bucket: string;
  /** Secret with the keys `access-key-id` and `secret-access-key`. */
  readonly secretRef: NameRef;
  /** Whether the bucket is part of the path (`endpoint/bucket`) or of the host name (`bucket.endpoint`).
   * @default true */
  readonly forcePathStyle: boolean;
  /** Secret with the certificate of the store's private authority, under the key `ca.crt`. */
  readonly caSecretRef?: NameRef;
}

/** A relative folder, without `.` and `..`.
 * @minLength 1
 * @maxLength 255
 * @pattern ^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$ */
export type StorePrefix = string;

/** What has been backed up. */
export interface SiteBackupStatus extends CommonStatus {
  /** Where the backups are in their life. */
  readonly phase?:
    'Pending' | 'Running' | 'Succeeded' | 'Scheduled' | 'Suspended' | 'Failed' | 'Deleting';
  /** When the schedule last started a backup.
   * @format date-time */
  readonly lastScheduleTime?: string;
  /** When the last complete backup was finished.
   * @format date-time */
  readonly lastSuccessfulTime?: string;
  /** Why the last backup failed, where it did. */
  readonly lastFailure?: string;
  /** Name of the site's bench. Its image removes stored backups, also when the site does not exist. */
  readonly bench?: string;
  /** Hash of the request of the stored single backup: it is not made again until the request changes. */
  readonly endedRun?: string;
  /** uid of a Job of a single backup that an upgrade or a restore of the site has kept from it: another one takes its place. */
  readonly refusedJob?: string;
  /** Number of backups that are stored and can be restored.
   * @type integer
   * @format int32 */
  readonly count?: number;
  /** The last backups that can be restored, newest first.
   * @maxItems 50
   * @listType map
   * @listMapKey name */
  readonly backups?: readonly StoredBackup[];
  /** What of the database the last backup does not hold, or what another site cannot take over.
   * @maxItems 21
   * @listType atomic */
  readonly leftOut?: readonly string[];
  /** Why backups that should be removed are still there: the first of them, how many more there are, and what the store says. */
  readonly notRemoved?: string;
}

/** A backup that can be restored. */
export interface StoredBackup {
  /** Name of the backup: its start in UTC, as `20250131T120000Z`. */
  readonly name: string;
  /** When it was started.
   * @format date-time */
  readonly startTime: string;
  /** When its last byte was checked.
   * @format date-time */
  readonly completionTime: string;
  /** Where it is: `s3://bucket/prefix/name` or `pvc://claim/prefix/name`. */
  readonly location: string;
  /** Size of all its files in bytes.
   * @type integer
   * @format int64 */
  readonly size: number;
  /** Whether it holds the database, the files and the encryption key. */
  readonly complete: boolean;
  /** Version of the framework. */
  readonly frameworkVersion?: string;
  /** Applications of the site with their versions.
   * @listType map
   * @listMapKey name */
  readonly apps?: readonly BackupApp[];
}

/** An application in a backup. */
export interface BackupApp {
  /** Name of the application. */
  readonly name: string;
  /** Its version. */
  readonly version: string;
}
