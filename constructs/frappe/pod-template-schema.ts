import type { Schema } from '../kit/definition.js';
import { isObject } from '../kit/json/is-object.js';
import type { Problem } from '../kit/errors.js';
import { compile, type SchemaNode } from '../kit/schema/node.js';
import { stored } from '../kit/schema/stored-value.js';
import { violations } from '../kit/schema/violations.js';

/**
 * The fields of a pod template that a user may set. In the CRDs this schema would take thousands of
 * lines, see ADR 21.
 */
type Fields = Readonly<Record<string, Schema>>;

const text = (maxLength: number, pattern?: string): Schema => ({
  type: 'string',
  maxLength,
  ...(pattern === undefined ? {} : { minLength: 1, pattern }),
});
const choice = (...values: readonly string[]): Schema => ({ type: 'string', enum: values });
const integer = (minimum: number, maximum: number): Schema => ({
  type: 'integer',
  minimum,
  maximum,
});
const switched: Schema = { type: 'boolean' };
const object = (properties: Fields, ...required: readonly string[]): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? { required } : {}),
});
const list = (items: Schema, maxItems: number, ...keys: readonly string[]): Schema => ({
  type: 'array',
  items,
  maxItems,
  ...(keys.length > 0
    ? { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys }
    : {}),
});
const map = (values: Schema, maxProperties: number): Schema => ({
  type: 'object',
  additionalProperties: values,
  maxProperties,
});
const opaque: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const LABEL = text(63, '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$');
const NAME = text(253, '^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$');
const KEY = text(253, '^[-._a-zA-Z0-9]+$');
const VARIABLE = text(253, '^[A-Za-z_][A-Za-z0-9_.-]*$');
const RELATIVE = text(512, '^[A-Za-z0-9._][A-Za-z0-9._/@+-]*$');
const ADDRESS = text(45, '^[0-9A-Fa-f.:]+$');
const CAPABILITY = text(64, '^[A-Z][A-Z0-9_]*$');
const LABEL_VALUE: Schema = {
  type: 'string',
  maxLength: 63,
  pattern: '^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$',
};
const QUANTITY = text(
  64,
  '^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(([KMGTPE]i)|[mkMGTPE]|([eE][+-]?[0-9]{1,2}))?$',
);
const PORT = integer(1, 65_535);
const ARGUMENTS = (most: number): Schema => list(text(8192), most);
const LABELS = map(LABEL_VALUE, 64);
const MODE = integer(0, 0o777);

const KEY_REF = object({ name: NAME, key: KEY, optional: switched }, 'name', 'key');
const OBJECT_REF = object({ name: NAME, optional: switched }, 'name');
const ENV = object(
  {
    name: VARIABLE,
    value: text(8192),
    valueFrom: object({
      secretKeyRef: KEY_REF,
      configMapKeyRef: KEY_REF,
      fieldRef: object(
        { fieldPath: text(253, "^(metadata|spec|status)[.][-A-Za-z0-9_./'\\[\\]]+$") },
        'fieldPath',
      ),
    }),
  },
  'name',
);
const ENV_FROM = object({
  prefix: VARIABLE,
  secretRef: OBJECT_REF,
  configMapRef: OBJECT_REF,
});
const MOUNT = object(
  {
    name: LABEL,
    mountPath: text(512, '^/[A-Za-z0-9._/@+-]*$'),
    subPath: RELATIVE,
    readOnly: switched,
  },
  'name',
  'mountPath',
);
const PROBE = object({
  exec: object({ command: { ...ARGUMENTS(16), minItems: 1 } }, 'command'),
  httpGet: object(
    { path: text(512, '^/[!-~]*$'), port: PORT, scheme: choice('HTTP', 'HTTPS') },
    'port',
  ),
  tcpSocket: object({ port: PORT }, 'port'),
  initialDelaySeconds: integer(0, 86_400),
  periodSeconds: integer(1, 86_400),
  timeoutSeconds: integer(1, 86_400),
  failureThreshold: integer(1, 1000),
});
const RESOURCES = object({ requests: map(QUANTITY, 16), limits: map(QUANTITY, 16) });
const SECURITY = object({
  runAsUser: integer(1, 2_147_483_647),
  runAsGroup: integer(0, 2_147_483_647),
  readOnlyRootFilesystem: switched,
  allowPrivilegeEscalation: switched,
  capabilities: object({ add: list(CAPABILITY, 16), drop: list(CAPABILITY, 16) }),
});
const CONTAINER_FIELDS: Fields = {
  name: LABEL,
  image: text(512, '^[a-zA-Z0-9][a-zA-Z0-9._:/@-]*$'),
  imagePullPolicy: choice('Always', 'IfNotPresent', 'Never'),
  command: ARGUMENTS(16),
  args: ARGUMENTS(64),
  env: list(ENV, 64, 'name'),
  envFrom: list(ENV_FROM, 16),
  volumeMounts: list(MOUNT, 32, 'mountPath'),
  ports: list(
    object(
      {
        containerPort: PORT,
        name: text(15, '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'),
        protocol: choice('TCP', 'UDP'),
      },
      'containerPort',
    ),
    16,
    'containerPort',
  ),
  resources: RESOURCES,
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  startupProbe: PROBE,
  securityContext: SECURITY,
};
const CONTAINER = object(CONTAINER_FIELDS, 'name');
const INIT_CONTAINER = object({ ...CONTAINER_FIELDS, restartPolicy: choice('Always') }, 'name');

