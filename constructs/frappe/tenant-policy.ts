import type { AppBench } from '../bench/api.js';
import type { PodTemplate, Security } from '../kit/api.js';
import { Stalled, type Problem } from '../kit/errors.js';
import type { Settings } from '../kit/settings.js';
import {
  allowsImage,
  allowsServiceAccount,
  policyOf,
  type TenantPolicy,
} from '../kit/tenant-policy.js';
import { DATABASE_IMAGES, REDIS_IMAGE } from './default-images.js';
import { frappeImage } from './image.js';
import type { RawTemplates } from './pod-template.js';
import type { TemplatePod, TemplateSecurity } from './pod-template-types.js';
import { components } from './pod-template-rules.js';

/** The most fields that a message names: a condition has a longest message. */
const MOST = 16;

/**
 * @throws Stalled with each field of a spec that the administrator's policy does not allow. What was
 * made before stays as it is.
 */
export function refuseDenied(problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  const shown = problems.slice(0, MOST).map(({ path, message }) => `${path}: ${message}`);
  const more = problems.length > MOST ? `; ${problems.length - MOST} more` : '';
  throw new Stalled('PolicyViolation', shown.join('; ') + more);
}

/**
 * As `refuseDenied`, where another resource than the reconciled one is denied: its own status names the
 * fields.
 * @throws Stalled
 */
export function refuseDeniedOther(
  other: { readonly kind: string; readonly name: string },
  problems: readonly Problem[],
): void {
  if (problems.length === 0) return;
  const what = `${other.kind} "${other.name}" does not meet the policy of the cluster's administrator`;
  throw new Stalled('PolicyViolation', `${what}; see its condition Ready`);
}

/** What the policy does not allow of a bench. */
export function deniedOfBench(
  { metadata, spec }: AppBench,
  settings: Settings,
): readonly Problem[] {
  const policy = policyOf(settings);
  return [
    ...deniedOfTemplate(spec.podTemplate, metadata.namespace ?? 'default', settings),
    ...deniedOfTemplates(spec.componentPodTemplates, metadata.namespace ?? 'default', settings),
    ...deniedSecurity(spec.security, policy),
    ...benchImages(spec).flatMap(({ path, image }) => deniedImage(path, image, policy)),
  ];
}

/** The images of a bench's pods, those by default included, and the fields that decide about them. */
function benchImages(
  spec: AppBench['spec'],
): readonly { readonly path: string; readonly image: string }[] {
  const { dbConfig, redisConfig } = spec;
  return [
    { path: 'spec.image.repository', image: frappeImage(spec).reference },
    ...(redisConfig?.external
      ? []
      : [{ path: 'spec.redisConfig.image', image: redisConfig?.image ?? REDIS_IMAGE }]),
    ...(dbConfig.mode === 'managed'
      ? [
          {
            path: 'spec.dbConfig.image',
            image: dbConfig.image ?? DATABASE_IMAGES[dbConfig.provider],
          },
        ]
      : []),
  ];
}

/** The problem of an image that begins with none of the allowed prefixes. */
export function deniedImage(path: string, image: string, policy: TenantPolicy): readonly Problem[] {
  if (allowsImage(policy, image)) return [];
  const allowed = policy.allowedImagePrefixes.join(', ');
  return [
    {
      path,
      message: `Unsupported value: "${image}": the allowed prefixes of images are: ${allowed}; ${others('allowed-image-prefixes')}`,
    },
  ];
}

/** What the policy does not allow of a pod template. */
export function deniedOfTemplate(
  template: PodTemplate | undefined,
  namespace: string,
  settings: Settings,
): readonly Problem[] {
  const policy = policyOf(settings);
  return [
    ...deniedServiceAccount(
      { path: 'spec.podTemplate.serviceAccountName', name: template?.serviceAccountName },
      namespace,
      policy,
    ),
    ...deniedProfiles('spec.podTemplate.annotations', template?.annotations, policy),
  ];
}

/** What the policy does not allow of the pod templates of components. */
export function deniedOfTemplates(
  templates: RawTemplates | undefined,
  namespace: string,
  settings: Settings,
): readonly Problem[] {
  const policy = policyOf(settings);
  return components(templates).flatMap(([component, { metadata, spec = {} }]) => {
    const path = `spec.componentPodTemplates.${component}`;
    const { serviceAccountName: name } = spec;
    return [
      ...deniedServiceAccount({ path: `${path}.spec.serviceAccountName`, name }, namespace, policy),
      ...deniedProfiles(`${path}.metadata.annotations`, metadata?.annotations, policy),
      ...deniedContainers(spec, `${path}.spec`, policy),
    ];
  });
}

