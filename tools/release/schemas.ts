import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { run } from '../../testbed/controlplane/run.js';
import type { Release } from './release.js';

type Node = Readonly<Record<string, unknown>>;

/** Whose schemas of the built-in kinds are used. */
const KUBERNETES = 'v1.36.3';
const DEFINITION = '#/definitions/';
const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
const ANY_QUANTITY: Node = { type: ['string', 'number'] };

/** How kubeconform finds a schema below the folder. */
export const SCHEMA_LOCATION = '{{.ResourceKind}}_{{.Group}}_{{.ResourceAPIVersion}}.json';

/** Writes JSON schemas of our kinds and of those of Kubernetes, which refuse unknown fields. */
export async function writeSchemas({ root, scratch }: Release): Promise<string> {
  const folder = path.join(scratch, 'schemas');
  await mkdir(folder);
  for (const [name, schema] of [...(await ourSchemas(root)), ...(await builtInSchemas())]) {
    await writeFile(path.join(folder, name), JSON.stringify(schema));
  }
  return folder;
}

/** The group of the core kinds is their version, to kubeconform. */
function nameOf(kind: string, group: string, version: string): string {
  return `${kind.toLowerCase()}_${group || version}_${version}.json`;
}

interface Crd {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Node };
    }[];
  };
}

async function ourSchemas(root: string): Promise<(readonly [string, Node])[]> {
  const folder = path.join(root, 'dist/crds');
  const names = await readdir(folder);
  const crds = await Promise.all(
    names.map(async (name) => parse(await readFile(path.join(folder, name), 'utf8')) as Crd),
  );
  return crds.flatMap(
    ({
      spec: {
        group,
        names: { kind },
        versions,
      },
    }) =>
      versions.map(({ name, schema }) => {
        const object = schema.openAPIV3Schema;
        const properties = { ...(object['properties'] as Node), metadata: { type: 'object' } };
        return [nameOf(kind, group, name), strict({ ...object, properties })] as const;
      }),
  );
}

/** From the module of Kubernetes, which has the document that its API server serves. */
async function builtInSchemas(): Promise<(readonly [string, Node])[]> {
  const module = `k8s.io/kubernetes@${KUBERNETES}`;
  const { Dir } = JSON.parse(await run('go', ['mod', 'download', '-json', module])) as {
    readonly Dir: string;
  };
  const text = await readFile(path.join(Dir, 'api/openapi-spec/swagger.json'), 'utf8');
  const { definitions } = JSON.parse(text) as {
    readonly definitions: Readonly<Record<string, Node>>;
  };
  return Object.entries(definitions).flatMap(([name, definition]) => {
    const kinds = (definition['x-kubernetes-group-version-kind'] ?? []) as readonly {
      readonly group: string;
      readonly version: string;
      readonly kind: string;
    }[];
    const [only] = kinds;
    if (!only || kinds.length > 1) return [];
    const schema = { $ref: DEFINITION + name, definitions: reachable(definitions, name) };
    return [[nameOf(only.kind, only.group, only.version), schema] as const];
  });
}

function reachable(definitions: Readonly<Record<string, Node>>, first: string): Node {
  const found = new Map<string, Node>();
  const names = [first];
  for (let name = names.pop(); name !== undefined; name = names.pop()) {
    if (found.has(name)) continue;
    const definition = name === QUANTITY ? ANY_QUANTITY : (definitions[name] ?? {});
    found.set(name, strict(definition));
    const references = JSON.stringify(definition).matchAll(/"#\/definitions\/([^"]+)"/g);
    for (const [, next = ''] of references) names.push(next);
  }
  return Object.fromEntries(found);
}

/** A schema in the words of JSON Schema: without what only Kubernetes knows, and without unknown fields. */
export function strict(schema: Node): Node {
  if (schema['x-kubernetes-int-or-string'] === true || schema['format'] === 'int-or-string') {
    return { type: ['integer', 'string'] };
  }
  const { nullable, type, ...rest } = schema;
  const closed =
    rest['properties'] !== undefined &&
    rest['additionalProperties'] === undefined &&
    rest['x-kubernetes-preserve-unknown-fields'] !== true;
  return {
    ...(type === undefined ? {} : { type: nullable === true ? [type, 'null'] : type }),
    ...Object.fromEntries(
      Object.entries(rest)
        .filter(([name]) => !name.startsWith('x-kubernetes-'))
        .map(([name, value]) => [name, withinSchema(name, value)]),
    ),
    ...(closed ? { additionalProperties: false } : {}),
  };
}

/** The value of a key of a schema, which may be schemas itself. */
function withinSchema(name: string, value: unknown): unknown {
  if (name === 'properties') {
    const entries = Object.entries(value as Readonly<Record<string, Node>>);
    return Object.fromEntries(entries.map(([key, child]) => [key, strict(child)]));
  }
  if (['allOf', 'anyOf', 'oneOf'].includes(name)) return (value as readonly Node[]).map(strict);
  const nested = ['items', 'additionalProperties', 'not'].includes(name);
  return nested && typeof value === 'object' ? strict(value as Node) : value;
}
