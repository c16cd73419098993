import type {
  AppRef,
  DatabaseSettings,
  DatabaseTls,
  DeletionPolicy,
  DomainName,
  GatewayRef,
  GunicornSettings,
  HostName,
  KeyRef,
  NameRef,
  PodTemplate,
  Port,
  Replicas,
  Resources,
  SiteConfig,
  SiteConfigStatus,
  Storage,
  StringMap,
  WebAutoscaling,
  WebScalingStatus,
} from '../kit/api.js';
import type { SiteArchive } from './archive.js';
import type { BackupDestination } from './backup.js';
import type { QueueWorkersStatus, WorkerScaling } from './bench.js';
import type { CommonStatus } from '../kit/condition.js';
import type { ComponentPodTemplate } from './pod-template.js';
import type { Resource } from '../kit/object.js';
import type { DocumentName, Duration, TimeZone } from './site-scoped.js';

/** One site on a bench. */
export type AppSite = Resource<AppSiteSpec, AppSiteStatus>;

/** What the site should be.
 * @cel !has(self.webAutoscaling) || !self.webAutoscaling.enabled || !has(self.componentReplicas) || !has(self.componentReplicas.gunicorn) ;; webAutoscaling and componentReplicas.gunicorn both set the number of web processes: remove one of them, or set webAutoscaling.enabled to false
 * @cel self.siteName == oldSelf.siteName ;; siteName is immutable: it names the site's folder and is what requests are routed by
 * @cel !has(self.adopt) || !self.adopt || self.dbConfig.mode == 'external' ;; adopt needs dbConfig.mode external: the site's database exists
 * @cel self.dbConfig.mode != 'external' || !has(self.dbConfig.name) || has(self.dbConfig.secretRef) || (has(self.adopt) && self.adopt) ;; mode external needs dbConfig.secretRef, unless adopt is true
 * @cel !(self.siteName in ['assets', 'apps.txt', 'apps.json']) ;; siteName is the name of a file in the bench's sites folder
 * @cel self.benchRef.name == oldSelf.benchRef.name ;; benchRef.name is immutable: the site's files live on the volume of its bench  */
export interface AppSiteSpec {
  /** The bench that hosts the site, in the same namespace. */
  readonly benchRef: NameRef;
  /** Host name of the site: requests are routed by a Host header equal to it. */
  readonly siteName: DomainName;
  /** Public domain, where it is not `siteName`. */
  readonly domain?: DomainName;
  /** Protocol of the public address, in links, mails, redirects of logins and `status.siteURL`. By default `https` with `ingress.tls`, else `http`. Write `https` where TLS ends in front of the cluster, or the ingress controller has a certificate of its own. */
  readonly publicProtocol?: 'http' | 'https';
  /** Further public domains. They route to the site as its own domain does, and are in its certificate.
   * @maxItems 50
   * @listType set */
  readonly aliases?: readonly DomainName[];
  /** Takes a site over that is in the folder `siteName` of the bench's volume and that no operator has made, with its files, its database and its keys: nothing is created, and without such a folder the site is refused. It needs `dbConfig.mode: external`. The database's password and the encryption key are those of its `site_config.json`; the administrator's password stays, unless `adminPasswordSecretRef` is given. */
  readonly adopt?: boolean;
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
  /** Scaling of the site's own web processes by their load. By default the bench's; with `enabled: false` their number is fixed. */
  readonly webAutoscaling?: WebAutoscaling;
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
  /** Answers of the framework's setup wizard: users land in the desk at their first login. A site whose wizard is done is not changed, and a later change of these fields has no effect on it. */
  readonly setup?: SiteSetup;
  /** Identity providers that users log in with: a Social Login Key each. Others in the site are left alone; one that is removed here is deleted there.
   * @maxItems 16
   * @listType map
   * @listMapKey provider */
  readonly sso?: readonly SiteSocialLogin[];
  /** Shows the framework's maintenance page to visitors while true.
   * @default false */
  readonly maintenance: boolean;
  /** Where the pods run and how they are marked; what is not given comes from the bench. */
  readonly podTemplate?: PodTemplate;
  /** Settings of the pods of the site's own components and Jobs, over those of its bench and of `podTemplate`. */
  readonly componentPodTemplates?: SitePodTemplates;
  /** Stops every write of the operator for this site while true. */
  readonly paused?: boolean;
  /** How long the Job may take that creates, migrates or restores the site, with all its attempts. By default `6h`.
   * @cel self.matches('[1-9]') ;; must be longer than zero */
  readonly initTimeout?: Duration;
  /** A backup that the site gets its data from, when it is made or later. Each is restored once. */
  readonly restoreFrom?: SiteRestore;
  /** What happens to the database and the files when the site is deleted.
   * @default Retain */
  readonly deletionPolicy: DeletionPolicy;
}