function deniedContainers(
  spec: TemplatePod,
  path: string,
  policy: TenantPolicy,
): readonly Problem[] {
  return (['containers', 'initContainers'] as const).flatMap((field) =>
    (spec[field] ?? []).flatMap(({ image, securityContext }, i) => [
      ...(image === undefined ? [] : deniedImage(`${path}.${field}[${i}].image`, image, policy)),
      ...deniedContext(`${path}.${field}[${i}].securityContext`, securityContext, policy),
    ]),
  );
}

function deniedServiceAccount(
  { path, name }: { readonly path: string; readonly name: string | undefined },
  namespace: string,
  policy: TenantPolicy,
): readonly Problem[] {
  if (name === undefined || allowsServiceAccount(policy, namespace, name)) return [];
  const allowed = ['default', ...policy.allowedServiceAccounts].join(', ');
  return [
    {
      path,
      message: `Unsupported value: "${name}": the allowed service accounts in namespace ${namespace} are: ${allowed}; ${others('allowed-service-accounts')}`,
    },
  ];
}

const APPARMOR = 'container.apparmor.security.beta.kubernetes.io/';
const SECCOMP = /^(container[.])?seccomp[.]security[.]alpha[.]kubernetes[.]io\//;

function deniedProfiles(
  path: string,
  annotations: Readonly<Record<string, string>> | undefined,
  policy: TenantPolicy,
): readonly Problem[] {
  return Object.entries(annotations ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, value]) =>
      deniedProfile(key, value, policy).map((message) => ({ path: `${path}[${key}]`, message })),
    );
}

/** An annotation of a pod that turns off a security profile, which Pod Security `baseline` refuses. */
function deniedProfile(key: string, value: string, policy: TenantPolicy): readonly string[] {
  if (policy.podSecurityLevel === 'privileged') return [];
  if (!key.startsWith(APPARMOR) && !SECCOMP.test(key)) return [];
  if (/^((runtime|docker)\/default|localhost\/.+)$/.test(value)) return [];
  return [
    `Unsupported value: "${value}": Pod Security allows: runtime/default, localhost/*; ${others('pod-security-level', 'privileged')}`,
  ];
}

/** Fields of `security` beyond Pod Security `restricted`. The schema refuses the user 0. */
function deniedSecurity(security: Security | undefined, policy: TenantPolicy): readonly Problem[] {
  return deniedContext('spec.security.securityContext', security?.securityContext, policy);
}

/** The capabilities that Pod Security `baseline` lets a container add. */
const BASELINE = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD'],
  ...['NET_BIND_SERVICE', 'SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
];

/** What a container may not have below a level of Pod Security. */
function deniedContext(
  path: string,
  context: Pick<TemplateSecurity, 'allowPrivilegeEscalation' | 'capabilities'> | undefined,
  { podSecurityLevel }: TenantPolicy,
): readonly Problem[] {
  if (!context) return [];
  return [
    ...deniedAdditions(`${path}.capabilities.add`, context.capabilities?.add, podSecurityLevel),
    ...(podSecurityLevel === 'restricted' ? beyondRestricted(path, context) : []),
  ];
}

function deniedAdditions(
  path: string,
  added: readonly string[] | undefined,
  level: TenantPolicy['podSecurityLevel'],
): readonly Problem[] {
  const allowed = level === 'restricted' ? ['NET_BIND_SERVICE'] : BASELINE;
  if (level === 'privileged' || (added ?? []).every((name) => allowed.includes(name))) return [];
  const next = level === 'restricted' ? 'baseline' : 'privileged';
  const message = `Unsupported value: ${JSON.stringify(added)}: Pod Security ${level} allows: ${allowed.join(', ')}; ${others('pod-security-level', next)}`;
  return [{ path, message }];
}

function beyondRestricted(
  path: string,
  {
    allowPrivilegeEscalation,
    capabilities,
  }: Pick<TemplateSecurity, 'allowPrivilegeEscalation' | 'capabilities'>,
): readonly Problem[] {
  const allowed = others('pod-security-level', 'baseline');
  return [
    ...(allowPrivilegeEscalation === true
      ? [
          {
            path: `${path}.allowPrivilegeEscalation`,
            message: `Unsupported value: true: Pod Security restricted allows: false; ${allowed}`,
          },
        ]
      : []),
    ...(capabilities?.drop && !capabilities.drop.includes('ALL')
      ? [
          {
            path: `${path}.capabilities.drop`,
            message: `Unsupported value: ${JSON.stringify(capabilities.drop)}: Pod Security restricted allows: a list with ALL; ${allowed}`,
          },
        ]
      : []),
  ];
}

/** Who can allow other values, and how. */
export function others(flag: string, value = ''): string {
  return `the administrator of the cluster allows others by --${flag}${value && `=${value}`}`;
}
