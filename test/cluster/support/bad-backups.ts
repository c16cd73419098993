import { MINIMAL } from '../../unit/schema-manifests.js';
import type { BadInput } from './bad-benches.js';
import { API_VERSION } from './builders.js';
import type { Manifest } from './objects.js';

/** The least SiteBackup, with fields changed. */
export function aBackup(changes: object, name = 'bad'): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'SiteBackup',
    metadata: { name },
    spec: { ...MINIMAL['SiteBackup'], ...changes },
  };
}

/** What is wrong, and what kubectl says of it. */
export const BAD_BACKUPS: readonly BadInput[] = [
  ['no site', aBackup({ siteRef: undefined }), 'spec.siteRef: Required value'],
  [
    'a site in another namespace',
    aBackup({ siteRef: { name: 'shop', namespace: 'default' } }),
    'unknown field "spec.siteRef.namespace"',
  ],
  ['no destination', aBackup({ destination: undefined }), 'spec.destination: Required value'],
  [
    'an empty destination',
    aBackup({ destination: {} }),
    'spec.destination: Invalid value: "object": destination needs one of pvc and s3',
  ],
  [
    'two destinations',
    aBackup({
      destination: {
        pvc: { claimName: 'a' },
        s3: { endpoint: 'https://s3.example.com', bucket: 'backups', secretRef: { name: 's' } },
      },
    }),
    'spec.destination: Invalid value: "object": destination needs one of pvc and s3',
  ],
  [
    'a prefix that leads out of the volume',
    aBackup({ destination: { pvc: { claimName: 'a', prefix: '../other' } } }),
    'spec.destination.pvc.prefix: Invalid value: "../other": spec.destination.pvc.prefix in body should match \'^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$\'',
  ],
  [
    'an absolute prefix',
    aBackup({ destination: { pvc: { claimName: 'a', prefix: '/backups' } } }),
    'spec.destination.pvc.prefix: Invalid value: "/backups": spec.destination.pvc.prefix in body should match \'^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$\'',
  ],
  [
    'a store without a Secret',
    aBackup({ destination: { s3: { endpoint: 'https://s3.example.com', bucket: 'backups' } } }),
    'spec.destination.s3.secretRef: Required value',
  ],
  [
    'keys in the spec',
    aBackup({
      destination: {
        s3: {
          endpoint: 'https://s3.example.com',
          bucket: 'backups',
          secretRef: { name: 's' },
          secretAccessKey: 'x',
        },
      },
    }),
    'unknown field "spec.destination.s3.secretAccessKey"',
  ],
  [
    'an endpoint with a password',
    aBackup({
      destination: {
        s3: {
          endpoint: 'https://key:pw@s3.example.com',
          bucket: 'backups',
          secretRef: { name: 's' },
        },
      },
    }),
    'spec.destination.s3.endpoint: Invalid value: "https://key:pw@s3.example.com": spec.destination.s3.endpoint in body should match \'^https?://[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?/?$\'',
  ],
  [
    'an endpoint that is no URL',
    aBackup({
      destination: {
        s3: { endpoint: 's3.example.com', bucket: 'backups', secretRef: { name: 's' } },
      },
    }),
    'spec.destination.s3.endpoint: Invalid value: "s3.example.com": spec.destination.s3.endpoint in body should match \'^https?://[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?/?$\'',
  ],
  [
    'a bucket in capitals',
    aBackup({
      destination: {
        s3: { endpoint: 'https://s3.example.com', bucket: 'Backups', secretRef: { name: 's' } },
      },
    }),
    'spec.destination.s3.bucket: Invalid value: "Backups": spec.destination.s3.bucket in body should match \'^[a-z0-9][a-z0-9.-]*[a-z0-9]$\'',
  ],
  [
    'a schedule of four fields',
    aBackup({ schedule: '0 2 * *' }),
    'spec.schedule: Invalid value: "0 2 * *": spec.schedule in body should match \'^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9A-Za-z*?,/-]+( +[0-9A-Za-z*?,/-]+){4})$\'',
  ],
  [
    'a schedule with a command',
    aBackup({ schedule: '0 2 * * * rm -rf /' }),
    'spec.schedule: Invalid value: "0 2 * * * rm -rf /": spec.schedule in body should match \'^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9A-Za-z*?,/-]+( +[0-9A-Za-z*?,/-]+){4})$\'',
  ],
  [
    'a time zone without a schedule',
    aBackup({ timeZone: 'Europe/Berlin' }),
    'spec: Invalid value: "object": timeZone, retention and suspend belong to a schedule',
  ],
  [
    'retention without a schedule',
    aBackup({ retention: { keepLast: 3 } }),
    'spec: Invalid value: "object": timeZone, retention and suspend belong to a schedule',
  ],
  [
    'retention of nothing',
    aBackup({ schedule: '@daily', retention: {} }),
    'spec.retention: Invalid value: "object": retention needs keepLast or keepDays',
  ],
  [
    'retention of no backup',
    aBackup({ schedule: '@daily', retention: { keepLast: 0 } }),
    'spec.retention.keepLast: Invalid value: 0: spec.retention.keepLast in body should be greater than or equal to 1',
  ],
  [
    'include and exclude',
    aBackup({ include: ['ToDo'], exclude: ['Note'] }),
    'spec: Invalid value: "object": include and exclude cannot be given together',
  ],
  [
    'an empty list of document types',
    aBackup({ include: [] }),
    'spec.include: Invalid value: 0: spec.include in body should have at least 1 items',
  ],
  [
    'two document types in one',
    aBackup({ include: ['ToDo,Note'] }),
    'spec.include[0]: Invalid value: "ToDo,Note": spec.include[0] in body should match \'^[A-Za-z][A-Za-z0-9_ -]*[A-Za-z0-9_-]$\'',
  ],
  [
    'a document type that is an option',
    aBackup({ exclude: ['--all'] }),
    'spec.exclude[0]: Invalid value: "--all": spec.exclude[0] in body should match \'^[A-Za-z][A-Za-z0-9_ -]*[A-Za-z0-9_-]$\'',
  ],
  [
    'a document type twice',
    aBackup({ exclude: ['ToDo', 'ToDo'] }),
    'spec.exclude[1]: Duplicate value: "ToDo"',
  ],
  [
    'a timeout without a unit',
    aBackup({ timeout: '60' }),
    'spec.timeout: Invalid value: "60": spec.timeout in body should match \'^([0-9]+h)?([0-9]+m)?([0-9]+s)?$\'',
  ],
  [
    'a timeout of nothing',
    aBackup({ timeout: '0s' }),
    'spec.timeout: Invalid value: "string": must be longer than zero',
  ],
  [
    'a negative number of tries',
    aBackup({ backoffLimit: -1 }),
    'spec.backoffLimit: Invalid value: -1: spec.backoffLimit in body should be greater than or equal to 0',
  ],
  [
    'an unknown deletion policy',
    aBackup({ deletionPolicy: 'Keep' }),
    'spec.deletionPolicy: Unsupported value: "Keep": supported values: "Retain", "Delete"',
  ],
  [
    'files that are neither yes nor no',
    aBackup({ withFiles: 'yes' }),
    'spec.withFiles: Invalid value: "string": spec.withFiles in body must be of type boolean: "string"',
  ],
];

/** A change that is refused: of which object, and what kubectl says of it. */
export const BAD_BACKUP_PATCHES: readonly (readonly [
  what: string,
  name: string,
  spec: object,
  message: string,
])[] = [
  [
    'another site',
    'good',
    { siteRef: { name: 'other' } },
    'spec.siteRef: Invalid value: "object": siteRef is immutable: make a new object for another site',
  ],
  [
    'a schedule for a single backup',
    'good',
    { schedule: '@daily' },
    'spec: Invalid value: "object": schedule cannot be added or removed: a single backup stays one, and a schedule is stopped with suspend',
  ],
  [
    'no schedule any more',
    'daily',
    { schedule: null },
    'spec: Invalid value: "object": schedule cannot be added or removed: a single backup stays one, and a schedule is stopped with suspend',
  ],
];
