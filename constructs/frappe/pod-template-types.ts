import type { LabelMap, Opaque, Resources, StringMap, Toleration } from '../kit/api.js';

/** A pod template of a component, after `templateProblems` has found nothing wrong with its form. */
export interface CheckedTemplate {
  readonly metadata?: TemplateMetadata;
  readonly spec?: TemplatePod;
}

/** Labels and annotations of pods. */
export interface TemplateMetadata {
  readonly labels?: LabelMap;
  readonly annotations?: StringMap;
}

/** What pods have besides what the operator gives them. */
export interface TemplatePod {
  readonly containers?: readonly TemplateContainer[];
  readonly initContainers?: readonly TemplateContainer[];
  readonly volumes?: readonly TemplateVolume[];
  readonly nodeSelector?: LabelMap;
  readonly tolerations?: readonly Toleration[];
  readonly affinity?: Opaque;
  readonly topologySpreadConstraints?: readonly TopologySpread[];
  readonly hostAliases?: readonly HostAlias[];
  readonly dnsPolicy?: 'ClusterFirst' | 'Default' | 'None';
  readonly dnsConfig?: DnsConfig;
  readonly runtimeClassName?: string;
  readonly priorityClassName?: string;
  readonly serviceAccountName?: string;
  readonly terminationGracePeriodSeconds?: number;
}

/** A container of the operator, or a further one. */
export interface TemplateContainer {
  readonly name: string;
  readonly image?: string;
  readonly imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly TemplateEnvVar[];
  readonly envFrom?: readonly EnvSource[];
  readonly volumeMounts?: readonly TemplateMount[];
  readonly ports?: readonly TemplatePort[];
  readonly resources?: Resources;
  readonly livenessProbe?: TemplateProbe;
  readonly readinessProbe?: TemplateProbe;
  readonly startupProbe?: TemplateProbe;
  readonly securityContext?: TemplateSecurity;
  readonly restartPolicy?: 'Always';
}

/** An environment variable. */
export interface TemplateEnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: EnvVarSource;
}

/** Where the value of an environment variable is. */
export interface EnvVarSource {
  readonly secretKeyRef?: KeyRef;
  readonly configMapKeyRef?: KeyRef;
  readonly fieldRef?: FieldRef;
}

/** A key of a Secret or of a ConfigMap. */
export interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

/** A field of the pod. */
export interface FieldRef {
  readonly fieldPath: string;
}

/** A Secret or a ConfigMap whose keys become environment variables. */
export interface EnvSource {
  readonly prefix?: string;
  readonly secretRef?: OptionalRef;
  readonly configMapRef?: OptionalRef;
}

/** A Secret or a ConfigMap. */
export interface OptionalRef {
  readonly name: string;
  readonly optional?: boolean;
}

/** Where a volume is mounted. */
export interface TemplateMount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
  readonly readOnly?: boolean;
}

/** A port of a container. */
export interface TemplatePort {
  readonly containerPort: number;
  readonly name?: string;
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP';
}

/** A check of a container. */
export interface TemplateProbe {
  readonly exec?: ProbeCommand;
  readonly httpGet?: ProbeRequest;
  readonly tcpSocket?: ProbeSocket;
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

/** A command in a container. */
export interface ProbeCommand {
  readonly command: readonly string[];
}

/** A request over HTTP. */
export interface ProbeRequest {
  readonly path?: string;
  readonly port: number;
  readonly scheme?: 'HTTP' | 'HTTPS';
}

/** A connection over TCP. */
export interface ProbeSocket {
  readonly port: number;
}

/** What a further container may do, and as whom it runs. */
export interface TemplateSecurity {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly readOnlyRootFilesystem?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly capabilities?: TemplateCapabilities;
}

/** Linux capabilities of a further container. */
export interface TemplateCapabilities {
  readonly add?: readonly string[];
  readonly drop?: readonly string[];
}

/** A further volume. It has one source. */
export interface TemplateVolume {
  readonly name: string;
  readonly configMap?: ConfigMapVolume;
  readonly secret?: SecretVolume;
  readonly emptyDir?: EmptyVolume;
  readonly persistentVolumeClaim?: ClaimVolume;
}

/** Keys of a ConfigMap as files. */
export interface ConfigMapVolume {
  readonly name: string;
  readonly items?: readonly KeyToPath[];
  readonly defaultMode?: number;
  readonly optional?: boolean;
}

/** Keys of a Secret as files. */
export interface SecretVolume {
  readonly secretName: string;
  readonly items?: readonly KeyToPath[];
  readonly defaultMode?: number;
  readonly optional?: boolean;
}

/** A key as a file. */
export interface KeyToPath {
  readonly key: string;
  readonly path: string;
}

/** An empty folder. */
export interface EmptyVolume {
  readonly medium?: string;
  readonly sizeLimit?: string;
}

/** A claim. */
export interface ClaimVolume {
  readonly claimName: string;
  readonly readOnly?: boolean;
}

/** How pods spread over a part of the cluster. */
export interface TopologySpread {
  readonly topologyKey: string;
  readonly whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway';
  readonly maxSkew: number;
  readonly minDomains?: number;
  readonly labelSelector?: SpreadSelector;
}

/** Which pods are counted. */
export interface SpreadSelector {
  readonly matchLabels?: LabelMap;
}

/** A line of `/etc/hosts`. */
export interface HostAlias {
  readonly ip: string;
  readonly hostnames: readonly string[];
}

/** Name servers and options. */
export interface DnsConfig {
  readonly nameservers?: readonly string[];
  readonly searches?: readonly string[];
  readonly options?: readonly DnsOption[];
}

/** An option of the resolver. */
export interface DnsOption {
  readonly name: string;
  readonly value?: string;
}
