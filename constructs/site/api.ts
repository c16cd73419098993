import type {
  AppRef,
  DatabaseSettings,
  DatabaseTls,
  DeletionPolicy,
  DomainName,
  GunicornSettings,
  HostName,
  NameRef,
  PodTemplate,
  Port,
  Replicas,
  Resources,
  SiteConfig,
  SiteConfigStatus,
  Storage,
  StringMap,
} from '../kit/api.js';
import type { BackupDestination } from '../backup/api.js';
import type { QueueWorkersStatus, WorkerScaling } from '../bench/api.js';
import type { CommonStatus } from '../kit/condition.js';
import type { ComponentPodTemplate } from '../kit/pod-template-api.js';
import type { Resource } from '../kit/object.js';

/** One site on a bench. */
export type AppSite = Resource<AppSiteSpec, AppSiteStatus>;

/** What the site should be.
 * @cel self.siteName == oldSelf.siteName ;; siteName is immutable: it names the site's folder and is what requests are routed by
 * @cel !(self.siteName in ['assets', 'apps.txt', 'apps.json']) ;; siteName is the name of a file in the bench's sites folder
 * @cel self.benchRef.name == oldSelf.benchRef.name ;; benchRef.name is immutable: the site's files live on the volume of its bench  */
export interface AppSiteSpec {
  /** The bench that hosts the site, in the same namespace. */
  readonly benchRef: NameRef;
  /** Host name of the site: requests are routed by a Host header equal to it. */
  readonly siteName: DomainName;
  /** Public domain, where it is not `siteName`. */
  readonly domain?: DomainName;
  /** Further public domains. They route to the site as its own domain does, and are in its certificate.
   * @maxItems 50
   * @listType set */
  readonly aliases?: readonly DomainName[];
  /** Applications to install. By default all of the bench.
   * @maxItems 100
   * @listType map
   * @listMapKey name */
  readonly apps?: readonly AppRef[];
  /** `Dedicated`: the site has its own web processes and workers; `Shared`: it uses the bench's.
   * @default Dedicated */
  readonly workloads: 'Dedicated' | 'Shared';
  /** Where the site's database is. */
  readonly dbConfig: SiteDatabase;
  /** Replicas of the site's own components. By default the bench's. */
  readonly componentReplicas?: SiteReplicas;
  /** Compute resources of the site's own components. By default the bench's. */
  readonly componentResources?: SiteResources;
  /** Numbers of the site's own web processes. By default the bench's, one by one. */
  readonly gunicorn?: GunicornSettings;
  /** Numbers and resources of the site's own workers of `workers` of its bench. By default the bench's.
   * @maxItems 16
   * @listType map
   * @listMapKey name */
  readonly workers?: readonly SiteWorkers[];
  /** Access from outside of the cluster. */
  readonly ingress?: SiteIngress;
  /** Secret whose key `password` holds the administrator's password. Without it, `<site>-admin-password` holds it: your Secret of this name, or a generated one. */
  readonly adminPasswordSecretRef?: NameRef;
  /** Keys of the site's `site_config.json`. Only these are set, and set back where they were changed; a key that is removed here is deleted there. They override those of the bench. */
  readonly siteConfig?: SiteConfig;
  /** Shows the framework's maintenance page to visitors while true.
   * @default false */
  readonly maintenance: boolean;
  /** Where the pods run and how they are marked; what is not given comes from the bench. */
  readonly podTemplate?: PodTemplate;
  /** Settings of the pods of the site's own components and Jobs, over those of its bench and of `podTemplate`. */
  readonly componentPodTemplates?: SitePodTemplates;
  /** Stops every write of the operator for this site while true. */
  readonly paused?: boolean;
  /** A backup that the site gets its data from, when it is made or later. Each is restored once. */
  readonly restoreFrom?: SiteRestore;
  /** What happens to the database and the files when the site is deleted.
   * @default Retain */
  readonly deletionPolicy: DeletionPolicy;
}

/** A backup to restore.
 * @cel has(self.backupRef) != has(self.source) ;; restoreFrom needs one of backupRef and source */
export interface SiteRestore {
  /** A SiteBackup in the same namespace, of this site or of another one. */
  readonly backupRef?: NameRef;
  /** Where the backup is stored, where its SiteBackup does not exist. */
  readonly source?: BackupDestination;
  /** Name of the backup, such as `20250131T120000Z`. By default the newest that is complete.
   * @maxLength 16
   * @pattern ^[0-9]{8}T[0-9]{6}Z$ */
  readonly name?: string;
  /** Confirms that the data of an existing site is replaced: the `siteName`. Text after it, behind a space, makes another confirmation, with which a backup is restored again.
   * @maxLength 320
   * @pattern ^[a-z0-9][A-Za-z0-9._,: -]*$ */
  readonly confirm?: string;
}

