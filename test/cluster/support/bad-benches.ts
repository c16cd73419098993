import { aBench } from './builders.js';
import type { Manifest } from './objects.js';

/** What a user writes, and what `kubectl create` says of it. */
export type BadInput = readonly [what: string, manifest: Manifest, message: string];

const bench = (spec: object): Manifest => aBench('bad', { ...spec });
const limits = (list: object): Manifest =>
  bench({ componentResources: { gunicorn: { limits: list } } });
const short = (scaling: object): Manifest => bench({ workerAutoscaling: { short: scaling } });

export const BAD_BENCHES: readonly BadInput[] = [
  ['no version', bench({ frameworkVersion: undefined }), 'spec.frameworkVersion: Required value'],
  [
    'a shell command for a version',
    bench({ frameworkVersion: 'v15;reboot' }),
    `spec.frameworkVersion: Invalid value: "v15;reboot": spec.frameworkVersion in body should match '^[A-Za-z0-9_][A-Za-z0-9._-]*$'`,
  ],
  [
    'a number for a version',
    bench({ frameworkVersion: 15 }),
    'spec.frameworkVersion: Invalid value: "integer": spec.frameworkVersion in body must be of type string: "integer"',
  ],
  ['an unknown field', bench({ replicas: 3 }), 'unknown field "spec.replicas"'],
  [
    'a field at the wrong place',
    bench({ gunicorn: { replicas: 1 } }),
    'unknown field "spec.gunicorn"',
  ],
  [
    'two spellings of the apps',
    bench({ appsJSON: '["a"]', apps: [{ name: 'a' }] }),
    'spec: Invalid value: "object": apps and appsJSON are two spellings of one list: give one of them',
  ],
  [
    'an app twice',
    bench({ apps: [{ name: 'a' }, { name: 'a' }] }),
    'spec.apps[1]: Duplicate value: {"name":"a"}',
  ],
  [
    'an app that is a path',
    bench({ apps: [{ name: '../../etc' }] }),
    `spec.apps[0].name: Invalid value: "../../etc": spec.apps[0].name in body should match '^[a-z][a-z0-9_]*$'`,
  ],
  [
    'an app with a line break',
    bench({ apps: [{ name: 'a\nb' }] }),
    `spec.apps[0].name: Invalid value: "a\\nb": spec.apps[0].name in body should match '^[a-z][a-z0-9_]*$'`,
  ],
  [
    'a list for appsJSON',
    bench({ appsJSON: ['erpnext'] }),
    'spec.appsJSON: Invalid value: "array": spec.appsJSON in body must be of type string: "array"',
  ],
  [
    'huge lists',
    bench({ apps: Array.from({ length: 101 }, (_, i) => ({ name: `a${i}` })) }),
    'spec.apps: Too many: 101: must have at most 100 items',
  ],
  [
    'text for replicas',
    bench({ componentReplicas: { gunicorn: '3' } }),
    'spec.componentReplicas.gunicorn: Invalid value: "string": spec.componentReplicas.gunicorn in body must be of type integer: "string"\n.spec.componentReplicas.gunicorn: Invalid value: 0: .spec.componentReplicas.gunicorn accessor error: 3 is of the type string, expected int64',
  ],
  [
    'negative replicas',
    bench({ componentReplicas: { nginx: -1 } }),
    'spec.componentReplicas.nginx: Invalid value: -1: spec.componentReplicas.nginx in body should be greater than or equal to 0',
  ],
  [
    'too many replicas',
    bench({ componentReplicas: { nginx: 1001 } }),
    'spec.componentReplicas.nginx: Invalid value: 1001: spec.componentReplicas.nginx in body should be less than or equal to 1000',
  ],
  [
    'two schedulers',
    bench({ componentReplicas: { scheduler: 2 } }),
    'spec.componentReplicas.scheduler: Invalid value: 2: spec.componentReplicas.scheduler in body should be less than or equal to 1',
  ],
  [
    'an unknown component',
    bench({ componentReplicas: { guncorn: 1 } }),
    'unknown field "spec.componentReplicas.guncorn"',
  ],
  [
    'a quantity that is none',
    limits({ memory: 'lots' }),
    `spec.componentResources.gunicorn.limits.memory: Invalid value: "lots": spec.componentResources.gunicorn.limits.memory in body should match '^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(([KMGTPE]i)|[mkMGTPE]|([eE][+-]?[0-9]+))?$'`,
  ],
  [
    'a quantity with a space',
    limits({ memory: '1 Gi' }),
    `spec.componentResources.gunicorn.limits.memory: Invalid value: "1 Gi": spec.componentResources.gunicorn.limits.memory in body should match '^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(([KMGTPE]i)|[mkMGTPE]|([eE][+-]?[0-9]+))?$'`,
  ],
  [
    'a negative quantity',
    limits({ cpu: '-1' }),
    `spec.componentResources.gunicorn.limits.cpu: Invalid value: "-1": spec.componentResources.gunicorn.limits.cpu in body should match '^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(([KMGTPE]i)|[mkMGTPE]|([eE][+-]?[0-9]+))?$'`,
  ],
  [
    'a number for a quantity',
    limits({ cpu: 1 }),
    'spec.componentResources.gunicorn.limits.cpu: Invalid value: "integer": spec.componentResources.gunicorn.limits.cpu in body must be of type string: "integer"',
  ],
  [
    'an unknown resource',
    limits({ mem: '1Gi' }),
    'spec.componentResources.gunicorn.limits: Invalid value: "object": resources are cpu, memory, ephemeral-storage, hugepages-<size> and extended ones such as example.com/gpu',
  ],
  [
    'a request above its limit',
    bench({ componentResources: { nginx: { requests: { cpu: '2' }, limits: { cpu: '1' } } } }),
    'spec.componentResources.nginx: Invalid value: "object": a request must not be greater than its limit',
  ],
  [
    'min above max',
    short({ minReplicas: 3, maxReplicas: 2 }),
    'spec.workerAutoscaling.short: Invalid value: "object": minReplicas must not be greater than maxReplicas',
  ],
  [
    'min above the default of max',
    short({ minReplicas: 6 }),
    'spec.workerAutoscaling.short: Invalid value: "object": minReplicas must not be greater than maxReplicas',
  ],
  [
    'a queue length of 0',
    short({ queueLength: 0 }),
    'spec.workerAutoscaling.short.queueLength: Invalid value: 0: spec.workerAutoscaling.short.queueLength in body should be greater than or equal to 1',
  ],
  [
    'text for a switch',
    short({ enabled: 'yes' }),
    'spec.workerAutoscaling.short.enabled: Invalid value: "string": spec.workerAutoscaling.short.enabled in body must be of type boolean: "string"',
  ],
  [
    'an unknown queue',
    bench({ workerAutoscaling: { fast: { enabled: true } } }),
    'unknown field "spec.workerAutoscaling.fast"',
  ],
  [
    'an unknown database mode',
    bench({ dbConfig: { mode: 'mysql' } }),
    'spec.dbConfig.mode: Unsupported value: "mysql": supported values: "managed", "external", "operator"',
  ],
  [
    'an external database without its host',
    bench({ dbConfig: { mode: 'external' } }),
    'spec.dbConfig: Invalid value: "object": mode external needs host and rootSecretRef',
  ],
  [
    'a host with a port in it',
    bench({ dbConfig: { mode: 'external', host: 'db:3306', rootSecretRef: { name: 'r' } } }),
    `spec.dbConfig.host: Invalid value: "db:3306": spec.dbConfig.host in body should match '^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$'`,
  ],
  [
    'an operated database without its server',
    bench({ dbConfig: { mode: 'operator', provider: 'mariadb' } }),
    'spec.dbConfig: Invalid value: "object": mode operator needs mariadbRef with provider mariadb',
  ],
  [
    'an operated PostgreSQL',
    bench({ dbConfig: { mode: 'operator', provider: 'postgres', mariadbRef: { name: 'm' } } }),
    'spec.dbConfig: Invalid value: "object": mode operator needs clusterRef with provider postgres',
  ],
  [
    'an external Redis with an image',
    bench({ redisConfig: { image: 'redis:7', external: { urlsSecretRef: { name: 'u' } } } }),
    'spec.redisConfig: Invalid value: "object": external servers have no image, resources or storage here: give one or the other',
  ],
  [
    'an image with a command',
    bench({ image: { repository: 'x && reboot' } }),
    `spec.image.repository: Invalid value: "x && reboot": spec.image.repository in body should match '^[a-z0-9]([a-z0-9._:/-]*[a-z0-9])?$'`,
  ],
  [
    'an image with its tag',
    bench({ redisConfig: { image: 'redis:7 --evil' } }),
    `spec.redisConfig.image: Invalid value: "redis:7 --evil": spec.redisConfig.image in body should match '^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$'`,
  ],
  [
    'a volume of no size',
    bench({ storage: { size: '0' } }),
    'spec.storage.size: Invalid value: "string": must be greater than zero',
  ],
  [
    'root as the user',
    bench({ security: { podSecurityContext: { runAsUser: 0 } } }),
    'spec.security.podSecurityContext.runAsUser: Invalid value: 0: spec.security.podSecurityContext.runAsUser in body should be greater than or equal to 1',
  ],
  [
    'a capability in lower case',
    bench({ security: { securityContext: { capabilities: { drop: ['all'] } } } }),
    `spec.security.securityContext.capabilities.drop[0]: Invalid value: "all": spec.security.securityContext.capabilities.drop[0] in body should match '^[A-Z][A-Z0-9_]*$'`,
  ],
  [
    'a label that is none',
    bench({ podTemplate: { labels: { 'a b': 'c' } } }),
    `spec.podTemplate.labels: Invalid value: "object": a label's key is a name of at most 63 letters, digits, -, _ and ., after a DNS name and / where it has a prefix`,
  ],
  [
    'a name that is too long',
    aBench('b'.repeat(46)),
    'metadata.name: Invalid value: "object": must have at most 45 characters: child objects add suffixes to it',
  ],
  [
    'a name in capitals',
    aBench('Bench'),
    `metadata.name: Invalid value: "Bench": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\nmetadata.name: Invalid value: "object": must be a DNS label (RFC 1035), since child objects are named after it: lower-case letters, digits and -, first a letter, last a letter or a digit`,
  ],
];