/** Answers of the setup wizard. */
export interface SiteSetup {
  /** Code of the site's language, such as `en` or `pt-BR`.
   * @default en
   * @maxLength 16
   * @pattern ^[a-z]{2,3}([-_][A-Za-z0-9]{2,4})?$ */
  readonly language: string;
  /** Name of the country in the framework's list, such as `Germany`. */
  readonly country: DocumentName;
  /** Time zone of the site, such as `Europe/Berlin`. */
  readonly timeZone: TimeZone;
  /** Code of the currency, such as `EUR`.
   * @pattern ^[A-Z]{3}$
   * @maxLength 3 */
  readonly currency: string;
  /** The first company. Required where ERPNext is one of the site's apps; without it, it has no effect. */
  readonly company?: SiteCompany;
}

/** The first company of ERPNext. */
export interface SiteCompany {
  /** Name of the company.
   * @cel self.lowerAscii() != 'company' ;; ERPNext refuses a company that is named Company */
  readonly name: DocumentName;
  /** Abbreviation, which the names of accounts and warehouses end with. By default the first letters of the words of the name.
   * @minLength 1
   * @maxLength 10
   * @pattern ^[^ <>"\x00-\x1f\x7f]+$ */
  readonly abbreviation?: string;
  /** Name of the chart of accounts. By default the first one that ERPNext offers for the country. */
  readonly chartOfAccounts?: DocumentName;
  /** First day of the fiscal year, as month and day.
   * @default 01-01
   * @maxLength 5
   * @pattern ^(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$
   * @cel !(self in ['02-29', '02-30', '02-31', '04-31', '06-31', '09-31', '11-31']) ;; no day of each year */
  readonly fiscalYearStart: string;
}

/** An identity provider that users log in with. The framework knows Facebook, Frappe, GitHub, Google, Keycloak, Office 365, Salesforce and fairlogin, with their addresses; a field that is given overrides them.
 * @cel self.provider in ['Facebook', 'Frappe', 'GitHub', 'Google', 'Keycloak', 'Office 365', 'Salesforce', 'fairlogin'] || (has(self.baseURL) && has(self.authorizeURL) && has(self.accessTokenURL) && has(self.apiEndpoint)) ;; a provider that the framework does not know needs baseURL, authorizeURL, accessTokenURL and apiEndpoint
 * @cel !(self.provider in ['Frappe', 'Keycloak']) || has(self.baseURL) ;; providers Frappe and Keycloak need baseURL */
