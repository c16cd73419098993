/**
 * A second version of two kinds, which only tests serve. It has each sort of change that a new
 * version may bring: other names, another type, and one spelling in place of two.
 */
import { type FieldChange, type KindVersion, renamed } from '../../constructs/kit/conversion.js';
import type { KindDefinition, Schema } from '../../constructs/kit/definition.js';
import { appBench } from '../../constructs/kinds/bench/definition.js';
import { appSite } from '../../constructs/kinds/site/definition.js';

const VERSION = 'v1beta1';

/** One list in place of `apps` and `appsJSON`. */
const apps: FieldChange = {
  name: 'apps',
  stored: ['apps', 'appsJSON'],
  served: ['apps'],
  toServed: ({ apps: list, appsJSON }) => {
    const found = list ?? namesIn(appsJSON)?.map((name) => ({ name }));
    return found === undefined ? {} : { apps: found };
  },
  toStored: (fields) => fields,
};

/** A number of its own in place of one of two words. */
const workloads: FieldChange = {
  name: 'workloads',
  stored: ['workloads'],
  served: ['sharedWorkloads'],
  toServed: ({ workloads: kind }) =>
    kind === undefined ? {} : { sharedWorkloads: kind === 'Shared' },
  toStored: ({ sharedWorkloads }) =>
    sharedWorkloads === undefined ? {} : { workloads: sharedWorkloads ? 'Shared' : 'Dedicated' },
};

function namesIn(text: unknown): readonly unknown[] | undefined {
  try {
    const names: unknown = typeof text === 'string' ? JSON.parse(text) : undefined;
    return Array.isArray(names) && names.every((name) => typeof name === 'string')
      ? names
      : undefined;
  } catch {
    return undefined;
  }
}

export const V1BETA1: readonly KindVersion[] = [
  version(appBench, [renamed('dbConfig', 'database'), renamed('redisConfig', 'redis'), apps], {}),
  version(appSite, [renamed('siteName', 'hostName'), renamed('dbConfig', 'database'), workloads], {
    sharedWorkloads: {
      type: 'boolean',
      default: false,
      description: 'Uses the bench’s workloads.',
    },
  }),
];

/** The schema of the stored version, with other fields. */
function version(
  definition: KindDefinition,
  changes: readonly FieldChange[],
  added: Readonly<Record<string, Schema>>,
): KindVersion {
  const { properties = {}, required = [], ...spec } = definition.spec;
  const newName = (name: string): string => {
    const change = changes.find(({ stored }) => stored.includes(name));
    return change?.served.length === 1 ? (change.served[0] ?? name) : name;
  };
  const fields = Object.entries(properties).map(
    ([name, schema]) => [newName(name), schema] as const,
  );
  const rules = spec['x-kubernetes-validations']?.filter(
    ({ rule }) => !changes.some(({ stored }) => stored.some((name) => rule.includes(`.${name}`))),
  );
  return {
    name: VERSION,
    changes,
    definition: {
      ...definition,
      spec: {
        ...spec,
        required: required.map(newName),
        // The list comes after the string, which has no name of its own any more.
        properties: {
          ...Object.fromEntries(fields.reverse()),
          ...listOfApps(properties),
          ...added,
        },
        ...(rules && { 'x-kubernetes-validations': rules }),
      },
    },
  };
}

function listOfApps({ apps: list }: Readonly<Record<string, Schema>>): Record<string, Schema> {
  return list ? { apps: list } : {};
}
