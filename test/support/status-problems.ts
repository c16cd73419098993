import type { KindDefinition, Schema } from '../../constructs/kit/definition.js';
import { isObject } from '../../constructs/kit/json/is-object.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { admit } from '../../constructs/kit/schema/admit.js';

/**
 * Why the API server would refuse a status: the kind's schema, the formats in it, the size of the
 * object, and texts that are no Unicode.
 */
export function statusProblems(
  definition: KindDefinition,
  resource: KubeObject,
  status: object,
): readonly string[] {
  const { problems, pruned } = admit(
    { ...definition, spec: definition.status },
    { ...resource, spec: status, status: undefined },
  );
  const text = JSON.stringify(status);
  return [
    ...problems.map(({ path, message }) => `${path}: ${message}`),
    ...pruned.map((path) => `${path}: unknown field`),
    ...formatProblems(definition.status, status, 'status'),
    ...reasonProblems(status),
    // The managed fields take about as much again; etcd takes 1.5 MiB.
    ...(text.length > 700_000 ? [`${text.length} bytes`] : []),
    ...(/\\ud[89a-f]/.test(text) ? ['half a character'] : []),
  ];
}

/** The formats that Kubernetes validates. */
const FORMATS: Readonly<Record<string, (value: unknown) => boolean>> = {
  'date-time': (value) =>
    typeof value === 'string' && new Date(value).toISOString() === value.replace('Z', '.000Z'),
  int32: (value) => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31,
  int64: (value) => Number.isSafeInteger(value),
};

function formatProblems(schema: Schema, value: unknown, path: string): readonly string[] {
  const { items, properties = {}, format = '' } = schema;
  const isSound = FORMATS[format];
  if (isSound && !isValid(isSound, value)) return [`${path}: no ${format}: ${String(value)}`];
  if (Array.isArray(value) && items) {
    return value.flatMap((item, i) => formatProblems(items, item, `${path}[${i}]`));
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const child = properties[name];
    return child && field !== undefined ? formatProblems(child, field, `${path}.${name}`) : [];
  });
}

function isValid(isSound: (value: unknown) => boolean, value: unknown): boolean {
  try {
    return isSound(value);
  } catch {
    return false;
  }
}

function reasonProblems(status: object): readonly string[] {
  const { conditions = [] } = status as { conditions?: readonly { readonly reason: string }[] };
  return conditions
    .filter(({ reason }) => !/^[A-Za-z][A-Za-z0-9_]{0,1023}$/.test(reason))
    .map(({ reason }) => `reason ${reason}`);
}
