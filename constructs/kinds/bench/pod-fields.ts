import { DATABASE_IMAGES, REDIS_IMAGE } from '../../frappe/default-images.js';
import { REPOSITORY } from '../../frappe/image.js';
import {
  CONFIGURATION_NAMES,
  LIMITED_FIELDS,
  POD_TEMPLATES,
  TEMPLATE_NAMES,
  TLS_NAMES,
} from '../../frappe/pod-fields.js';
import type { PodFields } from '../../kit/pod-fields.js';

const CONTAINER = 'security.securityContext';

/** By which fields the author of a bench decides about pods. */
export const benchPodFields: PodFields = {
  shapes: [
    ...POD_TEMPLATES,
    // What Pod Security `restricted` lets each pod have is free.
    { path: `${CONTAINER}.allowPrivilegeEscalation`, when: (value) => `${value} == true` },
    { path: `${CONTAINER}.capabilities.drop`, when: (value) => `!('ALL' in ${value})` },
  ],
  names: [
    { path: 'image.pullSecrets[].name', kind: 'Secret' },
    { path: 'storage.existingClaim', kind: 'PersistentVolumeClaim' },
    { path: 'redisConfig.storage.existingClaim', kind: 'PersistentVolumeClaim' },
    { path: 'redisConfig.external.urlsSecretRef.name', kind: 'Secret' },
    { path: 'redisConfig.external.caSecretRef.name', kind: 'Secret' },
    { path: 'dbConfig.storage.existingClaim', kind: 'PersistentVolumeClaim' },
    {
      path: 'dbConfig.rootSecretRef.name',
      kind: 'Secret',
      sentBy: ['dbConfig.host', 'dbConfig.port'],
    },
    ...TLS_NAMES,
    ...CONFIGURATION_NAMES,
    ...TEMPLATE_NAMES,
  ],
  ...LIMITED_FIELDS,
  podSecurity: { ...LIMITED_FIELDS.podSecurity, context: CONTAINER },
  images: [
    { path: 'image', references: (spec) => `[${frappeImage(spec)}]` },
    {
      path: 'redisConfig.image',
      references: (spec) =>
        `${spec}.?redisConfig.?external.hasValue() ? [] : [${spec}.?redisConfig.?image.orValue('${REDIS_IMAGE}')]`,
    },
    {
      path: 'dbConfig.image',
      references: (spec) =>
        `${spec}.?dbConfig.?mode.orValue('') != 'managed' ? [] : [${spec}.dbConfig.?image.orValue(${spec}.dbConfig.?provider.orValue('') == 'postgres' ? '${DATABASE_IMAGES.postgres}' : '${DATABASE_IMAGES.mariadb}')]`,
    },
  ],
};

/** As `frappeImage` of `frappe/image.ts`. */
function frappeImage(spec: string): string {
  const image = `${spec}.?image`;
  const digest = `${image}.?digest`;
  return [
    `${image}.?repository.orValue('${REPOSITORY}')`,
    `':' + ${image}.?tag.orValue(${spec}.?frameworkVersion.orValue(''))`,
    `(${digest}.hasValue() ? '@' + ${digest}.value() : '')`,
  ].join(' + ');
}