const ITEMS = list(object({ key: KEY, path: RELATIVE }, 'key', 'path'), 32);
const VOLUME = object(
  {
    name: LABEL,
    configMap: object({ name: NAME, items: ITEMS, defaultMode: MODE, optional: switched }, 'name'),
    secret: object(
      { secretName: NAME, items: ITEMS, defaultMode: MODE, optional: switched },
      'secretName',
    ),
    emptyDir: object({ medium: choice('', 'Memory'), sizeLimit: QUANTITY }),
    persistentVolumeClaim: object({ claimName: NAME, readOnly: switched }, 'claimName'),
  },
  'name',
);
const TAINT_KEY = '^(([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$';
const TOLERATION = object({
  key: { type: 'string', maxLength: 317, pattern: TAINT_KEY },
  operator: choice('Exists', 'Equal'),
  value: LABEL_VALUE,
  effect: choice('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
  tolerationSeconds: { type: 'integer' },
});
const SPREAD = object(
  {
    topologyKey: { type: 'string', minLength: 1, maxLength: 317, pattern: TAINT_KEY },
    whenUnsatisfiable: choice('DoNotSchedule', 'ScheduleAnyway'),
    maxSkew: integer(1, 1000),
    minDomains: integer(1, 1000),
    labelSelector: object({ matchLabels: LABELS }),
  },
  'topologyKey',
  'whenUnsatisfiable',
  'maxSkew',
);

const TEMPLATE = object({
  metadata: object({ labels: LABELS, annotations: map(text(8192), 64) }),
  spec: object({
    containers: list(CONTAINER, 8, 'name'),
    initContainers: list(INIT_CONTAINER, 8, 'name'),
    volumes: list(VOLUME, 32, 'name'),
    nodeSelector: LABELS,
    tolerations: list(TOLERATION, 64),
    affinity: opaque,
    topologySpreadConstraints: list(SPREAD, 16, 'topologyKey', 'whenUnsatisfiable'),
    hostAliases: list(
      object({ ip: ADDRESS, hostnames: { ...list(NAME, 16), minItems: 1 } }, 'ip', 'hostnames'),
      32,
      'ip',
    ),
    dnsPolicy: choice('ClusterFirst', 'Default', 'None'),
    dnsConfig: object({
      nameservers: list(ADDRESS, 3),
      searches: list(NAME, 32),
      options: list(
        object({ name: text(63, '^[a-z][-a-z0-9]*$'), value: text(63, '^[0-9]+$') }, 'name'),
        16,
      ),
    }),
    runtimeClassName: NAME,
    priorityClassName: NAME,
    serviceAccountName: NAME,
    terminationGracePeriodSeconds: integer(0, 86_400),
  }),
});

const ROOT = compile(TEMPLATE);
const KEY_OF_LABEL =
  /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** What is wrong with the form of a template, in the words of the API server. */
export function formProblems(template: unknown, path: string): readonly Problem[] {
  const unknown: string[] = [];
  stored(ROOT, template, path, unknown);
  return [
    ...unknown.map((field) => ({
      path: field,
      message: unknownField(field.slice(path.length + 1)),
    })),
    ...violations(ROOT, template, path).map(({ path: at, message }) => ({ path: at, message })),
    ...keyProblems(template, path),
  ];
}

/** The message of a field that no template has, with the fields that exist. */
function unknownField(field: string): string {
  const steps = field.split('.').slice(0, -1);
  const node = steps.reduce<SchemaNode | undefined>(below, ROOT);
  const names = [...(node?.properties.keys() ?? [])].join(', ');
  return `Forbidden: a pod template may not set this field; supported fields: ${names}`;
}

function below(node: SchemaNode | undefined, step: string): SchemaNode | undefined {
  const [name = '', item] = step.split('[');
  const child = node?.properties.get(name);
  return item === undefined ? child : child?.item;
}

const KEYED = [
  ['metadata', 'labels'],
  ['metadata', 'annotations'],
  ['spec', 'nodeSelector'],
] as const;

function keyProblems(template: unknown, path: string): readonly Problem[] {
  return KEYED.flatMap(([part, field]) => {
    const outer = isObject(template) ? template[part] : undefined;
    const keys = isObject(outer) && isObject(outer[field]) ? Object.keys(outer[field]) : [];
    return keys
      .filter((key) => !KEY_OF_LABEL.test(key))
      .map((key) => ({
        path: `${path}.${part}.${field}`,
        message: `Invalid value: ${JSON.stringify(key)}: a key is a name of at most 63 letters, digits, -, _ and ., after a DNS name and / where it has a prefix`,
      }));
  });
}
