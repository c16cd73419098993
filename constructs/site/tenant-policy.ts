import { DATABASE_IMAGES } from '../frappe/default-images.js';
import {
  deniedImage,
  deniedOfTemplate,
  deniedOfTemplates,
  others,
} from '../frappe/tenant-policy.js';
import type { Problem } from '../kit/errors.js';
import type { Settings } from '../kit/settings.js';
import {
  annotationPatterns,
  matchesPattern,
  policyOf,
  type TenantPolicy,
} from '../kit/tenant-policy.js';
import type { AppSite, SiteIngress } from './api.js';
import type { SiteDatabasePlan } from './database.js';

/** What the administrator's policy does not allow of a site. */
export function deniedOfSite({ metadata, spec }: AppSite, settings: Settings): readonly Problem[] {
  const policy = policyOf(settings);
  return [
    ...deniedOfTemplate(spec.podTemplate, metadata.namespace ?? 'default', settings),
    ...deniedOfTemplates(spec.componentPodTemplates, metadata.namespace ?? 'default', settings),
    ...deniedAnnotations(spec.ingress, policy),
    ...(spec.dbConfig.image === undefined
      ? []
      : deniedImage('spec.dbConfig.image', spec.dbConfig.image, policy)),
  ];
}

/** What the policy does not allow of a site's own database server, by the server of its bench. */
export function deniedOfDatabase(
  { spec }: AppSite,
  { mode, server }: SiteDatabasePlan,
  settings: Settings,
): readonly Problem[] {
  if (mode !== 'dedicated' || spec.dbConfig.image !== undefined) return [];
  return deniedImage('spec.dbConfig.image', DATABASE_IMAGES[server.provider], policyOf(settings));
}

/** Annotations of a site without an Ingress have no effect. */
function deniedAnnotations(
  ingress: SiteIngress | undefined,
  policy: TenantPolicy,
): readonly Problem[] {
  if (!ingress?.enabled) return [];
  const patterns = annotationPatterns(policy);
  return Object.keys(ingress.annotations ?? {})
    .sort()
    .filter((key) => !patterns.some((pattern) => matchesPattern(pattern, key)))
    .map((key) => ({
      path: `spec.ingress.annotations[${key}]`,
      message: `Unsupported value: "${key}": ${allowedLike(key, patterns)}; ${others('allowed-ingress-annotations')}`,
    }));
}

/** The allowed annotations with the prefix of a key. */
function allowedLike(key: string, patterns: readonly string[]): string {
  const prefix = key.slice(0, key.indexOf('/') + 1);
  const names = patterns
    .filter((pattern) => prefix !== '' && pattern.startsWith(prefix))
    .map((pattern) => pattern.slice(prefix.length));
  if (names.length === 0) return 'no annotation with this prefix is allowed';
  return `the allowed annotations with this prefix are: ${names.join(', ')}`;
}
