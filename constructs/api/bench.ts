import type {
  AppRef,
  DatabaseSettings,
  DatabaseTls,
  DeletionPolicy,
  DomainName,
  GatewayRef,
  GunicornSettings,
  HostName,
  Image,
  LabelValue,
  NameRef,
  PodTemplate,
  Port,
  PositiveReplicas,
  Quantity,
  Replicas,
  Resources,
  Security,
  SiteConfig,
  SiteConfigStatus,
  Storage,
  WebAutoscaling,
  WebScalingStatus,
} from '../kit/api.js';
import type { CommonStatus } from '../kit/condition.js';
import type { ComponentPodTemplate } from './pod-template.js';
import type { Resource } from '../kit/object.js';

/** Shared infrastructure for a set of sites. */
export type AppBench = Resource<AppBenchSpec, AppBenchStatus>;

// Parts of the rules of a bench.
// <CONTAINER> has(self.security) && has(self.security.securityContext) && has(self.security.securityContext.runAsUser)
// <POD> has(self.security) && has(self.security.podSecurityContext) && has(self.security.podSecurityContext.runAsUser)
// <USER> (<CONTAINER> ? self.security.securityContext.runAsUser : <POD> ? self.security.podSecurityContext.runAsUser : 0)
// <SAMEAPPS> self.appsJSON.split('"').size() == 2 * self.apps.size() + 1 && self.apps.all(a, self.appsJSON.contains('"' + a.name + '"'))

/** What the bench should be.
 * @cel !has(self.webAutoscaling) || !self.webAutoscaling.enabled || !has(self.componentReplicas) || !has(self.componentReplicas.gunicorn) ;; webAutoscaling and componentReplicas.gunicorn both set the number of web processes: remove one of them, or set webAutoscaling.enabled to false
 * @cel has(oldSelf.storage.accessMode) && has(self.storage.accessMode) ? self.storage.accessMode == oldSelf.storage.accessMode : true ;; storage.accessMode is immutable: a volume keeps the access mode it was made with
 * @cel <USER> == 0 || <USER oldSelf> == 0 || <USER> == <USER oldSelf> ;; runAsUser is immutable: the files on the volumes belong to the user that made them
 * @cel oldSelf.hasValue() || !has(self.apps) || !has(self.appsJSON) || (<SAMEAPPS>) ;; apps and appsJSON are two spellings of one list: give one of them, or the same list in both
 * @cel !has(self.apps) || !has(self.appsJSON) || (has(oldSelf.apps) && oldSelf.apps == self.apps) || (has(oldSelf.appsJSON) && oldSelf.appsJSON == self.appsJSON) || (<SAMEAPPS>) ;; apps and appsJSON are two spellings of one list: give one of them, or the same list in both */
