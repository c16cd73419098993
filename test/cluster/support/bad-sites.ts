import type { BadInput } from './bad-benches.js';
import { aSite } from './builders.js';
import type { Manifest } from './objects.js';

const site = (spec: object): Manifest => aSite('bad', { bench: 'b', ...spec });

export const BAD_SITES: readonly BadInput[] = [
  ['no bench', site({ benchRef: undefined }), 'spec.benchRef: Required value'],
  [
    'no name of a bench',
    site({ benchRef: { name: '' } }),
    'spec.benchRef.name: Invalid value: "": spec.benchRef.name in body should be at least 1 chars long',
  ],
  [
    'a bench in another namespace',
    site({ benchRef: { name: 'b', namespace: 'default' } }),
    'unknown field "spec.benchRef.namespace"',
  ],
  ['no site name', site({ siteName: undefined }), 'spec.siteName: Required value'],
  [
    'a site name in capitals',
    site({ siteName: 'Shop.example.com' }),
    `spec.siteName: Invalid value: "Shop.example.com": spec.siteName in body should match '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$'`,
  ],
  [
    'a site name with a path',
    site({ siteName: '../../etc/passwd' }),
    `spec.siteName: Invalid value: "../../etc/passwd": spec.siteName in body should match '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$'`,
  ],
  [
    'a site name with a command',
    site({ siteName: '$(reboot).example.com' }),
    `spec.siteName: Invalid value: "$(reboot).example.com": spec.siteName in body should match '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$'`,
  ],
  [
    'a site name with a line break',
    site({ siteName: 'a.example.com\nb' }),
    `spec.siteName: Invalid value: "a.example.com\\nb": spec.siteName in body should match '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$'`,
  ],
  [
    'a site name with a NUL',
    site({ siteName: 'a\u0000b' }),
    `spec.siteName: Invalid value: "a\\x00b": spec.siteName in body should match '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$'`,
  ],
  [
    'a site name that is too long',
    site({ siteName: 'a.'.repeat(100) + 'a' }),
    'spec.siteName: Too long: may not be more than 200 bytes',
  ],
  [
    'a URL for a domain',
    site({ domain: 'https://shop.example.com/' }),
    `spec.domain: Invalid value: "https://shop.example.com/": spec.domain in body should match '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$'`,
  ],
  [
    'a wildcard for a domain',
    site({ domain: '*.example.com' }),
    `spec.domain: Invalid value: "*.example.com": spec.domain in body should match '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$'`,
  ],
  [
    'unknown workloads',
    site({ workloads: 'Own' }),
    'spec.workloads: Unsupported value: "Own": supported values: "Dedicated", "Shared"',
  ],
  [
    'an unknown policy',
    site({ deletionPolicy: 'retain' }),
    'spec.deletionPolicy: Unsupported value: "retain": supported values: "Retain", "Delete"',
  ],
  [
    'a prepared database without its name',
    site({ dbConfig: { mode: 'external', host: 'h' } }),
    'spec.dbConfig: Invalid value: "object": mode external needs host, name and secretRef',
  ],
  [
    'a database name with SQL',
    site({
      dbConfig: { mode: 'external', host: 'h', name: 'x`; drop', secretRef: { name: 's' } },
    }),
    `spec.dbConfig.name: Invalid value: "x\`; drop": spec.dbConfig.name in body should match '^[a-z_][a-z0-9_]*$'`,
  ],
  [
    'a host of a shared database',
    site({ dbConfig: { host: 'db.example.com' } }),
    'spec.dbConfig: Invalid value: "object": host, port, name and secretRef belong to mode external',
  ],
  [
    'an unknown class of Ingress',
    site({ ingress: { enabled: true, className: 'a b' } }),
    `spec.ingress.className: Invalid value: "a b": spec.ingress.className in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'`,
  ],
  [
    'an unknown kind of issuer',
    site({ ingress: { tls: { issuerKind: 'issuer' } } }),
    'spec.ingress.tls.issuerKind: Unsupported value: "issuer": supported values: "ClusterIssuer", "Issuer"',
  ],
  [
    'text for a reference',
    site({ adminPasswordSecretRef: 'admin' }),
    'spec.adminPasswordSecretRef: Invalid value: "string": spec.adminPasswordSecretRef in body must be of type object: "string"',
  ],
  [
    'a reference with a slash',
    site({ adminPasswordSecretRef: { name: 'ns/admin' } }),
    `spec.adminPasswordSecretRef.name: Invalid value: "ns/admin": spec.adminPasswordSecretRef.name in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'`,
  ],
  ['null for the spec', { ...site({}), spec: null }, 'spec: Required value'],
  [
    'a backup from nowhere',
    site({ restoreFrom: {} }),
    'spec.restoreFrom: Invalid value: "object": restoreFrom needs one of backupRef and source',
  ],
  [
    'a backup from two places',
    site({ restoreFrom: { backupRef: { name: 'n' }, source: { pvc: { claimName: 'c' } } } }),
    'spec.restoreFrom: Invalid value: "object": restoreFrom needs one of backupRef and source',
  ],
  [
    'a store that is neither a volume nor S3',
    site({ restoreFrom: { source: {} } }),
    'spec.restoreFrom.source: Invalid value: "object": destination needs one of pvc and s3',
  ],
  [
    'a backup of another namespace',
    site({ restoreFrom: { backupRef: { name: 'n', namespace: 'other' } } }),
    'unknown field "spec.restoreFrom.backupRef.namespace"',
  ],
  [
    'a date for a backup',
    site({ restoreFrom: { backupRef: { name: 'n' }, name: '2025-01-31' } }),
    `spec.restoreFrom.name: Invalid value: "2025-01-31": spec.restoreFrom.name in body should match '^[0-9]{8}T[0-9]{6}Z$'`,
  ],
  [
    'a path for a backup',
    site({ restoreFrom: { backupRef: { name: 'n' }, name: '../20250131T1200' } }),
    `spec.restoreFrom.name: Invalid value: "../20250131T1200": spec.restoreFrom.name in body should match '^[0-9]{8}T[0-9]{6}Z$'`,
  ],
  [
    'true for a confirmation',
    site({ restoreFrom: { backupRef: { name: 'n' }, confirm: true } }),
    'spec.restoreFrom.confirm: Invalid value: "boolean": spec.restoreFrom.confirm in body must be of type string: "boolean"',
  ],
  [
    'a command for a confirmation',
    site({ restoreFrom: { backupRef: { name: 'n' }, confirm: 'shop.example.com; reboot' } }),
    `spec.restoreFrom.confirm: Invalid value: "shop.example.com; reboot": spec.restoreFrom.confirm in body should match '^[a-z0-9][A-Za-z0-9._,: -]*$'`,
  ],
  [
    'a folder outside of the store',
    site({ restoreFrom: { source: { pvc: { claimName: 'c', prefix: '../x' } } } }),
    `spec.restoreFrom.source.pvc.prefix: Invalid value: "../x": spec.restoreFrom.source.pvc.prefix in body should match '^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$'`,
  ],
];

