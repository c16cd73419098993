import type { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import type { KubeObject } from './object.js';
import { PlainObject } from './plain-object.js';

/**
 * Types of cdk8s for the API of Kubernetes, for objects as they are applied: with the names of the API,
 * and with numbers and texts in place of classes. Nothing of that library is loaded: its 2.7 MiB of code
 * copy each object field by field.
 */
export type Applied<T> = T extends Date
  ? string
  : T extends readonly (infer I)[]
    ? readonly Applied<I>[]
    : T extends object
      ? // `IntOrString` and `Quantity` hold a value, and nothing else.
        k8s.IntOrString extends T
        ? string | number
        : { readonly [K in keyof T as K extends keyof Names ? Names[K] : K]: Applied<T[K]> }
      : T;

/** Names that cdk8s writes in another way. */
interface Names {
  clientIp: 'clientIP';
  clusterIp: 'clusterIP';
  downwardApi: 'downwardAPI';
  hostIp: 'hostIP';
  hostIpc: 'hostIPC';
  hostPid: 'hostPID';
  loadBalancerIp: 'loadBalancerIP';
  nonResourceUrLs: 'nonResourceURLs';
  setHostnameAsFqdn: 'setHostnameAsFQDN';
  volumeId: 'volumeID';
}

export type Container = Applied<k8s.Container>;
export type ContainerPort = Applied<k8s.ContainerPort>;
export type EnvVar = Applied<k8s.EnvVar>;
export type IngressSpec = Applied<k8s.IngressSpec>;
export type JobSpec = Applied<k8s.JobSpec>;
export type LabelSelector = Applied<k8s.LabelSelector>;
export type Lifecycle = Applied<k8s.Lifecycle>;
export type NetworkPolicyEgressRule = Applied<k8s.NetworkPolicyEgressRule>;
export type NetworkPolicyIngressRule = Applied<k8s.NetworkPolicyIngressRule>;
export type NetworkPolicyPeer = Applied<k8s.NetworkPolicyPeer>;
export type NetworkPolicyPort = Applied<k8s.NetworkPolicyPort>;
export type ObjectMeta = Applied<k8s.ObjectMeta>;
export type PodSecurityContext = Applied<k8s.PodSecurityContext>;
export type PodSpec = Applied<k8s.PodSpec>;
export type PodTemplateSpec = Applied<k8s.PodTemplateSpec>;
export type Probe = Applied<k8s.Probe>;
export type ResourceRequirements = Applied<k8s.ResourceRequirements>;
export type SecurityContext = Applied<k8s.SecurityContext>;
export type Subject = Applied<k8s.Subject>;
export type ValidatingWebhook = Applied<k8s.ValidatingWebhook>;
export type Volume = Applied<k8s.Volume>;
export type VolumeMount = Applied<k8s.VolumeMount>;
export type VolumeProjection = Applied<k8s.VolumeProjection>;

type KubeClass<P> = new (scope: Construct, id: string, props: Applied<P>) => PlainObject;

function classOf<P extends object>(apiVersion: string, kind: string): KubeClass<P> {
  return class extends PlainObject {
    constructor(scope: Construct, id: string, props: Applied<P>) {
      super(scope, id, { apiVersion, kind, ...(props as object) } as KubeObject);
    }
  };
}

export const KubeClusterRole = classOf<k8s.KubeClusterRoleProps>(
  'rbac.authorization.k8s.io/v1',
  'ClusterRole',
);
export const KubeClusterRoleBinding = classOf<k8s.KubeClusterRoleBindingProps>(
  'rbac.authorization.k8s.io/v1',
  'ClusterRoleBinding',
);
export const KubeConfigMap = classOf<k8s.KubeConfigMapProps>('v1', 'ConfigMap');
export const KubeCronJob = classOf<k8s.KubeCronJobProps>('batch/v1', 'CronJob');
export const KubeDeployment = classOf<k8s.KubeDeploymentProps>('apps/v1', 'Deployment');
export const KubeHorizontalPodAutoscaler = classOf<k8s.KubeHorizontalPodAutoscalerV2Props>(
  'autoscaling/v2',
  'HorizontalPodAutoscaler',
);
export const KubeIngress = classOf<k8s.KubeIngressProps>('networking.k8s.io/v1', 'Ingress');
export const KubeJob = classOf<k8s.KubeJobProps>('batch/v1', 'Job');
export const KubeMutatingWebhookConfiguration = classOf<k8s.KubeMutatingWebhookConfigurationProps>(
  'admissionregistration.k8s.io/v1',
  'MutatingWebhookConfiguration',
);
export const KubeNamespace = classOf<k8s.KubeNamespaceProps>('v1', 'Namespace');
export const KubeNetworkPolicy = classOf<k8s.KubeNetworkPolicyProps>(
  'networking.k8s.io/v1',
  'NetworkPolicy',
);
export const KubePersistentVolumeClaim = classOf<k8s.KubePersistentVolumeClaimProps>(
  'v1',
  'PersistentVolumeClaim',
);
export const KubePodDisruptionBudget = classOf<k8s.KubePodDisruptionBudgetProps>(
  'policy/v1',
  'PodDisruptionBudget',
);
export const KubeRole = classOf<k8s.KubeRoleProps>('rbac.authorization.k8s.io/v1', 'Role');
export const KubeRoleBinding = classOf<k8s.KubeRoleBindingProps>(
  'rbac.authorization.k8s.io/v1',
  'RoleBinding',
);
export const KubeSecret = classOf<k8s.KubeSecretProps>('v1', 'Secret');
export const KubeService = classOf<k8s.KubeServiceProps>('v1', 'Service');
export const KubeServiceAccount = classOf<k8s.KubeServiceAccountProps>('v1', 'ServiceAccount');
export const KubeStatefulSet = classOf<k8s.KubeStatefulSetProps>('apps/v1', 'StatefulSet');
export const KubeValidatingWebhookConfiguration =
  classOf<k8s.KubeValidatingWebhookConfigurationProps>(
    'admissionregistration.k8s.io/v1',
    'ValidatingWebhookConfiguration',
  );
