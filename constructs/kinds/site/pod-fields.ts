import { DATABASE_IMAGES } from '../../frappe/default-images.js';
import {
  CONFIGURATION_NAMES,
  LIMITED_FIELDS,
  POD_TEMPLATES,
  storeNames,
  TEMPLATE_NAMES,
  TLS_NAMES,
} from '../../frappe/pod-fields.js';
import type { NamingField, PodFields } from '../../kit/pod-fields.js';

const DEFAULT_IMAGES = Object.values(DATABASE_IMAGES)
  .map((image) => `'${image}'`)
  .join(', ');

const LINKS = ['database', 'publicFiles', 'privateFiles', 'siteConfig'].map(
  (file) => `restoreFrom.archive.https.${file}`,
);
/** What an archive names besides its store. */
const ARCHIVE_NAMES: readonly NamingField[] = [
  { path: 'restoreFrom.archive.encryptionKeySecretRef.name', kind: 'Secret' },
  ...LINKS.map((link): NamingField => ({ path: `${link}.secretKeyRef.name`, kind: 'Secret' })),
  {
    path: 'restoreFrom.archive.https.authorizationSecretRef.name',
    kind: 'Secret',
    sentBy: LINKS.flatMap((link) => [`${link}.url`, `${link}.secretKeyRef`]),
  },
  { path: 'restoreFrom.archive.https.caSecretRef.name', kind: 'Secret' },
];

/** By which fields the author of a site decides about pods. The Secret of an Ingress reaches no pod. */
export const sitePodFields: PodFields = {
  shapes: POD_TEMPLATES,
  names: [
    { path: 'adminPasswordSecretRef.name', kind: 'Secret' },
    { path: 'dbConfig.storage.existingClaim', kind: 'PersistentVolumeClaim' },
    {
      path: 'dbConfig.secretRef.name',
      kind: 'Secret',
      sentBy: ['dbConfig.host', 'dbConfig.port'],
    },
    ...TLS_NAMES,
    ...CONFIGURATION_NAMES,
    { path: 'sso[].clientID.secretKeyRef.name', kind: 'Secret' },
    { path: 'sso[].clientSecret.secretKeyRef.name', kind: 'Secret' },
    ...storeNames('restoreFrom.source'),
    ...storeNames('restoreFrom.archive'),
    ...ARCHIVE_NAMES,
    ...TEMPLATE_NAMES,
  ],
  images: [
    {
      path: 'dbConfig.image',
      // Which server a bench has is not known here: without an image, both need to be allowed.
      references: (spec) =>
        `${spec}.?dbConfig.?mode.orValue('') != 'dedicated' ? [] : ${spec}.dbConfig.?image.hasValue() ? [${spec}.dbConfig.image] : [${DEFAULT_IMAGES}]`,
    },
  ],
  ...LIMITED_FIELDS,
  ingressAnnotations: { path: 'ingress.annotations', enabled: 'ingress.enabled' },
};