/** A merge patch of something that is there, and what kubectl answers. */
export type BadPatch = readonly [what: string, kind: string, spec: object, message: string];

export const BAD_PATCHES: readonly BadPatch[] = [
  [
    'another bench',
    'appsite',
    { benchRef: { name: 'other' } },
    `spec: Invalid value: "object": benchRef.name is immutable: the site's files live on the volume of its bench`,
  ],
  [
    'another site name',
    'appsite',
    { siteName: 'other.example.com' },
    `spec: Invalid value: "object": siteName is immutable: it names the site's folder and is what requests are routed by`,
  ],
  [
    'another place of its data',
    'appsite',
    { dbConfig: { mode: 'dedicated' } },
    'spec.dbConfig: Invalid value: "object": mode is immutable: the data would stay behind',
  ],
  [
    'another kind of database',
    'appbench',
    { dbConfig: { provider: 'postgres' } },
    `spec.dbConfig: Invalid value: "object": provider is immutable: the sites' databases would stay behind`,
  ],
  [
    'another access mode',
    'appbench',
    { storage: { accessMode: 'ReadWriteOnce' } },
    'spec: Invalid value: "object": storage.accessMode is immutable: a volume keeps the access mode it was made with',
  ],
  [
    'another user',
    'appbench',
    { security: { podSecurityContext: { runAsUser: 1002 } } },
    'spec: Invalid value: "object": runAsUser is immutable: the files on the volumes belong to the user that made them',
  ],
  [
    'apps in both spellings',
    'appbench',
    { apps: [{ name: 'a' }] },
    'spec: Invalid value: "object": apps and appsJSON are two spellings of one list: give one of them',
  ],
  ['no version', 'appbench', { frameworkVersion: null }, 'spec.frameworkVersion: Required value'],
];
