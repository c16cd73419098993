import { JsonPatch, type ApiObject } from 'cdk8s';
import type { Resources } from '../kit/api.js';
import { canonicalJson } from '../kit/json/hash.js';
import type * as k8s from '../kit/k8s.js';
import { childLabels } from '../kit/labels.js';
import { benchNames, serviceHost } from '../kit/names.js';
import type { Resource } from '../kit/object.js';
import { DNS_CONFIG } from '../kit/well-known.js';
import { FRAMEWORK_REQUESTS } from './default-resources.js';
import type { BenchModel } from './bench-model.js';
import type { SecretKey } from './database.js';
import type { PodComponent } from './pod-components.js';
import { withComponentTemplate, type PodJson, type PodTemplates } from './pod-template.js';
import { keyOfSecret } from './secret.js';
import { BENCH_DIR, ISOLATED_SCRIPT, NGINX_PORT, SCRIPTS_DIR } from '../kit/constants.generated.js';

export const SITES_DIR = `${BENCH_DIR}/sites`;
/** The interpreter of the framework's virtual environment. */
export const PYTHON = `${BENCH_DIR}/env/bin/python`;
const TEMP_DIR = '/tmp';

/** Runs a script of a Job so that no code on the sites volume is imported, see run_isolated.py. */
export function jobCommand(script: string): readonly string[] {
  return [PYTHON, '-I', '-u', `${SCRIPTS_DIR}/${ISOLATED_SCRIPT}`, `${SCRIPTS_DIR}/${script}`];
}

export interface FrappePodProps {
  readonly bench: BenchModel;
  /** The resource that the pod works for. */
  readonly owner: Resource;
  /** Value of the label `app`, and of the object that makes the pods. */
  readonly name: string;
  readonly component: string;
  /** Hash of the configuration that the processes read at their start. */
  readonly configHash?: string;
  readonly container: FrappeContainerProps;
  readonly initContainers?: readonly FrappeContainerProps[];
  readonly extraVolumes?: readonly k8s.Volume[];
  /** Whether its processes read the assets of the framework. @default false */
  readonly readsAssets?: boolean;
  /** An empty directory in place of the bench's volume, which is being deleted. @default false */
  readonly withoutSites?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly restartPolicy?: 'OnFailure' | 'Never';
  /** Labels and annotations that a pod template may override. */
  readonly defaults?: Pick<k8s.ObjectMeta, 'labels' | 'annotations'>;
}

export interface FrappeContainerProps {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: readonly k8s.EnvVar[];
  readonly ports?: readonly k8s.ContainerPort[];
  /** @default FRAMEWORK_REQUESTS */
  readonly resources?: Resources | undefined;
  readonly livenessProbe?: k8s.Probe;
  readonly readinessProbe?: k8s.Probe;
  readonly startupProbe?: k8s.Probe;
  readonly lifecycle?: k8s.Lifecycle;
  readonly extraMounts?: readonly k8s.VolumeMount[];
  /** @default true */
  readonly writesSites?: boolean;
  /**
   * Scripts: neither the sites nor the folders that the framework writes to, but the scripts only.
   * @default Framework
   */
  readonly mounts?: 'Framework' | 'Scripts';
  /** Of an init container that runs beside the others until they have ended. */
  readonly restartPolicy?: 'Always';
}

/** Of a container whose script starts no program of the framework. */
export const SCRIPT_RESOURCES = {
  requests: { cpu: '10m', memory: '64Mi' },
  limits: { memory: '128Mi' },
} as const;

/**
 * Of an init container that does for a Job's own container what needs a login or a key which no code of
 * the framework may have: it mounts no site, and ends when the Job's own container has ended.
 */
export const SECRETS_SIDECAR = {
  restartPolicy: 'Always',
  mounts: 'Scripts',
} as const satisfies Partial<FrappeContainerProps>;

/** The labels that select the pods of a workload: they never change. */
export function selectorLabels(props: {
  readonly owner: Resource;
  readonly name: string;
}): Record<string, string> {
  const { kind, metadata } = props.owner;
  return { app: props.name, [kind.replace(/^App/, '').toLowerCase()]: metadata.name };
}