export interface AppBenchSpec {
  /** Version label of the framework: `version-15`, `version-16` or `develop`; anything else is accepted with a warning.
   * @minLength 1
   * @maxLength 128
   * @pattern ^[A-Za-z0-9_][A-Za-z0-9._-]*$ */
  readonly frameworkVersion: string;
  /** Applications of the sites, as a JSON array of names in a string: `'["erpnext"]'`. Of `appsJSON` and `apps`, the one that was set later counts.
   * @maxLength 8192 */
  readonly appsJSON?: string;
  /** Applications of the sites, as a list.
   * @maxItems 100
   * @listType map
   * @listMapKey name */
  readonly apps?: readonly AppRef[];
  /** Image of every framework pod. By default `frappe/erpnext` with `frameworkVersion` as tag. */
  readonly image?: Image;
  /** The volume that the pods share (`sites`). */
  readonly storage: SitesStorage;
  /** Replicas of each component; 1 when not given. The scheduler has one at most. `Dedicated` sites have their own gunicorn and workers, in the same number. */
  readonly componentReplicas?: BenchReplicas;
  /** Compute resources of each component. A component that is not named has requests by default; `{}` sets none. */
  readonly componentResources?: ComponentResources;
  /** Numbers of the web processes. `Dedicated` sites have the same, where they set none. */
  readonly gunicorn?: GunicornSettings;
  /** Limits and headers of the proxy. */
  readonly proxy?: ProxySettings;
  /** Scaling of the web processes by their load. `Dedicated` sites have the same, where they set none, and no number of their own. */
  readonly webAutoscaling?: WebAutoscaling;
  /** Event-driven scaling of the workers, by queue. */
  readonly workerAutoscaling?: WorkerAutoscaling;
  /** Workers for queues of their own, besides those of `default`, `short` and `long`. `Dedicated` sites have them too.
   * @maxItems 16
   * @listType map
   * @listMapKey name */
  readonly workers?: readonly QueueWorkers[];
  /** Seconds between two looks of the scheduler for jobs that are due (`scheduler_tick_interval`). By default the framework's number: 60 in version 15, 240 in version 16.
   * @type integer
   * @format int32
   * @minimum 10
   * @maximum 3600 */
  readonly schedulerTickIntervalSeconds?: number;
  /** The cache and the queue. */
  readonly redisConfig?: RedisConfig;
  /** The database server of the bench's shared sites. */
  readonly dbConfig: BenchDatabase;
  /** Metrics of its queues and of its database servers, for Prometheus. */
  readonly metrics: BenchMetrics;
  /** Keys of `common_site_config.json`, for all sites of the bench. Only these are set, and set back where they were changed; a key that is removed here is deleted there. */
  readonly siteConfig?: SiteConfig;
  /** Defaults for the sites' public domains. */
  readonly domainConfig?: DomainConfig;
  /** Who may connect to the pods of the bench and of its sites, and to what these may connect. */
  readonly networkPolicy?: BenchNetworkPolicy;
  /** As whom the pods run, and what they may do. */
  readonly security?: Security;
  /** Where the pods run and how they are marked. */
  readonly podTemplate?: PodTemplate;
  /** Settings of the pods of single components, over those of `podTemplate`: environment variables, volumes, sidecars, placement. `Dedicated` sites take those of their components. */
  readonly componentPodTemplates?: BenchPodTemplates;
  /** How its sites are brought to another image. */
  readonly upgrade?: UpgradePolicy;
  /** Stops every write of the operator for this bench while true. */
  readonly paused?: boolean;
  /** What happens to the volumes and the managed database when the bench is deleted.
   * @default Retain */
  readonly deletionPolicy: DeletionPolicy;
}

/** How the sites of a bench are brought to another image. */
export interface UpgradePolicy {
  /** Sites that are closed, backed up and migrated at one time.
   * @default 2
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 50 */
  readonly parallel: number;
}

/** The shared volume of a bench.
 * @default {}
 * @cel !(has(self.existingClaim) && has(self.className)) ;; an existing claim has a storage class already: give existingClaim or className
 * @cel (has(self.existingClaim) ? self.existingClaim : '') == (has(oldSelf.existingClaim) ? oldSelf.existingClaim : '') ;; existingClaim cannot be added, changed or removed: the sites would stay behind on the other volume */
export interface SitesStorage {
  /** A claim of yours that is used in place of a new one, in the same namespace; its access modes must include `accessMode`, and its size counts. The operator does not change it, and never deletes it.
   * @minLength 1
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly existingClaim?: string;
  /** Size of the volume. It can grow where the storage class allows it, and never shrinks.
   * @default 10Gi
   * @cel self.matches('[eE][+-]?[0-9]{3}') || !isQuantity(self) || quantity(self).isGreaterThan(quantity('0')) ;; must be greater than zero */
  readonly size: Quantity;
  /** Storage class; the cluster's default when not given.
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly className?: string;
  /** Access mode. With `ReadWriteOnce`, all pods of the bench and of its sites run on one node.
   * @default ReadWriteMany */
  readonly accessMode: 'ReadWriteMany' | 'ReadWriteOnce' | 'ReadWriteOncePod';
}

/** Replicas of a bench's components. */
export interface BenchReplicas {
  /** Web processes. */
  readonly gunicorn?: Replicas;
  /** Proxy in front of everything. */
  readonly nginx?: Replicas;
  /** Realtime server. */
  readonly socketio?: Replicas;
  /** Scheduler: two would run every scheduled job twice.
   * @type integer
   * @format int32
   * @minimum 0
   * @maximum 1 */
  readonly scheduler?: number;
  /** Workers of the `default` queue. */
  readonly workerDefault?: Replicas;
  /** Workers of the `short` queue. */
  readonly workerShort?: Replicas;
  /** Workers of the `long` queue. */
  readonly workerLong?: Replicas;
}

