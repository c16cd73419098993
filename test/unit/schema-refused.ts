import { aBench, aManifest, aSite, type Manifest } from './schema-manifests.js';

/** A manifest that admission refuses, why, and the paths that are complained about. */
export type Refused = readonly [reason: string, manifest: Manifest, ...paths: string[]];

const many = (n: number): { name: string }[] =>
  Array.from({ length: n }, (_, i) => ({ name: `a${i}` }));
const LIMITS = 'spec.componentResources.gunicorn.limits';
const limits = (list: object): Manifest =>
  aBench({ componentResources: { gunicorn: { limits: list } } });
const scaling = (short: object): Manifest => aBench({ workerAutoscaling: { short } });
const db = (dbConfig: object): Manifest => aBench({ dbConfig });
const TEMPLATE = 'spec.componentPodTemplates.gunicorn';
/** A pod template of gunicorn; what the schema of the CRD leaves open is refused by the operator. */
const podOf = (spec: unknown): Manifest =>
  aBench({ componentPodTemplates: { gunicorn: { spec } } });
const gunicornWith = (fields: object): Manifest =>
  podOf({ containers: [{ name: 'gunicorn', ...fields }] });
const EXTERNAL = { mode: 'external', host: 'db', rootSecretRef: { name: 's' } };
const tls = (settings: object): Manifest => db({ ...EXTERNAL, tls: settings });
const siteDb = (dbConfig: object): Manifest => aSite({ dbConfig });

const VOLUME = { pvc: { claimName: 'uploads' } };
const link = (url: unknown): object => ({ https: { database: { url } } });

/** Archives that a site refuses. */
const ARCHIVES: readonly (readonly [reason: string, archive: unknown, path: string])[] = [
  ['an archive from nowhere', {}, ''],
  ['an archive from two places', { ...VOLUME, ...link('https://x/y') }, ''],
  ['a path for an archive', 'backups/old', ''],
  ['paths beside links', { ...link('https://x/y'), files: { database: 'a.sql' } }, ''],
  ['files without a database', { ...VOLUME, files: { siteConfig: 'c.json' } }, '.files.database'],
  ['a path out of the folder', { ...VOLUME, files: { database: 'a/../../b' } }, '.files.database'],
  ['an absolute path', { ...VOLUME, files: { database: '/etc/passwd' } }, '.files.database'],
  ['a path with a line break', { ...VOLUME, files: { database: 'a\nb' } }, '.files.database'],
  ['a folder out of the volume', { pvc: { claimName: 'uploads', prefix: '../x' } }, '.pvc.prefix'],
  ['a volume without a claim', { pvc: { prefix: 'x' } }, '.pvc.claimName'],
  ['a store without a login', { s3: { endpoint: 'https://s3', bucket: 'abc' } }, '.s3.secretRef'],
  ['links without a database', { https: { siteConfig: { url: 'https://x/y' } } }, '.https.database'],
  ['a link that is no object', { https: { database: 'https://x/y' } }, '.https.database'],
  ['a link without encryption', link('http://x/y'), '.https.database.url'],
  ['a link with a login', link('https://user:password@x/y'), '.https.database.url'],
  ['a signed link in the spec', link('https://x/y?X-Amz-Signature=z'), '.https.database.url'],
  ['a link to nothing', { https: { database: {} } }, '.https.database'],
  [
    'a link twice',
    { https: { database: { url: 'https://x/y', secretKeyRef: { name: 's', key: 'k' } } } },
    '.https.database',
  ],
  ['a key without its name', { ...VOLUME, encryptionKeySecretRef: { name: 's' } }, '.encryptionKeySecretRef.key'],
  ['the old database’s password', { ...VOLUME, siteConfigKeys: ['db_password'] }, '.siteConfigKeys[0]'],
  ['the old host name', { ...VOLUME, siteConfigKeys: ['host_name'] }, '.siteConfigKeys[0]'],
  ['the encryption key as a further key', { ...VOLUME, siteConfigKeys: ['encryption_key'] }, '.siteConfigKeys[0]'],
  ['the key of the backup', { ...VOLUME, siteConfigKeys: ['backup_encryption_key'] }, '.siteConfigKeys[0]'],
  ['a key with a space', { ...VOLUME, siteConfigKeys: ['mail server'] }, '.siteConfigKeys[0]'],
  ['a key twice', { ...VOLUME, siteConfigKeys: ['a', 'a'] }, '.siteConfigKeys[1]'],
]; // prettier-ignore
const REF = { name: 'shared', namespace: 'infra' };
const gateway = (gatewayRef: unknown, others: object = {}): Manifest =>
  aSite({ ingress: { enabled: true, gatewayRef, ...others } });
