/**
 * API types that several kinds share. Interfaces in `api.ts` files describe what the API server stores:
 * a field with a default is required here and optional in the CRD that is generated from them.
 * Markers are JSDoc tags: the JSON Schema ones (`@minimum`, `@maxLength`, `@pattern`, `@default` …),
 * `@listType`/`@listMapKey`, and `@cel <rule> ;; <message> [;; <message expression>]` for validation
 * rules. A line `// <NAME> text` is a part of rules of its file, which name it as `<NAME>`.
 */

/** A reference to another object by name, in the same namespace. */
export interface NameRef {
  /** Name of the object.
   * @minLength 1
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly name: string;
}

/** A Gateway of the Gateway API. */
export interface GatewayRef {
  /** Name of the Gateway.
   * @minLength 1
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly name: string;
  /** Its namespace; that of the site when not given. Another one needs `allowedRoutes` of the listener.
   * @minLength 1
   * @maxLength 63
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$ */
  readonly namespace?: string;
  /** Name of one listener; every one that takes the host name when not given.
   * @minLength 1
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly sectionName?: string;
}

// Rules run on what breaks the pattern too, and a long exponent takes the API server minutes: each
// rule that reads a quantity leaves those out first.
/** A resource quantity, for example `500m`, `1`, `2Gi`. An exponent has at most two digits.
 * @maxLength 64
 * @pattern ^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(([KMGTPE]i)|[mkMGTPE]|([eE][+-]?[0-9]{1,2}))?$ */
export type Quantity = string;

/** Resource quantities by resource name, such as `cpu` and `memory`.
 * @maxProperties 16
 * @cel self.all(k, k in ['cpu', 'memory', 'ephemeral-storage'] || k.matches('^(hugepages-[0-9]+[KMG]i|[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$')) ;; resources are cpu, memory, ephemeral-storage, hugepages-<size> and extended ones such as example.com/gpu */
export interface ResourceList {
  readonly [resource: string]: Quantity;
}

/** Compute resources of a container.
 * @cel !has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) || self.requests[k].matches('[eE][+-]?[0-9]{3}') || self.limits[k].matches('[eE][+-]?[0-9]{3}') || !isQuantity(self.requests[k]) || !isQuantity(self.limits[k]) || quantity(self.requests[k]).compareTo(quantity(self.limits[k])) <= 0) ;; a request must not be greater than its limit ;; self.requests.map(k, (k in self.limits) && !self.requests[k].matches('[eE][+-]?[0-9]{3}') && !self.limits[k].matches('[eE][+-]?[0-9]{3}') && isQuantity(self.requests[k]) && isQuantity(self.limits[k]) && quantity(self.requests[k]).compareTo(quantity(self.limits[k])) > 0, 'requests.' + k + ' ' + self.requests[k] + ' is greater than limits.' + k + ' ' + self.limits[k] + '; patch requests.' + k + ' together with the limit, or raise limits.' + k)[0] */
export interface Resources {
  /** What the scheduler sets aside. */
  readonly requests?: ResourceList;
  /** What the container cannot exceed. */
  readonly limits?: ResourceList;
}

/** A persistent volume claim.
 * @cel !has(self.existingClaim) || !(has(self.size) || has(self.className)) ;; an existing claim has a size and a storage class already: give existingClaim, or size and className */
export interface Storage {
  /** A claim of yours that is used in place of a new one, in the same namespace. The operator does not change it, and never deletes it.
   * @minLength 1
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly existingClaim?: string;
  /** Size of the volume. It can grow where its storage class allows that, and never shrinks.
   * @cel self.matches('[eE][+-]?[0-9]{3}') || !isQuantity(self) || quantity(self).isGreaterThan(quantity('0')) ;; must be greater than zero */
  readonly size?: Quantity;
  /** Storage class; the cluster's default when not given.
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly className?: string;
}

/** A container image with its parts apart. */
export interface Image {
  /** Repository, with the registry where it is not the default one.
   * @minLength 1
   * @maxLength 255
   * @pattern ^[a-z0-9]([a-z0-9._:/-]*[a-z0-9])?$ */
  readonly repository?: string;
  /** Tag.
   * @maxLength 128
   * @pattern ^[A-Za-z0-9_][A-Za-z0-9._-]*$ */
  readonly tag?: string;
  /** Digest of the image; it is used in place of what the tag refers to later.
   * @maxLength 71
   * @pattern ^sha256:[a-f0-9]{64}$ */
  readonly digest?: string;
  /** Asks for what the tag refers to now: another value, such as a date, is an upgrade to it. Without one, and while the value stays, pods run the content that was pulled first.
   * @minLength 1
   * @maxLength 63
   * @pattern ^[A-Za-z0-9]([A-Za-z0-9:._+-]*[A-Za-z0-9])?$ */
  readonly refresh?: string;
  /** When the node pulls the image. By default: `Always` for a floating tag whose digest is not known, `IfNotPresent` otherwise. */
  readonly pullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  /** Secrets of type `kubernetes.io/dockerconfigjson` to pull with.
   * @maxItems 16
   * @listType map
   * @listMapKey name */
  readonly pullSecrets?: readonly NameRef[];
}

/** Encryption of the connections to a database server. There is no fallback to clear text.
 * @cel self.mode != 'Require' || !has(self.caSecretRef) ;; caSecretRef has no effect with mode Require, which checks no certificate: leave it out, or use VerifyFull or VerifyCA */
export interface DatabaseTls {
  /** `VerifyFull`: the server's certificate is of the CA, and of the host that is connected to; `VerifyCA`: it is of the CA; `Require`: it is not checked.
   * @default VerifyFull */
  readonly mode: 'VerifyFull' | 'VerifyCA' | 'Require';
  /** Secret with the CA of the server's certificate: key `ca.crt`. By default that of the database operator, in mode `operator`, or that of `serverCertificateSecretRef`. */
  readonly caSecretRef?: NameRef;
  /** Secret of type `kubernetes.io/tls` with a certificate that clients present to the server. */
  readonly clientCertificateSecretRef?: NameRef;
  /** Secret of type `kubernetes.io/tls` with the certificate of a server that this operator runs: modes `managed` and `dedicated`. */
  readonly serverCertificateSecretRef?: NameRef;
}

/** Settings of a database server by their names in `my.cnf` or `postgresql.conf`, with underscores.
 * @maxProperties 50 */
export interface DatabaseSettings {
  readonly [key: string]: DatabaseSetting;
}

/** Value of a setting, such as `2G`, `200` or `on`.
 * @minLength 1
 * @maxLength 64
 * @pattern ^[A-Za-z0-9.+-][A-Za-z0-9 .,+-]*$ */
export type DatabaseSetting = string;

/** What happens to data (databases, volumes, secrets) when the object is deleted. */
export type DeletionPolicy = 'Retain' | 'Delete';

/** An application of the framework. */
export interface AppRef {
  /** Name of the application, as in the image's `apps` folder.
   * @minLength 1
   * @maxLength 64
   * @cel self.matches('^[a-z][a-z0-9_]*$') ;; is not the name of an application: lower-case letters, digits and underscores, beginning with a letter, such as crm or nextcloud_integration */
  readonly name: string;
}

/** What a pod or a container may do and as whom it runs. A value that is missing comes from the
 * operator's environment (`APP_DEFAULT_UID`, `APP_DEFAULT_GID`, `APP_DEFAULT_FSGROUP`), then from
 * the built-in defaults: user 1001, group 0, fsGroup 0. A bench that has started keeps the ids that
 * it started with. */
export interface Security {
  /** For every pod. */
  readonly podSecurityContext?: PodSecurity;
  /** For every container. */
  readonly securityContext?: ContainerSecurity;
}

/** Security settings of a pod. */
export interface PodSecurity {
  /** User that the processes run as; cannot change later.
   * @type integer
   * @format int64
   * @minimum 1
   * @maximum 2147483647 */
  readonly runAsUser?: number;
  /** Group that the processes run as.
   * @type integer
   * @format int64
   * @minimum 0
   * @maximum 2147483647 */
  readonly runAsGroup?: number;
  /** Group that owns the volumes.
   * @type integer
   * @format int64
   * @minimum 0
   * @maximum 2147483647 */
  readonly fsGroup?: number;
}

/** Security settings of a container. */
export interface ContainerSecurity {
  /** User that the process runs as; the pod's when not given. Cannot change later.
   * @type integer
   * @format int64
   * @minimum 1
   * @maximum 2147483647 */
  readonly runAsUser?: number;
  /** Group that the process runs as; the pod's when not given.
   * @type integer
   * @format int64
   * @minimum 0
   * @maximum 2147483647 */
  readonly runAsGroup?: number;
  /** Whether a process can gain more rights than its parent. By default false. */
  readonly allowPrivilegeEscalation?: boolean;
  /** Linux capabilities. By default all are dropped. */
  readonly capabilities?: Capabilities;
}

/** Linux capabilities of a container. */
export interface Capabilities {
  /** Capabilities to drop, for example `ALL`.
   * @maxItems 64
   * @listType set */
  readonly drop?: readonly CapabilityName[];
}

/** Name of a Linux capability, without `CAP_`.
 * @maxLength 64
 * @pattern ^[A-Z][A-Z0-9_]*$ */
export type CapabilityName = string;

/** Annotations.
 * @maxProperties 64
 * @cel self.all(k, k.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')) ;; an annotation's key is a name of at most 63 letters, digits, -, _ and ., after a DNS name and / where it has a prefix */
export interface StringMap {
  readonly [key: string]: MapValue;
}

/** Value of an annotation.
 * @maxLength 4096 */
export type MapValue = string;

/** Labels, as they are put on objects or looked for.
 * @maxProperties 64
 * @cel self.all(k, k.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')) ;; a label's key is a name of at most 63 letters, digits, -, _ and ., after a DNS name and / where it has a prefix */
export interface LabelMap {
  readonly [key: string]: LabelValue;
}

/** Value of a label.
 * @maxLength 63
 * @pattern ^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$ */
export type LabelValue = string;

/** A toleration of a node's taint, as in a pod's spec. */
export interface Toleration {
  /** Key of the taint; every key when empty, with operator `Exists`.
   * @maxLength 317
   * @pattern ^(([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$ */
  readonly key?: string;
  /** How the key relates to the value. */
  readonly operator?: 'Exists' | 'Equal';
  /** Value of the taint.
   * @maxLength 63
   * @pattern ^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$ */
  readonly value?: string;
  /** Effect of the taint; all effects when not given. */
  readonly effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  /** How long a `NoExecute` taint is tolerated, in seconds.
   * @type integer
   * @format int64 */
  readonly tolerationSeconds?: number;
}

/** An object that the API server checks when it is used, not before. It has at most 256 fields, nests
 * at most 64 levels, and takes at most 262,144 bytes of JSON.
 * @maxProperties 256
 * @preserveUnknownFields */
export interface Opaque {
  readonly [key: string]: unknown;
}

/** Where pods run and how they are marked. */
export interface PodTemplate {
  /** Labels that a node must have. */
  readonly nodeSelector?: LabelMap;
  /** Taints that the pods tolerate.
   * @maxItems 64
   * @listType atomic */
  readonly tolerations?: readonly Toleration[];
  /** Affinity rules, as in a pod's spec. */
  readonly affinity?: Opaque;
  /** Further labels of the pods. The operator's own win. */
  readonly labels?: LabelMap;
  /** Further annotations of the pods. The operator's own win. */
  readonly annotations?: StringMap;
  /** Priority class of the pods.
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly priorityClassName?: string;
  /** Service account of the pods: `default`, or one that an administrator of the cluster allows. Its token is not mounted.
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly serviceAccountName?: string;
}

/** A component of a bench whose replicas or resources can be set. */
export type Component =
  'gunicorn' | 'nginx' | 'socketio' | 'scheduler' | 'workerDefault' | 'workerShort' | 'workerLong';

/** A queue of background jobs. */
export type Queue = 'default' | 'short' | 'long';

/** Numbers of gunicorn, which runs the web processes. They are options of its command line. */
export interface GunicornSettings {
  /** Processes of each pod. By default 2, or with a CPU limit one more than twice the CPUs; at most one for each 256Mi of the memory limit, and 16.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 64 */
  readonly workers?: number;
  /** Requests that a process answers at one time. By default 4.
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 64 */
  readonly threads?: number;
  /** Seconds after which a process that hangs is replaced. By default 120. It does not limit a request: `proxy.readTimeoutSeconds` of the bench does.
   * @type integer
   * @format int32
   * @minimum 10
   * @maximum 3600 */
  readonly timeoutSeconds?: number;
  /** Requests after which a process is replaced; 0 for never. By default 5000.
   * @type integer
   * @format int32
   * @minimum 0
   * @maximum 1000000 */
  readonly maxRequests?: number;
  /** Up to how many requests later each process is replaced, so that not all are at one time. By default 500.
   * @type integer
   * @format int32
   * @minimum 0
   * @maximum 1000000 */
  readonly maxRequestsJitter?: number;
}

/** How the number of web processes follows their load, by a HorizontalPodAutoscaler.
 * @cel !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas ;; minReplicas must not be greater than maxReplicas */
export interface WebAutoscaling {
  /** Whether it does. Without it the number is fixed.
   * @default true */
  readonly enabled: boolean;
  /** The least pods.
   * @default 1 */
  readonly minReplicas: PositiveReplicas;
  /** The most pods. By default 5, or `minReplicas` where that is more. */
  readonly maxReplicas?: PositiveReplicas;
  /** The load that each pod should have. */
  readonly target: WebTarget;
}

/** The load of a pod of web processes.
 * @default {} */
export interface WebTarget {
  /** What is measured. `CPU`: what the container uses, in percent of its CPU request.
   * @default CPU */
  readonly type: 'CPU';
  /** The number that the mean of all pods should have.
   * @default 70
   * @type integer
   * @format int32
   * @minimum 1
   * @maximum 1000 */
  readonly value: number;
}

/** The pods of web processes that an autoscaler scales. */
export interface WebScalingStatus {
  /** Pods that run.
   * @type integer
   * @format int32 */
  readonly currentReplicas: number;
  /** Pods that should run.
   * @type integer
   * @format int32 */
  readonly desiredReplicas: number;
}

/** Number of replicas.
 * @type integer
 * @format int32
 * @minimum 0
 * @maximum 1000 */
export type Replicas = number;

/** Number of replicas for a component that must not be switched off or doubled by accident.
 * @type integer
 * @format int32
 * @minimum 1
 * @maximum 1000 */
export type PositiveReplicas = number;

/** A TCP port.
 * @type integer
 * @format int32
 * @minimum 1
 * @maximum 65535 */
export type Port = number;

/** A host name or an address; an IPv6 address is written with or without brackets.
 * @minLength 1
 * @maxLength 253
 * @pattern ^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[?(([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|([0-9A-Fa-f]{1,4}:){1,6}:([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,4})?|::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,6})?)\]?)$ */
export type HostName = string;

/** A lower-case DNS name.
 * @minLength 1
 * @maxLength 200
 * @pattern ^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$ */
export type DomainName = string;

/** A key of a configuration file of the framework, and its value. It needs one of `value` and `valueFrom`. */
export interface SiteConfigEntry {
  /** Name of the key. The keys that the operator sets itself are refused.
   * @minLength 1
   * @maxLength 128
   * @pattern ^[A-Za-z_][A-Za-z0-9_.-]*$
   * @cel !(self in ['bench_id', 'encryption_key', 'extra_config', 'host_name', 'maintenance_mode', 'pause_scheduler', 'rq_password', 'rq_username', 'scheduler_tick_interval', 'use_rq_auth', 'workers']) && !self.startsWith('app_operator_') && !self.startsWith('db_') && !self.startsWith('redis_') && !self.startsWith('socketio_') ;; the operator sets this key itself ;; 'the operator sets ' + self + ' itself; remove the entry' + (self == 'host_name' ? ', and set spec.domain and spec.publicProtocol of the AppSite' : '') */
  readonly key: string;
  /** The value: any JSON except `null`. The values of all entries take at most 65,536 bytes together. For secrets, use `valueFrom`.
   * @preserveUnknownFields */
  readonly value?: unknown;
  /** Where the value is read. */
  readonly valueFrom?: SiteConfigSource;
}

/** The keys of a configuration file.
 * @maxItems 64
 * @listType map
 * @listMapKey key */
export type SiteConfig = readonly SiteConfigEntry[];

/** A key of a Secret or of a ConfigMap in the same namespace, at most 65,536 bytes of UTF-8. A change of it is applied at once.
 * @cel has(self.secretKeyRef) != has(self.configMapKeyRef) ;; valueFrom needs one of secretKeyRef and configMapKeyRef */
export interface SiteConfigSource {
  /** A key of a Secret. */
  readonly secretKeyRef?: KeyRef;
  /** A key of a ConfigMap. */
  readonly configMapKeyRef?: KeyRef;
  /** How the content is read. `Text`: as a string, without any change; `JSON`: as JSON, such as a number, a list or an object.
   * @default Text */
  readonly format: 'Text' | 'JSON';
}

/** A key of an object in the same namespace. */
export interface KeyRef {
  /** Name of the object.
   * @minLength 1
   * @maxLength 253
   * @pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ */
  readonly name: string;
  /** Key in the object.
   * @minLength 1
   * @maxLength 253
   * @pattern ^[-._a-zA-Z0-9]+$ */
  readonly key: string;
}

/** What was set of `siteConfig`. */
export interface SiteConfigStatus {
  /** Hash of the entries, and of the versions of their Secrets and ConfigMaps. */
  readonly hash: string;
  /** Whether the keys were set. */
  readonly outcome: 'Applied' | 'Failed';
  /** The keys that were set last.
   * @listType atomic */
  readonly keys: readonly string[];
  /** When the file was last compared with the entries.
   * @format date-time */
  readonly lastSyncTime: string;
  /** Run of the init Job after which the file was compared. */
  readonly init: string;
  /** Hash of the keys that processes read at their start only. */
  readonly restart?: string;
  /** Whether processes are restarted to read such keys. */
  readonly restarting?: boolean;
  /** The last repair of keys that were changed in the file. */
  readonly repaired?: SiteConfigRepair;
}

/** A repair of a configuration file. */
export interface SiteConfigRepair {
  /** When the keys were set back.
   * @format date-time */
  readonly time: string;
  /** Keys that differed.
   * @listType atomic */
  readonly keys: readonly string[];
}