/** Compute resources by component. */
export interface ComponentResources {
  /** Web processes. */
  readonly gunicorn?: Resources;
  /** Proxy in front of everything. */
  readonly nginx?: Resources;
  /** Realtime server. */
  readonly socketio?: Resources;
  /** Scheduler. */
  readonly scheduler?: Resources;
  /** Workers of the `default` queue. */
  readonly workerDefault?: Resources;
  /** Workers of the `short` queue. */
  readonly workerShort?: Resources;
  /** Workers of the `long` queue. */
  readonly workerLong?: Resources;
  /** Every container of every Job of the bench and of its sites. By default the container that does the work has those of `workerDefault`, and containers beside it have little. */
  readonly jobs?: Resources;
}

/** Pod templates by component: `gunicorn`, `nginx`, `socketio`, `scheduler`, `workerDefault`, `workerShort`, `workerLong`, `workers` (the workers of `spec.workers`), `jobs`, `redis`, `database`.
 * @maxProperties 11
 * @cel self.all(k, k in ['gunicorn', 'nginx', 'socketio', 'scheduler', 'workerDefault', 'workerShort', 'workerLong', 'workers', 'jobs', 'redis', 'database']) ;; the components of a bench are gunicorn, nginx, socketio, scheduler, workerDefault, workerShort, workerLong, workers, jobs, redis and database */
export interface BenchPodTemplates {
  readonly [component: string]: ComponentPodTemplate;
}

/** Limits and headers of the proxy in front of a bench's sites. A change is reloaded without a lost request. */
export interface ProxySettings {
  /** The largest body of a request, such as an upload. By default 50Mi. The framework has a limit of its own, `max_file_size`.
   * @cel self.matches('[eE][+-]?[0-9]{3}') || !isQuantity(self) || (quantity(self).compareTo(quantity('1Ki')) >= 0 && quantity(self).compareTo(quantity('1Ti')) <= 0) ;; must be from 1Ki to 1Ti: a mebibyte is 1Mi, and m is a thousandth */
  readonly maxBodySize?: Quantity;
  /** Seconds that the proxy waits for the next part of an answer. By default 120.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 86400 */
  readonly readTimeoutSeconds?: number;
  /** Seconds that the proxy waits until the next part of a request is taken. By default 120.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 86400 */
  readonly sendTimeoutSeconds?: number;
  /** Seconds that the proxy waits for a connection to the web processes, before it tries once more. By default 2.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 60 */
  readonly connectTimeoutSeconds?: number;
  /** Headers of every answer. They take the place of the same ones of the framework and of the proxy.
   * @maxItems 32
   * @listType map
   * @listMapKey name */
  readonly responseHeaders?: readonly ResponseHeader[];
  /** Proxies in front of this one that are trusted to name the client. By default the private ranges of addresses; none when the list is empty.
   * @maxItems 64
   * @listType set */
  readonly realIPFrom?: readonly AddressRange[];
  /** Header in which they name it. By default `X-Forwarded-For`.
   * @maxLength 64
   * @pattern ^[A-Za-z][A-Za-z0-9-]*$ */
  readonly realIPHeader?: string;
}

/** A header of the proxy's answers. */
export interface ResponseHeader {
  /** Name of the header.
   * @maxLength 64
   * @pattern ^[A-Za-z][A-Za-z0-9-]*$
   * @cel !(self.lowerAscii() in ['connection', 'content-encoding', 'content-length', 'content-range', 'content-type', 'date', 'keep-alive', 'location', 'server', 'set-cookie', 'te', 'trailer', 'transfer-encoding', 'upgrade']) && !self.lowerAscii().startsWith('x-accel-') ;; the proxy and the framework set this header for each answer */
  readonly name: string;
  /** Its value: one line of printable ASCII characters. It is sent as it is written.
   * @minLength 1
   * @maxLength 4096
   * @pattern ^[!-~]([ -~]*[!-~])?$ */
  readonly value: string;
}

/** An address or a range of addresses: `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`.
 * @maxLength 49
 * @pattern ^(((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(/(3[0-2]|[12]?[0-9]))?|(([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|([0-9A-Fa-f]{1,4}:){1,6}:([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,4})?|::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,6})?)(/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?)$ */
export type AddressRange = string;

