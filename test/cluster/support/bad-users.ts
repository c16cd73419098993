import { MINIMAL } from '../../unit/schema-manifests.js';
import type { BadInput } from './bad-benches.js';
import { API_VERSION } from './builders.js';
import type { Manifest } from './objects.js';

/** The least SiteUser, with fields changed. */
export function aSiteUser(changes: object, name = 'bad'): Manifest {
  return {
    apiVersion: API_VERSION,
    kind: 'SiteUser',
    metadata: { name },
    spec: { ...MINIMAL['SiteUser'], ...changes },
  };
}

/** What is wrong, and what kubectl says of it. */
export const BAD_USERS: readonly BadInput[] = [
  ['no site', aSiteUser({ siteRef: undefined }), `spec.siteRef: Required value`],
  [
    'a site in another namespace',
    aSiteUser({ siteRef: { name: 'shop', namespace: 'x' } }),
    `unknown field "spec.siteRef.namespace"`,
  ],
  ['no address', aSiteUser({ email: undefined }), `spec.email: Required value`],
  [
    'an address without a host',
    aSiteUser({ email: 'ada' }),
    `spec.email: Invalid value: "ada": spec.email in body should match '^[A-Za-z0-9._%+'-]+@[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?([.][A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)+$'`,
  ],
  [
    'an address in upper case',
    aSiteUser({ email: 'Ada@example.org' }),
    `spec.email: Invalid value: "string": must be in lower case: the framework stores it so`,
  ],
  [
    'an address with a space',
    aSiteUser({ email: 'a da@example.org' }),
    `spec.email: Invalid value: "a da@example.org": spec.email in body should match '^[A-Za-z0-9._%+'-]+@[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?([.][A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)+$'`,
  ],
  [
    'the address of Guest',
    aSiteUser({ email: 'guest@example.com' }),
    `spec.email: Invalid value: "string": Administrator and Guest belong to the framework: they are no user of yours`,
  ],
  ['no first name', aSiteUser({ firstName: undefined }), `spec.firstName: Required value`],
  [
    'an empty first name',
    aSiteUser({ firstName: '' }),
    'spec.firstName: Invalid value: "": spec.firstName in body should be at least 1 chars long',
  ],
  [
    'a first name of two lines',
    aSiteUser({ firstName: 'A\nB' }),
    `spec.firstName: Invalid value: "A\\nB": spec.firstName in body should match '^[^\\x00-\\x1f\\x7f]+$'`,
  ],
  [
    'roles beside a role profile',
    aSiteUser({ roles: ['Sales User'], roleProfile: 'Sales' }),
    `spec: Invalid value: "object": roleProfile replaces a user's roles: give one of them`,
  ],
  ['a role twice', aSiteUser({ roles: ['A', 'A'] }), `spec.roles[1]: Duplicate value: "A"`],
  [
    'a role with markup',
    aSiteUser({ roles: ['<b>'] }),
    `spec.roles[0]: Invalid value: "<b>": spec.roles[0] in body should match '^[^ <>\\x00-\\x1f\\x7f]([^<>\\x00-\\x1f\\x7f]*[^ <>\\x00-\\x1f\\x7f])?$'`,
  ],
  [
    'roles that are text',
    aSiteUser({ roles: 'Sales User' }),
    `spec.roles: Invalid value: "string": spec.roles in body must be of type array: "string"`,
  ],
  ['a password in the spec', aSiteUser({ password: 'secret' }), `unknown field "spec.password"`],
  [
    'a password that is text',
    aSiteUser({ passwordSecretRef: 'secret' }),
    `spec.passwordSecretRef: Invalid value: "string": spec.passwordSecretRef in body must be of type object: "string"`,
  ],
  [
    'a Secret without a name',
    aSiteUser({ passwordSecretRef: { key: 'password' } }),
    `spec.passwordSecretRef.name: Required value`,
  ],
  [
    'a key that no Secret has',
    aSiteUser({ passwordSecretRef: { name: 's', key: 'a/b' } }),
    `spec.passwordSecretRef.key: Invalid value: "a/b": spec.passwordSecretRef.key in body should match '^[-._a-zA-Z0-9]+$'`,
  ],
  [
    'an API key without a Secret',
    aSiteUser({ apiKeySecretRef: {} }),
    `spec.apiKeySecretRef.name: Required value`,
  ],
  [
    'a language that is a word',
    aSiteUser({ language: 'English' }),
    `spec.language: Invalid value: "English": spec.language in body should match '^[a-z]{2,3}([-_][A-Za-z0-9]{2,4})?$'`,
  ],
  [
    'a time zone that is an offset',
    aSiteUser({ timeZone: '+01:00' }),
    `spec.timeZone: Invalid value: "+01:00": spec.timeZone in body should match '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$'`,
  ],
  [
    'an unknown deletion policy',
    aSiteUser({ deletionPolicy: 'Disabled' }),
    `spec.deletionPolicy: Unsupported value: "Disabled": supported values: "Disable", "Delete", "Retain"`,
  ],
  [
    'an interval without a unit',
    aSiteUser({ resyncInterval: '60' }),
    `spec.resyncInterval: Invalid value: "60": spec.resyncInterval in body should match '^([0-9]+h)?([0-9]+m)?([0-9]+s)?$'`,
  ],
  [
    'whether it is enabled as text',
    aSiteUser({ enabled: 'yes' }),
    `spec.enabled: Invalid value: "string": spec.enabled in body must be of type boolean: "string"`,
  ],
  [
    'a name that is too long',
    aSiteUser({}, 'a'.repeat(55)),
    `metadata.name: Invalid value: "object": must have at most 54 characters: child objects add suffixes to it`,
  ],
];

/** Changes of a user that is there. */
export const BAD_USER_PATCHES: readonly (readonly [what: string, spec: object, message: string])[] =
  [
    [
      'another address',
      { email: 'other@example.org' },
      `spec.email: Invalid value: "string": email is immutable: it is the user's name in the site`,
    ],
    [
      'another site',
      { siteRef: { name: 'other' } },
      `spec.siteRef: Invalid value: "object": siteRef is immutable: make a new object for another site`,
    ],
    [
      'a role profile beside its roles',
      { roleProfile: 'Sales' },
      `spec: Invalid value: "object": roleProfile replaces a user's roles: give one of them`,
    ],
  ];