/** The database of a site.
 * @default {}
 * @cel self.mode == oldSelf.mode ;; mode is immutable: the data would stay behind
 * @cel (has(self.storage) && has(self.storage.existingClaim) ? self.storage.existingClaim : '') == (has(oldSelf.storage) && has(oldSelf.storage.existingClaim) ? oldSelf.storage.existingClaim : '') ;; storage.existingClaim cannot be added, changed or removed: the database would stay behind on the other volume
 * @cel self.mode != 'external' || (has(self.host) && has(self.name) && has(self.secretRef)) ;; mode external needs host, name and secretRef
 * @cel self.mode == 'external' || !(has(self.host) || has(self.port) || has(self.name) || has(self.secretRef)) ;; host, port, name and secretRef belong to mode external
 * @cel !has(self.tls) || self.mode == 'external' || self.mode == 'dedicated' ;; tls belongs to modes external and dedicated: in other modes that of the bench counts
 * @cel !has(self.tls) || self.mode != 'external' || self.tls.mode == 'Require' || has(self.tls.caSecretRef) ;; mode external needs tls.caSecretRef with tls.mode VerifyFull or VerifyCA
 * @cel !has(self.tls) || self.mode != 'dedicated' || has(self.tls.serverCertificateSecretRef) ;; mode dedicated needs tls.serverCertificateSecretRef
 * @cel !has(self.tls) || self.mode == 'dedicated' || !has(self.tls.serverCertificateSecretRef) ;; tls.serverCertificateSecretRef belongs to mode dedicated
 * @cel self.mode == 'dedicated' || !has(self.settings) ;; settings belongs to mode dedicated
 * @cel self.mode == 'dedicated' || !(has(self.image) || has(self.storage)) ;; image and storage belong to mode dedicated */
export interface SiteDatabase {
  /** `shared`: on the bench's server; `dedicated`: on a server for this site alone; `external`: a prepared database; `operator`: created by the database operator of the bench's server.
   * @default shared */
  readonly mode: 'shared' | 'dedicated' | 'external' | 'operator';
  /** Host of a prepared database. */
  readonly host?: HostName;
  /** Port of a prepared database. By default 3306 for MariaDB and 5432 for PostgreSQL. */
  readonly port?: Port;
  /** Name of a prepared database, which is its user's name too.
   * @maxLength 63
   * @pattern ^[a-z_][a-z0-9_]*$ */
  readonly name?: string;
  /** Secret with the credentials of a prepared database: key `password`. */
  readonly secretRef?: NameRef;
  /** Encrypts the connections to a prepared database or a dedicated server. In other modes that of the bench counts. */
  readonly tls?: DatabaseTls;
  /** Image of a dedicated server.
   * @maxLength 512
   * @pattern ^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$ */
  readonly image?: string;
  /** Settings of a dedicated server; a change restarts it. By default `innodb_buffer_pool_size` is half of the memory limit, and `shared_buffers` a quarter. */
  readonly settings?: DatabaseSettings;
  /** Compute resources of a dedicated server. In other modes they have no effect. */
  readonly resources?: Resources;
  /** The volume of a dedicated server; 10Gi when no size is given. */
  readonly storage?: Storage;
}

/** Replicas of a site's own components. */
export interface SiteReplicas {
  /** Web processes. */
  readonly gunicorn?: Replicas;
  /** Workers of the `default` queue. */
  readonly workerDefault?: Replicas;
  /** Workers of the `short` queue. */
  readonly workerShort?: Replicas;
  /** Workers of the `long` queue. */
  readonly workerLong?: Replicas;
}

/** Compute resources of a site's own components. */
export interface SiteResources {
  /** Web processes. */
  readonly gunicorn?: Resources;
  /** Workers of the `default` queue. */
  readonly workerDefault?: Resources;
  /** Workers of the `short` queue. */
  readonly workerShort?: Resources;
  /** Workers of the `long` queue. */
  readonly workerLong?: Resources;
}

/** Pod templates by component: `gunicorn`, `workerDefault`, `workerShort`, `workerLong`, `jobs`, `database`.
 * @maxProperties 6
 * @cel self.all(k, k in ['gunicorn', 'workerDefault', 'workerShort', 'workerLong', 'jobs', 'database']) ;; the components of a site are gunicorn, workerDefault, workerShort, workerLong, jobs and database */
export interface SitePodTemplates {
  readonly [component: string]: ComponentPodTemplate;
}