/** The template of a pod that runs the framework's image on the bench's volume. */
export function frappePod(
  props: FrappePodProps,
  spread: Pick<k8s.PodSpec, 'topologySpreadConstraints'> = {},
): k8s.PodTemplateSpec {
  const { bench } = props;
  const copied = props.readsAssets === true && bench.assetsInSites.includes(bench.image.reference);
  const initContainers = [
    ...(copied ? [copyAssets(props.container.resources)] : []),
    ...(props.initContainers ?? []),
  ];
  const container = copied ? withAssets(props.container) : props.container;
  return {
    metadata: podMetadata(
      props,
      props.configHash ? { [bench.metadataKeys.configHash]: props.configHash } : {},
    ),
    spec: {
      ...placement(bench),
      ...spread,
      // Nothing in the pod calls the API server: with a token, the site's code could.
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      dnsConfig: DNS_CONFIG,
      securityContext: bench.security.pod,
      ...(props.restartPolicy ? { restartPolicy: props.restartPolicy } : {}),
      ...(props.terminationGracePeriodSeconds === undefined
        ? {}
        : { terminationGracePeriodSeconds: props.terminationGracePeriodSeconds }),
      ...(initContainers.length > 0
        ? { initContainers: initContainers.map((one) => frappeContainer(bench, one)) }
        : {}),
      containers: [frappeContainer(bench, container)],
      volumes: [
        {
          name: 'sites',
          ...(props.withoutSites
            ? { emptyDir: {} }
            : { persistentVolumeClaim: { claimName: bench.sitesVolume.claim } }),
        },
        { name: 'scratch', emptyDir: {} },
        {
          name: 'scripts',
          configMap: { name: benchNames(bench.name).config, defaultMode: 0o555 },
        },
        ...(props.extraVolumes ?? []),
      ],
    },
  };
}

const ASSETS = { name: 'scratch', subPath: 'assets' } as const;

/** Copies the assets of an old image, whose folder `sites` other containers do not see. */
function copyAssets(resources: Resources | undefined): FrappeContainerProps {
  return {
    name: 'assets',
    command: ['sh', `${SCRIPTS_DIR}/assets.sh`],
    resources,
    mounts: 'Scripts',
    extraMounts: [{ ...ASSETS, mountPath: '/assets' }],
  };
}

/** The assets are where newer images have theirs, to which `sites/assets` is a link. */
function withAssets(container: FrappeContainerProps): FrappeContainerProps {
  const { extraMounts = [] } = container;
  const mount = { ...ASSETS, mountPath: `${BENCH_DIR}/assets`, readOnly: true };
  return { ...container, extraMounts: [...extraMounts, mount] };
}

/** The pods that a template is for. */
export interface TemplatedPods {
  readonly bench: PodTemplates;
  readonly owner: Resource;
  /** Name of the object that makes the pods. */
  readonly name: string;
  /** undefined for pods that have no template of their own. */
  readonly component: PodComponent | undefined;
}

/**
 * Puts the affinity of `podTemplate`, and then the template of the component, into what makes pods, as
 * they are written: the types know the fields of one Kubernetes release only.
 * @param at where the pod's template is
 */
export function withPodTemplates(
  podMaker: ApiObject,
  pods: TemplatedPods,
  at = '/spec/template',
): void {
  const { component, bench } = pods;
  const { affinity } = bench.podTemplate;
  const template = component === undefined ? undefined : bench.componentPodTemplates[component];
  if (!affinity && !template) return;
  const before = podMaker.toJson.bind(podMaker);
  // In one order of keys, as all that is synthesized.
  const ordered = (value: unknown): unknown => JSON.parse(canonicalJson(value));
  podMaker.toJson = () => {
    const placed = affinity
      ? (JsonPatch.apply(
          before(),
          JsonPatch.add(`${at}/spec/affinity`, ordered(affinity)),
        ) as object)
      : (before() as object);
    // Pods of own queues stay as they were written before these had templates.
    if (component === undefined || (component === 'workers' && !template)) return placed;
    const pod = at.split('/').slice(1).reduce<unknown>(fieldOf, placed) as PodJson;
    const merged = withComponentTemplate(pod, component, template, selectorLabels(pods));
    return JsonPatch.apply(placed, JsonPatch.replace(at, ordered(merged))) as unknown;
  };
}

function fieldOf(value: unknown, name: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[name];
}

/**
 * Labels and annotations of every pod of a bench and of its sites: the operator's own win over the
 * template's.
 */
export function podMetadata(
  props: Pick<FrappePodProps, 'bench' | 'owner' | 'name' | 'component' | 'defaults'>,
  annotations: Readonly<Record<string, string>> = {},
): k8s.ObjectMeta {
  const { bench, owner, component, defaults } = props;
  const all = { ...defaults?.annotations, ...bench.podTemplate.annotations, ...annotations };
  return {
    labels: {
      ...defaults?.labels,
      ...bench.podTemplate.labels,
      ...childLabels(owner, component),
      ...selectorLabels(props),
      [bench.metadataKeys.bench]: bench.name,
    },
    ...(Object.keys(all).length > 0 ? { annotations: all } : {}),
  };
}