/** Event-driven scaling by queue. */
export interface WorkerAutoscaling {
  /** The `short` queue. */
  readonly short?: QueueScaling;
  /** The `long` queue. */
  readonly long?: QueueScaling;
  /** The `default` queue. */
  readonly default?: QueueScaling;
}

/** How the workers of one queue scale.
 * @cel !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas ;; minReplicas must not be greater than maxReplicas */
export interface QueueScaling {
  /** Turns event-driven scaling on. It needs KEDA; without it the workers stay at a fixed number.
   * @default false */
  readonly enabled: boolean;
  /** The least workers; 0 lets the queue sleep.
   * @default 1 */
  readonly minReplicas: Replicas;
  /** The most workers. By default 5, or `minReplicas` where that is more. */
  readonly maxReplicas?: PositiveReplicas;
  /** Waiting jobs for each worker.
   * @default 5
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 1000000 */
  readonly queueLength: number;
  /** Workers when scaling is off. By default their number of replicas. */
  readonly staticReplicas?: Replicas;
  /** Seconds without work after which the workers go back to `minReplicas`, where that is 0.
   * @type integer
   * @format int32
   * @minimum 0
   * @maximum 86400 */
  readonly cooldownPeriod?: number;
  /** Seconds between two readings of the queue.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 3600 */
  readonly pollingInterval?: number;
}

/** Workers of one or several queues. */
export interface QueueWorkers {
  /** Name of the workers: their Deployment is `<bench>-worker-<name>`, and that of a Dedicated site `<site>-worker-<name>`. With the longest name before it, a label has no room for more.
   * @minLength 1
   * @maxLength 10
   * @pattern ^[a-z]([-a-z0-9]*[a-z0-9])?$
   * @cel !(self in ['default', 'short', 'long', 'gunicorn', 'nginx', 'socketio', 'scheduler', 'metrics']) && !self.startsWith('worker-') ;; workers of another name have this one, or could have it */
  readonly name: string;
  /** Queues that the workers take jobs from; a job of the first one goes first. Queues that the framework does not know are made known to it (`workers` in `common_site_config.json`).
   * @minItems 1
   * @maxItems 8
   * @listType set */
  readonly queues: readonly QueueName[];
  /** Seconds that a job of such a queue may take. By default 300. `default`, `short` and `long` keep the framework's times.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 86400 */
  readonly timeoutSeconds?: number;
  /** Number of workers; 1 when not given. */
  readonly replicas?: Replicas;
  /** Event-driven scaling, by the longest of the queues. */
  readonly autoscaling?: QueueScaling;
  /** Compute resources. By default requests of a worker; `{}` sets none. */
  readonly resources?: Resources;
}

/** Name of a queue.
 * @minLength 1
 * @maxLength 63
 * @pattern ^[a-z]([a-z0-9_-]*[a-z0-9])?$ */
export type QueueName = string;

/** The cache and the queue: two Redis servers in one pod, or servers outside.
 * @cel !(has(self.external) && (has(self.image) || has(self.resources) || has(self.storage))) ;; external servers have no image, resources or storage here: give one or the other */
export interface RedisConfig {
  /** Image of both servers: Redis or Valkey, 6.2 or newer.
   * @maxLength 512
   * @pattern ^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$ */
  readonly image?: string;
  /** Compute resources of each server. Of its memory limit, the cache uses three quarters for data, and the queue 60 percent (`maxmemory`): the rest is for connections and for rewriting its file. By default requests; `{}` sets none. */
  readonly resources?: Resources;
  /** The volume of the queue. */
  readonly storage?: Storage;
  /** Servers that the operator does not run. */
  readonly external?: ExternalRedis;
}

/** Redis servers outside of the bench. */
export interface ExternalRedis {
  /** Secret with the URLs, `redis://[user:password@]host:port[/db]` or `rediss://…` for TLS, under the keys `cache` and `queue`. */
  readonly urlsSecretRef: NameRef;
  /** Secret with the certificate of the authority that signs those of the servers, for `rediss://`: key `ca.crt`. By default the authorities that the image trusts. */
  readonly caSecretRef?: NameRef;
}