export interface SiteSocialLogin {
  /** Name of the provider, the text of its button. A provider that the framework knows is written as above.
   * @minLength 1
   * @maxLength 60
   * @pattern ^[A-Za-z0-9]([A-Za-z0-9 ._-]*[A-Za-z0-9])?$
   * @cel self in ['Facebook', 'Frappe', 'GitHub', 'Google', 'Keycloak', 'Office 365', 'Salesforce', 'fairlogin'] || !(self.lowerAscii() in ['facebook', 'frappe', 'github', 'google', 'keycloak', 'office 365', 'office-365', 'office_365', 'salesforce', 'fairlogin']) ;; the framework writes this provider in another way: Facebook, Frappe, GitHub, Google, Keycloak, Office 365, Salesforce or fairlogin */
  readonly provider: string;
  /** Whether users can log in with it.
   * @default true */
  readonly enabled: boolean;
  /** The client's id at the provider. */
  readonly clientID: SiteClientID;
  /** The client's secret at the provider. */
  readonly clientSecret: SiteClientSecret;
  /** URL that other addresses of the provider begin with, such as `https://id.example.com/realms/main`.
   * @maxLength 140
   * @pattern ^https?://[^ \x00-\x1f\x7f]+$ */
  readonly baseURL?: string;
  /** Where users log in: a URL, or a path below `baseURL`.
   * @maxLength 140
   * @pattern ^(https?://[^ \x00-\x1f\x7f]+|/[^ \x00-\x1f\x7f]*)$ */
  readonly authorizeURL?: string;
  /** Where the site gets its token: a URL, or a path below `baseURL`.
   * @maxLength 140
   * @pattern ^(https?://[^ \x00-\x1f\x7f]+|/[^ \x00-\x1f\x7f]*)$ */
  readonly accessTokenURL?: string;
  /** Path of the site that the provider sends users back to. By default `/api/method/frappe.integrations.oauth2_logins.custom/<name>`, where the name is the provider's in lower case, with `_` for spaces and hyphens.
   * @maxLength 140
   * @pattern ^/[^ \x00-\x1f\x7f]*$ */
  readonly redirectURL?: string;
  /** Where the site reads who the user is: a URL, or a path below `baseURL`.
   * @minLength 1
   * @maxLength 140
   * @pattern ^[^ \x00-\x1f\x7f]+$ */
  readonly apiEndpoint?: string;
  /** Parameters of requests to `apiEndpoint`. */
  readonly apiEndpointParameters?: SocialLoginParameters;
  /** Parameters of the address where users log in. By default `response_type: code` and `scope: openid email profile`. */
  readonly authorizeParameters?: SocialLoginParameters;
  /** Property of the provider's answer that identifies the user.
   * @minLength 1
   * @maxLength 140
   * @pattern ^[A-Za-z0-9_.:/-]+$ */
  readonly userIDProperty?: string;
  /** Whether a login creates a user who does not exist. By default as the site's Website Settings say. */
  readonly signUps?: 'Allow' | 'Deny';
}

/** Parameters by name.
 * @maxProperties 16
 * @cel self.all(k, k.matches('^[A-Za-z_][A-Za-z0-9_.-]{0,63}$')) ;; a parameter's name has at most 64 letters, digits, _, . and -, and begins with a letter or _ */
export interface SocialLoginParameters {
  readonly [name: string]: SocialLoginParameter;
}

/** The value of a parameter.
 * @maxLength 512
 * @pattern ^[^\x00-\x1f\x7f]*$ */
export type SocialLoginParameter = string;

/** The id of a client at an identity provider.
 * @cel has(self.value) != has(self.secretKeyRef) ;; clientID needs one of value and secretKeyRef */
export interface SiteClientID {
  /** The id itself.
   * @minLength 1
   * @maxLength 140
   * @pattern ^[^ \x00-\x1f\x7f]+$ */
  readonly value?: string;
  /** A key of a Secret. */
  readonly secretKeyRef?: KeyRef;
}

/** The secret of a client at an identity provider. */
export interface SiteClientSecret {
  /** A key of a Secret. */
  readonly secretKeyRef: KeyRef;
}

/** A backup to restore.
 * @cel (has(self.backupRef) ? 1 : 0) + (has(self.source) ? 1 : 0) + (has(self.archive) ? 1 : 0) == 1 ;; restoreFrom needs one of backupRef, source and archive
 * @cel !has(self.archive) || !has(self.name) ;; name belongs to backupRef and source: files of an archive are named in archive.files
 * @cel !has(self.archive) || !has(self.confirm) ;; confirm belongs to backupRef and source: an archive makes a new site only */