/** Gateways that a site or a bench refuses. */
const GATEWAYS: readonly Refused[] = [
  ['a Gateway that is text', gateway('shared'), 'spec.ingress.gatewayRef'],
  ['a Gateway without a name', gateway({}), 'spec.ingress.gatewayRef.name'],
  ['a Gateway with an empty name', gateway({ name: '' }), 'spec.ingress.gatewayRef.name'],
  ['a Gateway as a path', gateway({ name: 'infra/shared' }), 'spec.ingress.gatewayRef.name'],
  ['a Gateway in capitals', gateway({ name: 'Shared' }), 'spec.ingress.gatewayRef.name'],
  [
    'a Gateway in a namespace with a dot',
    gateway({ ...REF, namespace: 'a.b' }),
    'spec.ingress.gatewayRef.namespace',
  ],
  [
    'a Gateway in an empty namespace',
    gateway({ ...REF, namespace: '' }),
    'spec.ingress.gatewayRef.namespace',
  ],
  [
    'a listener with a space',
    gateway({ ...REF, sectionName: 'a b' }),
    'spec.ingress.gatewayRef.sectionName',
  ],
  [
    'a listener by its port',
    gateway({ ...REF, sectionName: 443 }),
    'spec.ingress.gatewayRef.sectionName',
  ],
  ['a Gateway and an ingress class', gateway(REF, { className: 'nginx' }), 'spec.ingress'],
  [
    'a Gateway and an issuer',
    gateway(REF, { tls: { enabled: true, certManagerIssuer: 'letsencrypt' } }),
    'spec.ingress',
  ],
  [
    'a Gateway and a Secret with a certificate',
    gateway(REF, { tls: { enabled: true, secretName: 'mine' } }),
    'spec.ingress',
  ],
  [
    'a Gateway and an ingress class for all sites',
    aBench({ domainConfig: { gatewayRef: REF, ingressClassName: 'nginx' } }),
    'spec.domainConfig',
  ],
  [
    'a Gateway for all sites without a name',
    aBench({ domainConfig: { gatewayRef: { namespace: 'infra' } } }),
    'spec.domainConfig.gatewayRef.name',
  ],
];