/** The database server that a bench offers to its sites. By default the bench runs its own MariaDB server.
 * @default {}
 * @cel self.mode != 'external' || (has(self.host) && has(self.rootSecretRef)) ;; mode external needs host and rootSecretRef
 * @cel self.mode != 'operator' || self.provider != 'mariadb' || has(self.mariadbRef) ;; mode operator needs mariadbRef with provider mariadb
 * @cel self.mode != 'operator' || self.provider != 'postgres' || has(self.clusterRef) ;; mode operator needs clusterRef with provider postgres
 * @cel !has(self.clusterRef) || (self.mode == 'operator' && self.provider == 'postgres') ;; clusterRef belongs to mode operator with provider postgres
 * @cel self.mode == 'managed' || !(has(self.image) || has(self.storage)) ;; image and storage belong to mode managed
 * @cel self.mode == 'managed' || !has(self.settings) ;; settings belongs to mode managed
 * @cel self.mode != 'managed' || !has(self.port) ;; port belongs to modes external and operator
 * @cel self.mode != 'managed' || !has(self.host) ;; host belongs to modes external and operator
 * @cel (has(self.storage) && has(self.storage.existingClaim) ? self.storage.existingClaim : '') == (has(oldSelf.storage) && has(oldSelf.storage.existingClaim) ? oldSelf.storage.existingClaim : '') ;; storage.existingClaim cannot be added, changed or removed: the databases would stay behind on the other volume
 * @cel !has(self.tls) || self.mode != 'external' || self.tls.mode == 'Require' || has(self.tls.caSecretRef) ;; mode external needs tls.caSecretRef with tls.mode VerifyFull or VerifyCA
 * @cel !has(self.tls) || self.mode != 'managed' || has(self.tls.serverCertificateSecretRef) ;; mode managed needs tls.serverCertificateSecretRef
 * @cel !has(self.tls) || self.mode == 'managed' || !has(self.tls.serverCertificateSecretRef) ;; tls.serverCertificateSecretRef belongs to mode managed
 * @cel self.provider == oldSelf.provider ;; provider is immutable: the sites' databases would stay behind */
export interface BenchDatabase {
  /** Kind of server.
   * @default mariadb */
  readonly provider: 'mariadb' | 'postgres';
  /** Who runs the server. `managed`: this operator; `external`: you; `operator`: the MariaDB operator, or CloudNativePG for `postgres`.
   * @default managed */
  readonly mode: 'managed' | 'external' | 'operator';
  /** Host of an external server, or of an operator's where it is not the one that the operator's object says. */
  readonly host?: HostName;
  /** Port. By default what the operator's object says, else 3306 for MariaDB and 5432 for PostgreSQL. */
  readonly port?: Port;
  /** Secret with the root credentials of an external server: key `password`, and `username` where it is not `root` (MariaDB) or `postgres`. */
  readonly rootSecretRef?: NameRef;
  /** The MariaDB operator's server. */
  readonly mariadbRef?: MariaDbRef;
  /** CloudNativePG's Cluster, in the same namespace. */
  readonly clusterRef?: NameRef;
  /** Encrypts the connections to the server. By default they are in clear text, unless a MariaDB of the MariaDB operator has `tls.required`. */
  readonly tls?: DatabaseTls;
  /** Image of a managed server.
   * @maxLength 512
   * @pattern ^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$ */
  readonly image?: string;
  /** Settings of a managed server; a change restarts it. By default `innodb_buffer_pool_size` is half of the memory limit, and `shared_buffers` a quarter. */
  readonly settings?: DatabaseSettings;
  /** Compute resources of a managed server. By default requests; `{}` sets none. In other modes they have no effect. */
  readonly resources?: Resources;
  /** The volume of a managed server; 10Gi when no size is given. */
  readonly storage?: Storage;
}

/** A server that the MariaDB operator runs or knows. */
export interface MariaDbRef {
  /** Name of the object.
   * @minLength 1
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly name: string;
  /** Namespace of the object; the bench's when not given. In another one, the object must have the annotation `allow-databases-from` of the operator's API group, with the bench's namespace.
   * @minLength 1
   * @maxLength 63
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$ */
  readonly namespace?: string;
  /** Kind of the object.
   * @default MariaDB */
  readonly kind: 'MariaDB' | 'ExternalMariaDB';
}

/** The exporter of a bench's metrics: one small pod. The bench is Ready without it.
 * @default {} */
export interface BenchMetrics {
  /** Whether there is one.
   * @default true */
  readonly enabled: boolean;
  /** Its compute resources. By default requests; `{}` sets none. */
  readonly resources?: Resources;
}

