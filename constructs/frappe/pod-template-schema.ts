/**
 * The fields of a pod template that a user may set: any other field of a pod is refused, see ADR 21. The
 * types of a template derive from this list. Whether a value is one that a pod can have is for the API
 * server to say; bounds stand here only where the value protects the operator's pods.
 */

import type { Schema } from '../kit/definition.js';
import type { Problem } from '../kit/errors.js';
import { compile, type SchemaNode } from '../kit/schema/node.js';
import { stored } from '../kit/schema/stored-value.js';
import { violations } from '../kit/schema/violations.js';

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;
/** The API server decodes no larger number. */
const INT32 = { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 } as const;
const LABELS = { type: 'object', additionalProperties: TEXT } as const;
const ANY = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

type Fields = Readonly<Record<string, Schema>>;

/** An object of these fields, of which some are required: the keys by which lists are merged. */
const object = <const P extends Fields, const K extends readonly (keyof P & string)[] = []>(
  properties: P,
  ...required: K
) => ({ type: 'object', properties, required }) as const;

const list = <const I extends Schema>(items: I) => ({ type: 'array', items }) as const;

/** A list whose items have keys of their own. */
const keyed = <const I extends Schema>(items: I, ...keys: readonly string[]) =>
  ({
    ...list(items),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': keys,
  }) as const;

/** The API server decodes no object with another one. */
const QUANTITY = {
  type: 'string',
  pattern: '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]{1,2}))?$',
} as const;
const QUANTITIES = { type: 'object', additionalProperties: QUANTITY } as const;

const KEY_REF = object({ name: TEXT, key: TEXT, optional: FLAG });
const OBJECT_REF = object({ name: TEXT, optional: FLAG });
const VARIABLE = object(
  {
    name: TEXT,
    value: TEXT,
    valueFrom: object({
      secretKeyRef: KEY_REF,
      configMapKeyRef: KEY_REF,
      fieldRef: object({ fieldPath: TEXT }),
    }),
  },
  'name',
);
const MOUNT = object(
  { name: TEXT, mountPath: TEXT, subPath: TEXT, readOnly: FLAG },
  'name',
  'mountPath',
);
const PROBE = object({
  exec: object({ command: list(TEXT) }),
  httpGet: object({ path: TEXT, port: INT32, scheme: TEXT }, 'port'),
  tcpSocket: object({ port: INT32 }, 'port'),
  initialDelaySeconds: INT32,
  periodSeconds: INT32,
  timeoutSeconds: INT32,
  failureThreshold: INT32,
});
const SECURITY = object({
  runAsUser: { ...INT32, minimum: 1 },
  runAsGroup: INT32,
  readOnlyRootFilesystem: FLAG,
  allowPrivilegeEscalation: FLAG,
  capabilities: object({ add: list(TEXT), drop: list(TEXT) }),
});
const CONTAINER_FIELDS = {
  name: TEXT,
  image: TEXT,
  imagePullPolicy: TEXT,
  command: list(TEXT),
  args: list(TEXT),
  env: keyed(VARIABLE, 'name'),
  envFrom: list(object({ prefix: TEXT, secretRef: OBJECT_REF, configMapRef: OBJECT_REF })),
  volumeMounts: keyed(MOUNT, 'mountPath'),
  ports: keyed(
    object({ containerPort: INT32, name: TEXT, protocol: TEXT }, 'containerPort'),
    'containerPort',
  ),
  resources: object({ requests: QUANTITIES, limits: QUANTITIES }),
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  startupProbe: PROBE,
  securityContext: SECURITY,
} as const;
const CONTAINER = object(CONTAINER_FIELDS, 'name');
const INIT_CONTAINER = object(
  { ...CONTAINER_FIELDS, restartPolicy: { type: 'string', enum: ['Always'] } },
  'name',
);

const FILES = {
  items: list(object({ key: TEXT, path: TEXT })),
  defaultMode: INT32,
  optional: FLAG,
} as const;
const VOLUME = object(
  {
    name: TEXT,
    configMap: object({ name: TEXT, ...FILES }),
    secret: object({ secretName: TEXT, ...FILES }),
    emptyDir: object({ medium: TEXT, sizeLimit: QUANTITY }),
    persistentVolumeClaim: object({ claimName: TEXT, readOnly: FLAG }),
  },
  'name',
);
const TOLERATION = object({
  key: TEXT,
  operator: TEXT,
  value: TEXT,
  effect: TEXT,
  tolerationSeconds: { type: 'integer' },
});
const SPREAD = object(
  {
    topologyKey: TEXT,
    whenUnsatisfiable: TEXT,
    maxSkew: INT32,
    minDomains: INT32,
    labelSelector: object({ matchLabels: LABELS }),
  },
  'topologyKey',
  'whenUnsatisfiable',
);

const TEMPLATE = object({
  metadata: object({ labels: LABELS, annotations: LABELS }),
  spec: object({
    containers: keyed(CONTAINER, 'name'),
    initContainers: keyed(INIT_CONTAINER, 'name'),
    volumes: keyed(VOLUME, 'name'),
    nodeSelector: LABELS,
    tolerations: list(TOLERATION),
    affinity: ANY,
    topologySpreadConstraints: keyed(SPREAD, 'topologyKey', 'whenUnsatisfiable'),
    hostAliases: keyed(object({ ip: TEXT, hostnames: list(TEXT) }, 'ip'), 'ip'),
    dnsPolicy: TEXT,
    dnsConfig: object({
      nameservers: list(TEXT),
      searches: list(TEXT),
      options: list(object({ name: TEXT, value: TEXT })),
    }),
    runtimeClassName: TEXT,
    priorityClassName: TEXT,
    serviceAccountName: TEXT,
    // The API server takes a negative one for the shortest.
    terminationGracePeriodSeconds: { ...INT32, minimum: 0 },
  }),
});

/** The values that a schema admits. */
type Value<S> = S extends { readonly type: 'string' }
  ? string
  : S extends { readonly type: 'integer' }
    ? number
    : S extends { readonly type: 'boolean' }
      ? boolean
      : S extends { readonly items: infer I }
        ? readonly Value<I>[]
        : S extends { readonly additionalProperties: infer V }
          ? Readonly<Record<string, Value<V>>>
          : S extends { readonly properties: infer P; readonly required: readonly (infer K)[] }
            ? { readonly [N in Extract<keyof P, K>]: Value<P[N]> } & {
                readonly [N in Exclude<keyof P, K>]?: Value<P[N]>;
              }
            : Readonly<Record<string, unknown>>;

/** A pod template of a component, after `templateProblems` has found nothing wrong with it. */
export type CheckedTemplate = Value<typeof TEMPLATE>;
/** What pods have besides what the operator gives them. */
export type TemplatePod = NonNullable<CheckedTemplate['spec']>;
/** A container of the operator, or a further one. */
export type TemplateContainer = Value<typeof INIT_CONTAINER>;
/** A further volume. */
export type TemplateVolume = Value<typeof VOLUME>;

const ROOT = compile(TEMPLATE);

/** Fields of a template that do not exist, or have another type, in the words of the API server. */
export function formProblems(template: unknown, path: string): readonly Problem[] {
  const unknown: string[] = [];
  stored(ROOT, template, path, unknown);
  return [
    ...unknown.map((field) => ({
      path: field,
      message: unknownField(field.slice(path.length + 1)),
    })),
    ...violations(ROOT, template, path).map(({ path: at, message }) => ({ path: at, message })),
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