/** Entries of `siteConfig` that a bench and a site refuse. */
const CONFIGURATION: readonly (readonly [reason: string, entries: unknown, path: string])[] = [
  ['a map', { allow_cors: '*' }, ''],
  ['null for an entry', [null], '[0]'],
  ['no key', [{ value: 1 }], '[0].key'],
  ['an empty key', [{ key: '', value: 1 }], '[0].key'],
  ['a key with a space', [{ key: 'allow cors', value: 1 }], '[0].key'],
  ['a key that is a path', [{ key: '../x', value: 1 }], '[0].key'],
  ['a key that is too long', [{ key: 'a'.repeat(129), value: 1 }], '[0].key'],
  ['a key that is a number', [{ key: 7, value: 1 }], '[0].key'],
  ['a key twice', [{ key: 'a', value: 1 }, { key: 'a', value: 2 }], '[1]'], // prettier-ignore
  ['too many keys', Array.from({ length: 65 }, (_, i) => ({ key: `k${i}`, value: i })), ''],
  ['the password of the database', [{ key: 'db_password', value: 'x' }], '[0].key'],
  ['a key of the database’s encryption', [{ key: 'db_ssl_ca', value: 'x' }], '[0].key'],
  ['the queue', [{ key: 'redis_queue', value: 'redis://evil' }], '[0].key'],
  ['the login of the queue', [{ key: 'use_rq_auth', value: true }], '[0].key'],
  ['the encryption key', [{ key: 'encryption_key', value: 'x' }], '[0].key'],
  ['the host name', [{ key: 'host_name', value: 'https://x' }], '[0].key'],
  ['a file with further keys', [{ key: 'extra_config', value: {} }], '[0].key'],
  ['maintenance', [{ key: 'maintenance_mode', value: 0 }], '[0].key'],
  ['the list of keys', [{ key: 'app_operator_keys', value: [] }], '[0].key'],
  ['a source that is neither', [{ key: 'a', valueFrom: {} }], '[0].valueFrom'],
  [
    'two sources',
    [{ key: 'a', valueFrom: { secretKeyRef: { name: 's', key: 'k' }, configMapKeyRef: { name: 's', key: 'k' } } }], // prettier-ignore
    '[0].valueFrom',
  ],
  [
    'a Secret without a key',
    [{ key: 'a', valueFrom: { secretKeyRef: { name: 's' } } }],
    '[0].valueFrom.secretKeyRef.key',
  ],
  [
    'a key of a Secret that is a path',
    [{ key: 'a', valueFrom: { secretKeyRef: { name: 's', key: '../k' } } }],
    '[0].valueFrom.secretKeyRef.key',
  ],
  [
    'an unknown format',
    [{ key: 'a', valueFrom: { secretKeyRef: { name: 's', key: 'k' }, format: 'YAML' } }],
    '[0].valueFrom.format',
  ],
];
const LOGIN = {
  clientID: { value: 'id' },
  clientSecret: { secretKeyRef: { name: 's', key: 'k' } },
};
const OWN_LOGIN = {
  ...LOGIN,
  ...{ provider: 'Mine', baseURL: 'https://id.example.com', authorizeURL: '/a' },
  ...{ accessTokenURL: '/t', apiEndpoint: '/me' },
};
const SETUP = { country: 'Germany', timeZone: 'Europe/Berlin', currency: 'EUR' };
const company = (change: object) => ({ ...SETUP, company: { name: 'ACME', ...change } });
/** Answers of the setup wizard that a site refuses. */
const SETUPS: readonly (readonly [reason: string, setup: unknown, path: string])[] = [
  ['a list', [], ''],
  ['no country', { ...SETUP, country: undefined }, '.country'],
  ['an empty country', { ...SETUP, country: '' }, '.country'],
  ['a country with a tag', { ...SETUP, country: '<b>' }, '.country'],
  ['a country that is too long', { ...SETUP, country: 'x'.repeat(141) }, '.country'],
  ['a currency in small letters', { ...SETUP, currency: 'eur' }, '.currency'],
  ['a sign of a currency', { ...SETUP, currency: '€' }, '.currency'],
  ['a time zone with a space', { ...SETUP, timeZone: 'New York' }, '.timeZone'],
  ['a time zone that is a number', { ...SETUP, timeZone: 1 }, '.timeZone'],
  ['the name of a language', { ...SETUP, language: 'German' }, '.language'],
  ['a company without a name', { ...SETUP, company: {} }, '.company.name'],
  ['a company named Company', company({ name: 'company' }), '.company.name'],
  ['a long abbreviation', company({ abbreviation: 'x'.repeat(11) }), '.company.abbreviation'],
  ['a year of a fiscal year', company({ fiscalYearStart: '2026-01-01' }), '.company.fiscalYearStart'], // prettier-ignore
  ['a leap day', company({ fiscalYearStart: '02-29' }), '.company.fiscalYearStart'],
  ['a month too many', company({ fiscalYearStart: '13-01' }), '.company.fiscalYearStart'],
];
/** Identity providers that a site refuses. */
const LOGINS: readonly (readonly [reason: string, sso: unknown, path: string])[] = [
  ['a map', {}, ''],
  ['no provider', [LOGIN], '[0].provider'],
  [
    'a provider twice',
    [
      { provider: 'Google', ...LOGIN },
      { provider: 'Google', ...LOGIN },
    ],
    '[1]',
  ],
  ['too many', Array.from({ length: 17 }, (_, i) => ({ ...OWN_LOGIN, provider: `p${i}` })), ''],
  ['a provider with a slash', [{ ...OWN_LOGIN, provider: 'a/b' }], '[0].provider'],
  ['a known provider in other letters', [{ ...OWN_LOGIN, provider: 'google' }], '[0].provider'],
  ['an own provider without addresses', [{ provider: 'Mine', ...LOGIN }], '[0]'],
  ['Keycloak without its address', [{ provider: 'Keycloak', ...LOGIN }], '[0]'],
  ['a secret in the spec', [{ provider: 'Google', ...LOGIN, clientSecret: { value: 'x' } }], '[0].clientSecret.secretKeyRef'], // prettier-ignore
  ['no id', [{ provider: 'Google', clientSecret: LOGIN.clientSecret }], '[0].clientID'],
  ['an empty id', [{ provider: 'Google', ...LOGIN, clientID: {} }], '[0].clientID'],
  ['two ids', [{ provider: 'Google', ...LOGIN, clientID: { value: 'x', ...LOGIN.clientSecret } }], '[0].clientID'], // prettier-ignore
  ['an address of a file', [{ ...OWN_LOGIN, baseURL: 'file:///etc' }], '[0].baseURL'],
  ['a redirect elsewhere', [{ ...OWN_LOGIN, redirectURL: 'https://x' }], '[0].redirectURL'],
  [
    'a parameter of a number',
    [{ ...OWN_LOGIN, authorizeParameters: { scope: 1 } }],
    '[0].authorizeParameters.scope',
  ],
  [
    'a parameter with a space',
    [{ ...OWN_LOGIN, authorizeParameters: { 'a b': 'x' } }],
    '[0].authorizeParameters',
  ],
  ['sign-ups that are neither', [{ ...OWN_LOGIN, signUps: 'allow' }], '[0].signUps'],
];
const firstLogin = (): readonly Refused[] => [
  ...SETUPS.map(([why, setup, path]): Refused => [`setup: ${why}`, aSite({ setup }), `spec.setup${path}`]), // prettier-ignore
  ...LOGINS.map(([why, sso, path]): Refused => [`sso: ${why}`, aSite({ sso }), `spec.sso${path}`]),
];
const configuration = (make: (spec: object) => Manifest): readonly Refused[] =>
  CONFIGURATION.map(([reason, siteConfig, path]) => [
    `siteConfig: ${reason}`,
    make({ siteConfig }),
    `spec.siteConfig${path}`,
  ]);