/** A site's own workers of queues that its bench declares. */
export interface SiteWorkers {
  /** Name of the workers, as in `workers` of the bench.
   * @minLength 1
   * @maxLength 10
   * @pattern ^[a-z]([-a-z0-9]*[a-z0-9])?$ */
  readonly name: string;
  /** Number of workers, in place of the bench's number and scaling. */
  readonly replicas?: Replicas;
  /** Compute resources, in place of the bench's. */
  readonly resources?: Resources;
}

/** Access to a site from outside of the cluster. */
export interface SiteIngress {
  /** Creates an Ingress.
   * @default false */
  readonly enabled: boolean;
  /** Ingress class; the bench's, then the cluster's default when not given.
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly className?: string;
  /** Further annotations of the Ingress. */
  readonly annotations?: StringMap;
  /** Encryption. */
  readonly tls?: SiteTls;
}

/** Encryption of a site's traffic. */
export interface SiteTls {
  /** Enables TLS.
   * @default false */
  readonly enabled: boolean;
  /** Name of the certificate issuer; the bench's when not given. Without an issuer, the Secret must exist.
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly certManagerIssuer?: string;
  /** Kind of the issuer. By default an Issuer of this name in the site's namespace if it exists, else a ClusterIssuer. */
  readonly issuerKind?: 'ClusterIssuer' | 'Issuer';
  /** Secret of type `kubernetes.io/tls`; `<site>-tls` when not given.
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly secretName?: string;
}

/** What the site is. */
export interface AppSiteStatus extends CommonStatus {
  /** The lifecycle phase of the site. */
  readonly phase?: 'Pending' | 'Provisioning' | 'Ready' | 'Updating' | 'Failed' | 'Deleting';
  /** URL of the site. */
  readonly siteURL?: string;
  /** Web processes that run, for the scale subresource.
   * @type integer
   * @format int32 */
  readonly replicas?: number;
  /** Label selector of the web processes' pods, for the scale subresource. */
  readonly selector?: string;
  /** How the site's own workers scale, by queue; not set where the site uses its bench's. */
  readonly workerScaling?: WorkerScaling;
  /** How the site's own workers of further queues scale.
   * @listType map
   * @listMapKey name */
  readonly workers?: readonly QueueWorkersStatus[];
  /** Where the data is. */
  readonly database?: SiteDatabaseStatus;
  /** What was set of `spec.siteConfig`. */
  readonly siteConfig?: SiteConfigStatus;
  /** The applications that the site should have.
   * @listType atomic */
  readonly apps?: readonly string[];
  /** The image that the site's data was last migrated to. */
  readonly image?: string;
  /** The current upgrade; not set when there is none. */
  readonly upgrade?: SiteUpgrade;
  /** The backup that was restored last. */
  readonly restored?: RestoredBackup;
}

/** A backup that was restored. */
export interface RestoredBackup {
  /** Name of the backup. */
  readonly name: string;
  /** When it was restored.
   * @format date-time */
  readonly time: string;
  /** Where it was read: `s3://bucket/prefix/name` or `pvc://claim/prefix/name`. */
  readonly from: string;
  /** What the site had before, below the folder `sites` of the bench's volume; not set where the site was new. */
  readonly before?: string;
  /** Whose encryption key the site has: that of its `Secret`, or that of the `Backup`, which the Secret does not hold. */
  readonly encryptionKey: 'Secret' | 'Backup';
  /** Hashes of the restores that are done, the last one last.
   * @listType atomic */
  readonly requests: readonly string[];
}

/** The upgrade of a site to its bench's image. */
export interface SiteUpgrade {
  /** The image of the site's data before the upgrade. */
  readonly from: string;
  /** The image that the site is upgraded to. */
  readonly to: string;
  /** `Waiting`: for its turn, open and on the previous image; `Running`: closed, backed up and migrated; `Migrated`: its processes change to the new image, then it opens; `Failed`: it is tried again. */
  readonly state: 'Waiting' | 'Running' | 'Migrated' | 'Failed';
  /** Whether the site is known to be closed: visitors see a maintenance page, and its jobs are deferred. */
  readonly closed?: boolean;
}

/** Where a site's data is. */
export interface SiteDatabaseStatus {
  /** Kind of server. */
  readonly provider: 'mariadb' | 'postgres';
  /** Host of the server.
   * @maxLength 253 */
  readonly host: string;
  /** Name of the database, and of its user.
   * @maxLength 64 */
  readonly name: string;
  /** How its connections are encrypted; not set where they are in clear text. */
  readonly tls?: 'VerifyFull' | 'VerifyCA' | 'Require';
}