/** Defaults for the public domains of a bench's sites.
 * @cel !(has(self.gatewayRef) && has(self.ingressClassName)) ;; sites have an Ingress or HTTPRoutes by default: give ingressClassName or gatewayRef */
export interface DomainConfig {
  /** Sites without a `domain` get `<siteName>.<suffix>`, where the site's name does not end with the suffix already. */
  readonly suffix?: DomainName;
  /** Ingress class of sites that name none.
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly ingressClassName?: string;
  /** Gateway of sites that name neither a Gateway nor an ingress class: they get HTTPRoutes in place of an Ingress. */
  readonly gatewayRef?: GatewayRef;
  /** Certificate issuer of sites that name none.
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly issuer?: string;
}

/** The NetworkPolicies of a bench and of its sites. They need a network plug-in that enforces them. */
export interface BenchNetworkPolicy {
  /** Whether there are any. Without them every pod of the cluster reaches every port, Redis and databases included.
   * @default true */
  readonly enabled: boolean;
  /** Who reaches the proxy, besides the operator. By default every address; none when the list is empty.
   * @maxItems 16
   * @listType atomic */
  readonly ingressFrom?: readonly NetworkPeer[];
  /** Who reaches the exporter of metrics. By default every address; none when the list is empty.
   * @maxItems 16
   * @listType atomic */
  readonly metricsFrom?: readonly NetworkPeer[];
  /** What the pods may connect to. By default everything. */
  readonly egress?: BenchEgress;
}

/** Limits what the pods of a bench and of its sites connect to: DNS, each other, the database servers whose address the operator knows, and what is allowed here. */
export interface BenchEgress {
  /** Turns the limit on.
   * @default false */
  readonly enabled: boolean;
  /** What the pods may connect to besides, such as object stores, mail servers and the public addresses of the sites.
   * @maxItems 16
   * @listType atomic */
  readonly allow?: readonly EgressRule[];
}

/** Addresses or pods to which connections are allowed. */
export interface EgressRule {
  /** The other ends; one that matches is enough.
   * @minItems 1
   * @maxItems 8
   * @listType atomic */
  readonly to: readonly NetworkPeer[];
  /** TCP ports of the other ends: behind a Service those of its pods. By default every port of every protocol.
   * @minItems 1
   * @maxItems 16
   * @listType set */
  readonly ports?: readonly Port[];
}

/** The other end of connections: a range of addresses, or pods.
 * @cel has(self.cidr) != (has(self.namespace) || has(self.podLabels)) ;; a peer needs cidr, or namespace and podLabels or one of them */
export interface NetworkPeer {
  /** Addresses outside of the cluster, or of nodes: `203.0.113.0/24`, `2001:db8::/32`.
   * @maxLength 49
   * @pattern ^(((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])/(3[0-2]|[12]?[0-9])|([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}/(12[0-8]|1[01][0-9]|[1-9]?[0-9])|([0-9a-f]{1,4}:){1,6}:([0-9a-f]{1,4}(:[0-9a-f]{1,4}){0,4})?/(12[0-8]|1[01][0-9]|[1-9]?[0-9])|::([0-9a-f]{1,4}(:[0-9a-f]{1,4}){0,6})?/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$ */
  readonly cidr?: string;
  /** Name of a namespace whose pods are meant. By default that of the bench.
   * @minLength 1
   * @maxLength 63
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$ */
  readonly namespace?: string;
  /** Labels of the pods. By default every pod of the namespace. */
  readonly podLabels?: PeerLabels;
}

/** Labels of pods.
 * @maxProperties 8
 * @cel self.all(k, k.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')) ;; a label's key is a name of at most 63 letters, digits, -, _ and ., after a DNS name and / where it has a prefix */
export interface PeerLabels {
  readonly [key: string]: LabelValue;
}

/** What the bench is. */
export interface AppBenchStatus extends CommonStatus {
  /** True when the init Job has succeeded and every component is available. */
  readonly ready?: boolean;
  /** The lifecycle phase of the bench. */
  readonly phase?: 'Pending' | 'Provisioning' | 'Ready' | 'Updating' | 'Failed' | 'Deleting';
  /** The ids that the pods run with, `<user>/<group>/<fsGroup>`, and `-` for one that the platform assigns. They are recorded at the first start, and kept where the spec names none.
   * @maxLength 64 */
  readonly ids?: string;
  /** The image that the bench's own pods run. Another one is rolled out when no Shared site is open on this one any more. */
  readonly image?: string;
  /** The image that the bench's own pods ran before `image`, for the way back. */
  readonly previousImage?: string;
  /** What the image of the spec refers to: all pods of the bench and of its sites run this content. */
  readonly imageDigest?: ImageDigest;
  /** Where the images of the bench and of its sites have their assets. */
  readonly assets?: BenchAssets;
  /** The current upgrade of the sites; not set when there is none. */
  readonly upgrade?: BenchUpgrade;
  /** The applications of the sites.
   * @listType atomic */
  readonly apps?: readonly string[];
  /** Of `spec.apps` and `spec.appsJSON` the one without effect, where both are set. */
  readonly ignoredApps?: IgnoredApps;
  /** Web processes that run, for the scale subresource.
   * @type integer
   * @format int32 */
  readonly replicas?: number;
  /** Label selector of the web processes' pods, for the scale subresource. */
  readonly selector?: string;
  /** Number of sites on the bench.
   * @type integer
   * @format int32 */
  readonly sites?: number;
  /** How the workers scale, by queue. */
  readonly workerScaling?: WorkerScaling;
  /** The pods of the web processes where an autoscaler decides about their number; not set where it is fixed. */
  readonly webScaling?: WebScalingStatus;
  /** How the workers of `spec.workers` scale.
   * @listType map
   * @listMapKey name */
  readonly workers?: readonly QueueWorkersStatus[];
  /** What was set of `spec.siteConfig`. */
  readonly siteConfig?: SiteConfigStatus;
}

/** The digest of an image, as the pod of the init Job had it. */
export interface ImageDigest {
  /** The image as the spec named it. */
  readonly image: string;
  /** Not set where the container runtime named none that a registry has: pods run what `image` refers to.
   * @pattern ^sha256:[a-f0-9]{64}$ */
  readonly digest?: string;
  /** The value of `spec.image.refresh` that it answers. */
  readonly refresh?: string;
  /** The run of the init Job that found it. */
  readonly init: string;
}

/** Where images have their assets. */
export interface BenchAssets {
  /** The image that the init Job has looked into. */
  readonly image: string;
  /** Images from before 2026-04-29, whose assets are in the folder `sites`: their pods copy them at the start.
   * @maxItems 8
   * @listType set */
  readonly inSites: readonly string[];
  /** Programs that print PDFs, and that `image` does not have; not set when it has them.
   * @maxItems 8
   * @listType set */
  readonly missing?: readonly string[];
}

/** A list of applications without effect. */
export interface IgnoredApps {
  /** The field of the spec. */
  readonly field: 'apps' | 'appsJSON';
  /** Hash of its value: with another value it is the newer one. */
  readonly hash: string;
}

/** The upgrade of a bench's sites. */
export interface BenchUpgrade {
  /** The image that the sites are brought to. */
  readonly to: string;
  /** The sites whose turn it is.
   * @maxItems 1000
   * @listType set */
  readonly turns?: readonly string[];
  /** Sites that are done, of all that there are: `3/5`. */
  readonly progress: string;
  /** Sites whose migration has failed.
   * @type integer
   * @format int32 */
  readonly failed?: number;
}

/** How the workers scale, by queue. */
export interface WorkerScaling {
  /** The `short` queue. */
  readonly short?: QueueScalingStatus;
  /** The `long` queue. */
  readonly long?: QueueScalingStatus;
  /** The `default` queue. */
  readonly default?: QueueScalingStatus;
}

/** How the workers of one queue scale. */
export interface QueueScalingStatus {
  /** `autoscaled` by KEDA or a HorizontalPodAutoscaler, or `static`. */
  readonly mode: 'autoscaled' | 'static';
  /** Workers that run.
   * @type integer
   * @format int32 */
  readonly currentReplicas: number;
  /** Workers that should run.
   * @type integer
   * @format int32 */
  readonly desiredReplicas: number;
  /** Whether KEDA has taken the queue over: it decides about the number. */
  readonly kedaManaged: boolean;
}

/** How workers of their own queues scale. */
export interface QueueWorkersStatus extends QueueScalingStatus {
  /** Name of the workers. */
  readonly name: string;
}