export const REFUSED_BENCHES: readonly Refused[] = [
  ...configuration(aBench),
  ['no spec', aManifest('AppBench', undefined), 'spec'],
  ['a spec of null', aManifest('AppBench', null), 'spec'],
  ['a spec that is text', aManifest('AppBench', 'x'), 'spec'],
  ['no version', aBench({ frameworkVersion: undefined }), 'spec.frameworkVersion'],
  ['an empty version', aBench({ frameworkVersion: '' }), 'spec.frameworkVersion'],
  [
    'a version with a shell command',
    aBench({ frameworkVersion: 'v15;reboot' }),
    'spec.frameworkVersion',
  ],
  ['a version with a line break', aBench({ frameworkVersion: 'v15\nx' }), 'spec.frameworkVersion'],
  ['a version that is a number', aBench({ frameworkVersion: 15 }), 'spec.frameworkVersion'],
  ['a name that is too long', aBench({}, 'a'.repeat(46)), 'metadata.name'],
  ['a name that starts with a digit', aBench({}, '1bench'), 'metadata.name'],
  ['a name with a dot', aBench({}, 'my.bench'), 'metadata.name'],
  ['applications that are text', aBench({ apps: 'erpnext' }), 'spec.apps'],
  ['an application twice', aBench({ apps: [{ name: 'a' }, { name: 'a' }] }), 'spec.apps[1]'],
  ['an application without a name', aBench({ apps: [{ name: 'a' }, {}] }), 'spec.apps[1].name'],
  ['an application of null', aBench({ apps: [null] }), 'spec.apps[0]'],
  ['an application with a path', aBench({ apps: [{ name: '../x' }] }), 'spec.apps[0].name'],
  ['too many applications', aBench({ apps: many(101) }), 'spec.apps'],
  ['two lists of applications', aBench({ apps: [{ name: 'a' }], appsJSON: '["b"]' }), 'spec'],
  ['a huge list', aBench({ apps: many(5000) }), 'spec.apps'],
  ['applications in JSON that are a list', aBench({ appsJSON: ['a'] }), 'spec.appsJSON'],
  ['huge applications in JSON', aBench({ appsJSON: 'x'.repeat(20000) }), 'spec.appsJSON'],
  [
    'replicas that are text',
    aBench({ componentReplicas: { gunicorn: '3' } }),
    'spec.componentReplicas.gunicorn',
  ],
  [
    'half a replica',
    aBench({ componentReplicas: { gunicorn: 1.5 } }),
    'spec.componentReplicas.gunicorn',
  ],
  [
    'less than no replica',
    aBench({ componentReplicas: { nginx: -1 } }),
    'spec.componentReplicas.nginx',
  ],
  [
    'too many replicas',
    aBench({ componentReplicas: { nginx: 1001 } }),
    'spec.componentReplicas.nginx',
  ],
  [
    'two schedulers',
    aBench({ componentReplicas: { scheduler: 2 } }),
    'spec.componentReplicas.scheduler',
  ],
  ...(
    [
      ['no other end', {}, ''],
      ['pods and addresses at once', { cidr: '10.0.0.0/8', namespace: 'a' }, ''],
      ['a namespace with a dot', { namespace: 'a.b' }, '.namespace'],
      ['addresses without a length', { cidr: '10.0.0.1' }, '.cidr'],
      ['an address that is none', { cidr: '10.0.0.256/8' }, '.cidr'],
      ['a length that is none', { cidr: '10.0.0.0/33' }, '.cidr'],
      ['a length of IPv6 that is none', { cidr: '2001:db8::/129' }, '.cidr'],
      ['a host name', { cidr: 'db.example.com/32' }, '.cidr'],
      ['a label without a name', { podLabels: { 'a/': 'x' } }, '.podLabels'],
      ['a label that is a sentence', { podLabels: { a: 'x y' } }, '.podLabels.a'],
    ] as const
  ).map(([reason, peer, path]): Refused => [
    `a peer of the network: ${reason}`,
    aBench({ networkPolicy: { ingressFrom: [peer] } }),
    `spec.networkPolicy.ingressFrom[0]${path}`,
  ]),
  [
    'egress to no other end',
    aBench({ networkPolicy: { egress: { allow: [{ to: [] }] } } }),
    'spec.networkPolicy.egress.allow[0].to',
  ],
  [
    'egress to a port that is none',
    aBench({ networkPolicy: { egress: { allow: [{ to: [{ namespace: 'a' }], ports: [0] }] } } }),
    'spec.networkPolicy.egress.allow[0].ports[0]',
  ],
  ['replicas that are a list', aBench({ componentReplicas: [1] }), 'spec.componentReplicas'],
  ['a quantity that is none', limits({ cpu: 'lots' }), `${LIMITS}.cpu`],
  ['a quantity with a space', limits({ memory: '1 Gi' }), `${LIMITS}.memory`],
  ['a quantity below zero', limits({ memory: '-1Gi' }), `${LIMITS}.memory`],
  ['a quantity that is a number', limits({ cpu: 1 }), `${LIMITS}.cpu`],
  [
    'several bad quantities',
    limits({ cpu: 'x', 'a.b/c': 'y' }),
    `${LIMITS}.cpu`,
    `${LIMITS}.a.b/c`,
  ],
  ['an unknown resource', limits({ mem: '1Gi' }), LIMITS],
  [
    'a request above its limit',
    aBench({
      componentResources: { gunicorn: { requests: { cpu: '1.5' }, limits: { cpu: '1499m' } } },
    }),
    'spec.componentResources.gunicorn',
  ],
  ['a volume of nothing', aBench({ storage: { size: '0' } }), 'spec.storage.size'],
  [
    'a label with a space in its key',
    aBench({ podTemplate: { labels: { 'a b': 'c' } } }),
    'spec.podTemplate.labels',
  ],
  [
    'an annotation without a key',
    aSite({ ingress: { annotations: { '': 'x' } } }),
    'spec.ingress.annotations',
  ],
  [
    'pod templates that are a list',
    aBench({ componentPodTemplates: [] }),
    'spec.componentPodTemplates',
  ],
  [
    'a pod template of an unknown component',
    aBench({ componentPodTemplates: { web: {} } }),
    'spec.componentPodTemplates',
  ],
  ['a pod template that is text', aBench({ componentPodTemplates: { gunicorn: 'x' } }), TEMPLATE],
  ['pods that are text', podOf('x'), `${TEMPLATE}.spec`],
  ['containers by name', podOf({ containers: { gunicorn: {} } }), `${TEMPLATE}.spec.containers`],
  [
    'a container twice',
    podOf({ containers: [{ name: 'a' }, { name: 'a' }] }),
    `spec.componentPodTemplates[gunicorn].spec.containers[1]`,
  ],
  [
    'a container without a name',
    podOf({ containers: [{}] }),
    `${TEMPLATE}.spec.containers[0].name`,
  ],
  [
    'a container with a dot',
    podOf({ containers: [{ name: 'a.b' }] }),
    `${TEMPLATE}.spec.containers[0].name`,
  ],
  ['too many containers', podOf({ containers: many(9) }), `${TEMPLATE}.spec.containers`],
  [
    'a volume twice',
    podOf({ volumes: [{ name: 'a' }, { name: 'a' }] }),
    `spec.componentPodTemplates[gunicorn].spec.volumes[1]`,
  ],
  [
    'a variable without a name',
    gunicornWith({ env: [{ value: 'x' }] }),
    `${TEMPLATE}.spec.containers[0].env[0].name`,
  ],
  [
    'a variable twice',
    gunicornWith({ env: [{ name: 'A' }, { name: 'A' }] }),
    `spec.componentPodTemplates[gunicorn].spec.containers[0].env[1]`,
  ],
  [
    'a variable with a space',
    gunicornWith({ env: [{ name: 'A B' }] }),
    `${TEMPLATE}.spec.containers[0].env[0].name`,
  ],
  [
    'a mount without a path',
    gunicornWith({ volumeMounts: [{ name: 'a' }] }),
    `${TEMPLATE}.spec.containers[0].volumeMounts[0].mountPath`,
  ],
  [
    'a relative mount',
    gunicornWith({ volumeMounts: [{ name: 'a', mountPath: 'a' }] }),
    `${TEMPLATE}.spec.containers[0].volumeMounts[0].mountPath`,
  ],
  [
    'too many resources',
    limits(Object.fromEntries(many(17).map(({ name }) => [name, '1']))),
    LIMITS,
  ],
  [
    'least workers above most',
    scaling({ minReplicas: 3, maxReplicas: 2 }),
    'spec.workerAutoscaling.short',
  ],
  [
    'no most workers',
    scaling({ minReplicas: 0, maxReplicas: 0 }),
    'spec.workerAutoscaling.short.maxReplicas',
  ],
  ['a switch that is text', scaling({ enabled: 'yes' }), 'spec.workerAutoscaling.short.enabled'],
  ['an unknown database mode', db({ mode: 'mysql' }), 'spec.dbConfig.mode'],
  ['an external database without a host', db({ mode: 'external' }), 'spec.dbConfig'],
  ['a database operator without a server', db({ mode: 'operator' }), 'spec.dbConfig'],
  [
    'a database operator of another database',
    db({ mode: 'operator', provider: 'postgres', mariadbRef: { name: 'x' } }),
    'spec.dbConfig',
  ],
  [
    'a server of a database operator, and another one who runs it',
    db({ provider: 'postgres', clusterRef: { name: 'x' } }),
    'spec.dbConfig',
  ],
  [
    'a host with a shell command',
    db({ mode: 'external', host: '$(id)', rootSecretRef: { name: 's' } }),
    'spec.dbConfig.host',
  ],
  ...['2001:db8', '1:2:3:4:5:6:7', '2001:db8::g', '[2001:db8::5]:3306', 'db:3306'].map(
    (host): Refused => [
      `${host} as a host`,
      db({ mode: 'external', host, rootSecretRef: { name: 's' } }),
      'spec.dbConfig.host',
    ],
  ),
  [
    'a port out of range',
    db({ mode: 'external', host: 'db', rootSecretRef: { name: 's' }, port: 65536 }),
    'spec.dbConfig.port',
  ],
  ['a port of a managed server', db({ port: 3307 }), 'spec.dbConfig'],
  ['an unknown mode of TLS', tls({ mode: 'Prefer' }), 'spec.dbConfig.tls.mode'],
  ['true for TLS', db({ ...EXTERNAL, tls: true }), 'spec.dbConfig.tls'],
  ['a mode of libpq', tls({ mode: 'verify-full' }), 'spec.dbConfig.tls.mode'],
  ['TLS to an external server without a CA', tls({}), 'spec.dbConfig'],
  ['VerifyCA without a CA', tls({ mode: 'VerifyCA' }), 'spec.dbConfig'],
  [
    'a CA that is not checked',
    tls({ mode: 'Require', caSecretRef: { name: 'ca' } }),
    'spec.dbConfig.tls',
  ],
  ['a CA that is text', tls({ caSecretRef: 'ca' }), 'spec.dbConfig.tls.caSecretRef'],
  ['a CA without a name', tls({ caSecretRef: {} }), 'spec.dbConfig.tls.caSecretRef.name'],
  [
    'a path for a CA',
    tls({ caSecretRef: { name: '/etc/ssl/ca.pem' } }),
    'spec.dbConfig.tls.caSecretRef.name',
  ],
  [
    'a client certificate with a bad name',
    tls({ mode: 'Require', clientCertificateSecretRef: { name: 'A_b' } }),
    'spec.dbConfig.tls.clientCertificateSecretRef.name',
  ],
  [
    'a certificate of an external server',
    tls({ caSecretRef: { name: 'ca' }, serverCertificateSecretRef: { name: 'c' } }),
    'spec.dbConfig',
  ],
  ['a managed server with TLS and no certificate', db({ tls: {} }), 'spec.dbConfig'],
  ['settings of an external server', db({ ...EXTERNAL, settings: { a: '1' } }), 'spec.dbConfig'],
  [
    'a number for a setting',
    db({ settings: { max_connections: 500 } }),
    'spec.dbConfig.settings.max_connections',
  ],
  [
    'an empty setting',
    db({ settings: { max_connections: '' } }),
    'spec.dbConfig.settings.max_connections',
  ],
  [
    'a setting of two lines',
    db({ settings: { max_connections: '1\nx=1' } }),
    'spec.dbConfig.settings.max_connections',
  ],
  [
    'a path for a setting',
    db({ settings: { work_mem: '/etc/passwd' } }),
    'spec.dbConfig.settings.work_mem',
  ],
  [
    'a command for a setting',
    db({ settings: { work_mem: '$(id)' } }),
    'spec.dbConfig.settings.work_mem',
  ],
  ['a quote in a setting', db({ settings: { work_mem: "1'" } }), 'spec.dbConfig.settings.work_mem'],
  [
    'a long setting',
    db({ settings: { work_mem: '1'.repeat(65) } }),
    'spec.dbConfig.settings.work_mem',
  ],
  ['a list of settings', db({ settings: ['work_mem'] }), 'spec.dbConfig.settings'],
  [
    'a namespace with a capital',
    db({ mode: 'operator', mariadbRef: { name: 'm', namespace: 'Team' } }),
    'spec.dbConfig.mariadbRef.namespace',
  ],
  [
    'an unknown access mode',
    aBench({ storage: { accessMode: 'Many' } }),
    'spec.storage.accessMode',
  ],
  [
    'two ways to Redis',
    aBench({ redisConfig: { image: 'redis:7', external: { urlsSecretRef: { name: 's' } } } }),
    'spec.redisConfig',
  ],
  [
    'a capability twice',
    aBench({ security: { securityContext: { capabilities: { drop: ['ALL', 'ALL'] } } } }),
    'spec.security.securityContext.capabilities.drop[1]',
  ],
  [
    'the root user',
    aBench({ security: { podSecurityContext: { runAsUser: 0 } } }),
    'spec.security.podSecurityContext.runAsUser',
  ],
  [
    'a label value that is too long',
    aBench({ podTemplate: { labels: { 'a.b/c': 'x'.repeat(64) } } }),
    'spec.podTemplate.labels.a.b/c',
  ],
  [
    'an unknown toleration',
    aBench({ podTemplate: { tolerations: [{ operator: 'Like' }] } }),
    'spec.podTemplate.tolerations[0].operator',
  ],
  [
    'affinity that is text',
    aBench({ podTemplate: { affinity: 'x' } }),
    'spec.podTemplate.affinity',
  ],
  [
    'an unknown deletion policy that is a number',
    aBench({ deletionPolicy: 5 }),
    'spec.deletionPolicy',
    'spec.deletionPolicy',
  ],
  [
    'a broken rule and a bad pattern at once',
    aBench({ dbConfig: { mode: 'external' }, frameworkVersion: ' ' }),
    'spec.frameworkVersion',
    'spec.dbConfig',
  ],
  ['a name in capitals', aBench({}, 'Bench'), 'metadata.name'],
  [
    'a request above its limit',
    aBench({ componentResources: { nginx: { requests: { cpu: '2' }, limits: { cpu: '1' } } } }),
    'spec.componentResources.nginx',
  ],
  [
    'a queue length of 0',
    aBench({ workerAutoscaling: { short: { queueLength: 0 } } }),
    'spec.workerAutoscaling.short.queueLength',
  ],
  [
    'an image with a command',
    aBench({ image: { repository: 'x && reboot' } }),
    'spec.image.repository',
  ],
  [
    'an image with its tag',
    aBench({ redisConfig: { image: 'redis:7 --evil' } }),
    'spec.redisConfig.image',
  ],
  [
    'a capability in lower case',
    aBench({ security: { securityContext: { capabilities: { drop: ['all'] } } } }),
    'spec.security.securityContext.capabilities.drop[0]',
  ],
];

