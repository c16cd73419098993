import { toYaml } from '../../../cli/io/yaml.js';

/** A value of the chart. */
export interface Value {
  readonly default: unknown;
  readonly description: string;
  /** JSON schema of it, without a description. */
  readonly schema: object;
}

/** Values under one name. */
export interface Group {
  readonly description: string;
  readonly values: Values;
}

export interface Values {
  readonly [name: string]: Value | Group;
}

const INDENT = '  ';

/** `values.yaml`: every value with what it means. */
export function valuesYaml(values: Values, indent = ''): string {
  return Object.entries(values)
    .map(([name, value]) => {
      const comment = `${indent}# ${value.description}\n`;
      if (isGroup(value)) {
        return `${comment}${indent}${name}:\n${valuesYaml(value.values, indent + INDENT)}`;
      }
      const text = toYaml([{ [name]: value.default }]);
      return comment + text.replaceAll(/^(?=.)/gm, indent);
    })
    .join(indent ? '' : '\n');
}

/** `values.schema.json`: nothing but these values, each by its schema. */
export function valuesSchema(values: Values): object {
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...objectOf(values) };
}

function objectOf(values: Values): object {
  const properties = Object.entries(values).map(([name, value]) => {
    const { description } = value;
    return isGroup(value)
      ? [name, { description, ...objectOf(value.values) }]
      : [name, { description, default: value.default, ...value.schema }];
  });
  return {
    type: 'object',
    additionalProperties: false,
    properties: {
      ...(Object.fromEntries(properties) as object),
    },
  };
}

/** A table of the values for a README: name, default, meaning. */
export function valuesTable(values: Values): string {
  const rows = rowsOf(values, '').map((cells) => `| ${cells.join(' | ')} |`);
  return ['| value | default | what it does |', '| --- | --- | --- |', ...rows].join('\n');
}

function rowsOf(values: Values, prefix: string): string[][] {
  return Object.entries(values).flatMap(([name, value]) =>
    isGroup(value)
      ? rowsOf(value.values, `${prefix}${name}.`)
      : [[`\`${prefix}${name}\``, `\`${JSON.stringify(value.default)}\``, value.description]],
  );
}

function isGroup(value: Value | Group): value is Group {
  return 'values' in value;
}