export interface SiteRestore {
  /** A SiteBackup in the same namespace, of this site or of another one. */
  readonly backupRef?: NameRef;
  /** Where the backup is stored, where its SiteBackup does not exist. */
  readonly source?: BackupDestination;
  /** A backup that the framework itself made, for a new site. */
  readonly archive?: SiteArchive;
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
 * @cel self.mode != 'external' || (has(self.host) && has(self.name)) ;; mode external needs host and name
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
  /** Secret with the credentials of a prepared database: key `password`. Required but with `adopt`. */
  readonly secretRef?: NameRef;
  /** Encrypts the connections to a prepared database or a dedicated server. In other modes that of the bench counts. */
  readonly tls?: DatabaseTls;
  /** Image of a dedicated server.
   * @maxLength 512
   * @pattern ^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$ */
  readonly image?: string;
  /** Settings of a dedicated server; a change restarts it. By default `innodb_buffer_pool_size` is half of the memory limit, and `shared_buffers` a quarter. */
  readonly settings?: DatabaseSettings;
  /** Compute resources of a dedicated server. By default requests; `{}` sets none. In other modes they have no effect. */
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

/** Pod templates by component: `gunicorn`, `workerDefault`, `workerShort`, `workerLong`, `workers` (the site's own workers of `workers` of its bench), `jobs`, `database`.
 * @maxProperties 7
 * @cel self.all(k, k in ['gunicorn', 'workerDefault', 'workerShort', 'workerLong', 'workers', 'jobs', 'database']) ;; the components of a site are gunicorn, workerDefault, workerShort, workerLong, workers, jobs and database */
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

/** Access to a site from outside of the cluster.
 * @cel !(has(self.gatewayRef) && has(self.className)) ;; className is of an Ingress: give gatewayRef or className
 * @cel !(has(self.gatewayRef) && has(self.tls) && (has(self.tls.certManagerIssuer) || has(self.tls.issuerKind) || has(self.tls.secretName))) ;; TLS ends at the Gateway: give the certificate to its listener, and with gatewayRef nothing but tls.enabled here */
export interface SiteIngress {
  /** Creates an Ingress, or HTTPRoutes where there is a Gateway.
   * @default false */
  readonly enabled: boolean;
  /** Ingress class; the bench's, then the cluster's default when not given.
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly className?: string;
  /** Gateway that HTTPRoutes are attached to, in place of an Ingress; the bench's when neither this nor `className` is given. */
  readonly gatewayRef?: GatewayRef;
  /** Further annotations of the Ingress, or of the HTTPRoutes. */
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
  /** The public host names that the site has before all other namespaces; not set without an Ingress.
   * @maxItems 51
   * @listType atomic */
  readonly hosts?: readonly string[];
  /** Web processes that run, for the scale subresource.
   * @type integer
   * @format int32 */
  readonly replicas?: number;
  /** Label selector of the web processes' pods, for the scale subresource. */
  readonly selector?: string;
  /** How the site's own workers scale, by queue; not set where the site uses its bench's. */
  readonly workerScaling?: WorkerScaling;
  /** The pods of the site's own web processes where an autoscaler decides about their number; not set where it is fixed. */
  readonly webScaling?: WebScalingStatus;
  /** How the site's own workers of further queues scale.
   * @listType map
   * @listMapKey name */
  readonly workers?: readonly QueueWorkersStatus[];
  /** Where the data is. */
  readonly database?: SiteDatabaseStatus;
  /** What was set of `spec.siteConfig`. */
  readonly siteConfig?: SiteConfigStatus;
  /** The identity providers of `spec.sso` that were set last.
   * @listType atomic */
  readonly socialLogins?: readonly string[];
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
  /** Name of the backup; of an archive, that of its dump. */
  readonly name: string;
  /** When it was restored.
   * @format date-time */
  readonly time: string;
  /** Where it was read: `s3://bucket/prefix/name` or `pvc://claim/prefix/name`; of an archive, the path of its dump, or the host of its link. */
  readonly from: string;
  /** What an archive did not hold, and what that means for the site.
   * @listType atomic */
  readonly missing?: readonly string[];
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
  /** `Waiting`: for its turn, open and on the previous image; `Running`: closed, backed up and migrated; `Migrated`: its processes change to the new image, then it opens, from when on `closed` is not set; `Failed`: it is tried again. */
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
  /** Port of the server. */
  readonly port?: Port;
  /** Name of the database, and of its user.
   * @maxLength 64 */
  readonly name: string;
  /** How its connections are encrypted; not set where they are in clear text. */
  readonly tls?: 'VerifyFull' | 'VerifyCA' | 'Require';
}