export const REFUSED_SITES: readonly Refused[] = [
  ...firstLogin(),
  [
    'a pod template of a component of the bench',
    aSite({ componentPodTemplates: { nginx: {} } }),
    'spec.componentPodTemplates',
  ],
  ...configuration(aSite),
  ['no bench', aSite({ benchRef: undefined }), 'spec.benchRef'],
  ['a bench without a name', aSite({ benchRef: {} }), 'spec.benchRef.name'],
  ['a bench in upper case', aSite({ benchRef: { name: 'Bench' } }), 'spec.benchRef.name'],
  ['no site name', aSite({ siteName: undefined }), 'spec.siteName'],
  ['a site name in upper case', aSite({ siteName: 'Shop.example.com' }), 'spec.siteName'],
  ['a site name with a path', aSite({ siteName: 'a/../b' }), 'spec.siteName'],
  ['a site name with a command', aSite({ siteName: 'a`id`' }), 'spec.siteName'],
  ['a site name that is too long', aSite({ siteName: 'a'.repeat(201) }), 'spec.siteName'],
  ['a label of 64 characters', aSite({ siteName: `${'a'.repeat(64)}.com` }), 'spec.siteName'],
  ['a domain with a port', aSite({ domain: 'a.com:80' }), 'spec.domain'],
  ['a name that is too long', aSite({}, 'a'.repeat(46)), 'metadata.name'],
  ['a name with a digit in front', aSite({}, '0shop'), 'metadata.name'],
  ['unknown workloads', aSite({ workloads: 'dedicated' }), 'spec.workloads'],
  ['adopt that is text', aSite({ adopt: 'yes' }), 'spec.adopt'],
  ['adopt in mode shared', aSite({ adopt: true }), 'spec'],
  [
    'adopt with a dedicated server',
    aSite({ adopt: true, dbConfig: { mode: 'dedicated' } }),
    'spec',
  ],
  [
    'adopt without the name of the database',
    aSite({ adopt: true, dbConfig: { mode: 'external', host: 'h' } }),
    'spec.dbConfig',
  ],
  [
    'an external database without a Secret',
    siteDb({ mode: 'external', host: 'h', name: 'n' }),
    'spec',
  ],
  ['an external database without anything', siteDb({ mode: 'external' }), 'spec.dbConfig'],
  ['a host in mode shared', siteDb({ host: 'db' }), 'spec.dbConfig'],
  ['TLS in mode shared', siteDb({ tls: { mode: 'Require' } }), 'spec.dbConfig'],
  ['settings in mode shared', siteDb({ settings: { work_mem: '1MB' } }), 'spec.dbConfig'],
  [
    'a dedicated server with TLS and no certificate',
    siteDb({ mode: 'dedicated', tls: {} }),
    'spec.dbConfig',
  ],
  ['a volume in mode shared', siteDb({ storage: { size: '1Gi' } }), 'spec.dbConfig'],
  [
    'a database name with a quote',
    siteDb({ mode: 'external', host: 'h', name: "x'--", secretRef: { name: 's' } }),
    'spec.dbConfig.name',
  ],
  ['maintenance that is text', aSite({ maintenance: 'on' }), 'spec.maintenance'],
  ['an ingress that is a boolean', aSite({ ingress: true }), 'spec.ingress'],
  [
    'an ingress class with a space',
    aSite({ ingress: { className: 'a b' } }),
    'spec.ingress.className',
  ],
  ...GATEWAYS,
  [
    'a secret with a bad name',
    aSite({ adminPasswordSecretRef: { name: '-x' } }),
    'spec.adminPasswordSecretRef.name',
  ],
  [
    'a secret without a name',
    aSite({ adminPasswordSecretRef: {} }),
    'spec.adminPasswordSecretRef.name',
  ],
  ['no name of a bench', aSite({ benchRef: { name: '' } }), 'spec.benchRef.name'],
  ['unknown workloads', aSite({ workloads: 'Own' }), 'spec.workloads'],
  ['an unknown policy', aSite({ deletionPolicy: 'retain' }), 'spec.deletionPolicy'],
  [
    'an unknown kind of issuer',
    aSite({ ingress: { tls: { issuerKind: 'issuer' } } }),
    'spec.ingress.tls.issuerKind',
  ],
  [
    'text for a reference',
    aSite({ adminPasswordSecretRef: 'admin' }),
    'spec.adminPasswordSecretRef',
  ],
  ['null for the spec', aManifest('AppSite', null), 'spec'],
  ['a backup from nowhere', aSite({ restoreFrom: {} }), 'spec.restoreFrom'],
  [
    'a backup from two places',
    aSite({ restoreFrom: { backupRef: { name: 'n' }, source: { pvc: { claimName: 'c' } } } }),
    'spec.restoreFrom',
  ],
  [
    'a store that is neither a volume nor S3',
    aSite({ restoreFrom: { source: {} } }),
    'spec.restoreFrom.source',
  ],
  [
    'a date for a backup',
    aSite({ restoreFrom: { backupRef: { name: 'n' }, name: '2025-01-31' } }),
    'spec.restoreFrom.name',
  ],
  [
    'a path for a backup',
    aSite({ restoreFrom: { backupRef: { name: 'n' }, name: '../20250131T1200' } }),
    'spec.restoreFrom.name',
  ],
  [
    'true for a confirmation',
    aSite({ restoreFrom: { backupRef: { name: 'n' }, confirm: true } }),
    'spec.restoreFrom.confirm',
  ],
  [
    'a command for a confirmation',
    aSite({ restoreFrom: { backupRef: { name: 'n' }, confirm: 'shop.example.com; reboot' } }),
    'spec.restoreFrom.confirm',
  ],
  [
    'a folder outside of the store',
    aSite({ restoreFrom: { source: { pvc: { claimName: 'c', prefix: '../x' } } } }),
    'spec.restoreFrom.source.pvc.prefix',
  ],
  ...ARCHIVES.map(([reason, archive, path]): Refused => [
    reason,
    aSite({ restoreFrom: { archive } }),
    `spec.restoreFrom.archive${path}`,
  ]),
  [
    'an archive and a SiteBackup',
    aSite({ restoreFrom: { archive: VOLUME, backupRef: { name: 'n' } } }),
    'spec.restoreFrom',
  ],
  [
    'a confirmation of an archive',
    aSite({ restoreFrom: { archive: VOLUME, confirm: 'shop.example.com' } }),
    'spec.restoreFrom',
  ],
  [
    'a name of a backup for an archive',
    aSite({ restoreFrom: { archive: VOLUME, name: '20250131T120000Z' } }),
    'spec.restoreFrom',
  ],
];
