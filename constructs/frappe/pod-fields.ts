import type { NamingField, PodFields, ShapingField } from '../kit/pod-fields.js';

const TEMPLATES = 'componentPodTemplates';
const POD = `${TEMPLATES}{}.spec`;
const LISTS = [`${POD}.containers`, `${POD}.initContainers`];
const CONTAINERS = LISTS.map((list) => `${list}[]`);

/** What shapes the pods of a bench or a site. */
export const POD_TEMPLATES: readonly ShapingField[] = [
  { path: 'podTemplate' },
  { path: `${TEMPLATES}{}` },
];

/** What is limited of the pods of a bench or a site: accounts, further images, and security. */
export const LIMITED_FIELDS = {
  serviceAccounts: ['podTemplate.serviceAccountName', `${POD}.serviceAccountName`],
  templateImages: CONTAINERS.map((container) => `${container}.image`),
  podSecurity: {
    containers: LISTS,
    annotations: ['podTemplate.annotations', `${TEMPLATES}{}.metadata.annotations`],
  },
} as const satisfies PodFields;

/** What pod templates of components name. */
export const TEMPLATE_NAMES: readonly NamingField[] = [
  { path: `${POD}.volumes[].secret.secretName`, kind: 'Secret' },
  { path: `${POD}.volumes[].configMap.name`, kind: 'ConfigMap' },
  { path: `${POD}.volumes[].persistentVolumeClaim.claimName`, kind: 'PersistentVolumeClaim' },
  ...CONTAINERS.flatMap((container): NamingField[] => [
    { path: `${container}.env[].valueFrom.secretKeyRef.name`, kind: 'Secret' },
    { path: `${container}.env[].valueFrom.configMapKeyRef.name`, kind: 'ConfigMap' },
    { path: `${container}.envFrom[].secretRef.name`, kind: 'Secret' },
    { path: `${container}.envFrom[].configMapRef.name`, kind: 'ConfigMap' },
  ]),
];

/** What `siteConfig` names. */
export const CONFIGURATION_NAMES: readonly NamingField[] = [
  { path: 'siteConfig[].valueFrom.secretKeyRef.name', kind: 'Secret' },
  { path: 'siteConfig[].valueFrom.configMapKeyRef.name', kind: 'ConfigMap' },
];

/** What the encryption of the connections to a database server names. */
export const TLS_NAMES: readonly NamingField[] = [
  'caSecretRef',
  'clientCertificateSecretRef',
  'serverCertificateSecretRef',
].map((field) => ({ path: `dbConfig.tls.${field}.name`, kind: 'Secret' }));

/** What a place of backups names. */
export function storeNames(path: string): readonly NamingField[] {
  return [
    { path: `${path}.pvc.claimName`, kind: 'PersistentVolumeClaim' },
    { path: `${path}.s3.secretRef.name`, kind: 'Secret', sentBy: [`${path}.s3.endpoint`] },
    { path: `${path}.s3.caSecretRef.name`, kind: 'Secret' },
  ];
}