/** Where pods run and how their images are pulled, as the bench says. */
export function placement(
  bench: Pick<BenchModel, 'podTemplate' | 'image'>,
): Pick<
  k8s.PodSpec,
  'imagePullSecrets' | 'nodeSelector' | 'tolerations' | 'priorityClassName' | 'serviceAccountName'
> {
  const { nodeSelector, tolerations, priorityClassName, serviceAccountName } = bench.podTemplate;
  const { pullSecrets } = bench.image;
  return {
    ...(pullSecrets.length > 0 ? { imagePullSecrets: pullSecrets.map((name) => ({ name })) } : {}),
    ...(nodeSelector ? { nodeSelector } : {}),
    ...(tolerations ? { tolerations: tolerations.map((toleration) => ({ ...toleration })) } : {}),
    ...(priorityClassName ? { priorityClassName } : {}),
    ...(serviceAccountName ? { serviceAccountName } : {}),
  };
}

function frappeContainer(bench: BenchModel, props: FrappeContainerProps): k8s.Container {
  const { extraMounts = [], resources = FRAMEWORK_REQUESTS, env = [], command, ...others } = props;
  const { writesSites = true, mounts = 'Framework', ...rest } = others;
  return {
    ...(rest as Omit<k8s.Container, 'env' | 'command'>),
    image: bench.image.reference,
    imagePullPolicy: bench.image.pullPolicy,
    workingDir: BENCH_DIR,
    command: [...command],
    env: [...BASE_ENV, ...env, ...sourcesEnv(env)],
    resources,
    securityContext: bench.security.container,
    volumeMounts: [
      ...(mounts === 'Framework' ? frameworkMounts(writesSites) : []),
      { name: 'scripts', mountPath: SCRIPTS_DIR, readOnly: true },
      ...extraMounts,
    ],
  };
}

function frameworkMounts(writesSites: boolean): readonly k8s.VolumeMount[] {
  return [
    { name: 'sites', mountPath: SITES_DIR, ...(writesSites ? {} : { readOnly: true }) },
    // One scratch volume gives the framework each folder that it writes to.
    { name: 'scratch', mountPath: `${BENCH_DIR}/logs`, subPath: 'logs' },
    { name: 'scratch', mountPath: `${BENCH_DIR}/config`, subPath: 'config' },
    { name: 'scratch', mountPath: `${BENCH_DIR}/config/pids`, subPath: 'config/pids' },
    { name: 'scratch', mountPath: TEMP_DIR, subPath: 'tmp' },
  ];
}

/** The bench command line reads the user's name when it is loaded, and an unknown uid has none. */
const BASE_ENV: readonly k8s.EnvVar[] = [
  { name: 'USER', value: 'frappe' },
  { name: 'HOME', value: TEMP_DIR },
  { name: 'PYTHONDONTWRITEBYTECODE', value: '1' },
  { name: 'FRAPPE_STREAM_LOGGING', value: '1' },
];

/** The Service of a bench's proxy. */
export function nginxHost({ name, namespace, clusterDomain }: BenchModel): string {
  return serviceHost(benchNames(name).nginx, namespace, clusterDomain);
}

/** Where pods reach the bench's sites: their public name may not resolve here. */
export function nginxAddress(bench: BenchModel): readonly k8s.EnvVar[] {
  return [
    { name: 'NGINX_HOST', value: nginxHost(bench) },
    { name: 'NGINX_PORT', value: String(NGINX_PORT) },
  ];
}

/** An environment variable that holds a secret value. */
export function secretEnv(name: string, from: SecretKey, optional = false): k8s.EnvVar {
  return {
    name,
    valueFrom: {
      secretKeyRef: { name: from.secret, key: from.key, ...(optional ? { optional: true } : {}) },
    },
  };
}

/** Which key of which Secret each variable is of, for the messages of scripts. */
function sourcesEnv(env: readonly k8s.EnvVar[]): readonly k8s.EnvVar[] {
  const sources = env.flatMap(({ name, valueFrom }) => {
    const { name: secret, key } = valueFrom?.secretKeyRef ?? {};
    return secret === undefined || key === undefined ? [] : [[name, keyOfSecret(key, secret)]];
  });
  if (sources.length === 0) return [];
  return [{ name: 'ENV_SOURCES', value: JSON.stringify(sources) }];
}
