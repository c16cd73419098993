import { API_VERSION, type KindDefinition, type Schema } from '../../constructs/kit/definition.js';
import type { Client } from '../api/client.js';
import type { Logger } from '../telemetry/log.js';

/** The fields of a kind that the cluster's CRD does not have. */
export interface MissingFields {
  readonly spec: readonly string[];
  /** The API server refuses a status with any of these. */
  readonly status: readonly string[];
}

export interface ServedSchemasProps {
  readonly client: Pick<Client, 'request'>;
  /** The API group of the kinds. */
  readonly group: string;
  readonly definitions: readonly KindDefinition[];
  readonly log: Logger;
  /** Called with a kind whose missing fields have changed. */
  readonly onChange: (kind: string) => void;
}

const NOTHING_MISSING: MissingFields = { spec: [], status: [] };
/** Fields that a message names. */
const NAMED = 5;

/** The index of the OpenAPI documents; the URL of each has the hash of its content. */
interface OpenApiIndex {
  readonly paths?: Readonly<Record<string, { readonly serverRelativeURL?: string }>>;
}

interface OpenApiDocument {
  readonly components?: { readonly schemas?: Readonly<Record<string, ServedSchema>> };
}

interface ServedSchema extends Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly kind?: string }[];
}

/**
 * Compares the schemas that the API server has of our kinds with those of this release. Every user who
 * is authenticated may read them.
 */
export class ServedSchemas {
  readonly #missing = new Map<string, MissingFields>();
  #url: string | undefined;

  constructor(private readonly props: ServedSchemasProps) {}

  /** Reads the schemas if they have changed. A failure is logged: nothing depends on this. */
  async refresh(): Promise<void> {
    const { client, group, log } = this.props;
    try {
      const { paths } = await client.request<OpenApiIndex>('GET', '/openapi/v3');
      const url = paths?.[`apis/${group}/${API_VERSION}`]?.serverRelativeURL;
      if (url === undefined || url === this.#url) return;
      this.#compare(await client.request<OpenApiDocument>('GET', url));
      this.#url = url;
    } catch (error) {
      log.debug('served schemas cannot be read', { error });
    }
  }

  /** The fields that the CRD of a kind does not have. */
  missingOf(kind: string): MissingFields {
    return this.#missing.get(kind) ?? NOTHING_MISSING;
  }

  /** Why no status of a kind can be written; undefined where it can. */
  problemOf({ kind, plural }: Pick<KindDefinition, 'kind' | 'plural'>): string | undefined {
    const { status } = this.missingOf(kind);
    if (status.length === 0) return undefined;
    return `CRD ${plural}.${this.props.group}: lacks fields of this release: ${listed(status)}; apply the CRDs of this release`;
  }

  #compare({ components }: OpenApiDocument): void {
    const served = Object.values(components?.schemas ?? {});
    for (const definition of this.props.definitions) {
      const found = served.find((schema) =>
        schema['x-kubernetes-group-version-kind']?.some(({ kind }) => kind === definition.kind),
      );
      if (found) this.#set(definition, found);
    }
  }

  #set({ kind, plural, spec, status }: KindDefinition, served: ServedSchema): void {
    const { log, group, onChange } = this.props;
    const missing = takesAnything(served)
      ? NOTHING_MISSING
      : {
          spec: missingFields(spec, served.properties?.['spec'], 'spec'),
          status: missingFields(status, served.properties?.['status'], 'status'),
        };
    const before = this.missingOf(kind);
    if (same(before.spec, missing.spec) && same(before.status, missing.status)) return;
    this.#missing.set(kind, missing);
    const fields = [...missing.spec, ...missing.status];
    if (fields.length > 0) {
      const message = 'CRD is older than the operator; apply the CRDs of this release';
      log.warn(message, { crd: `${plural}.${group}`, missing: listed(fields) });
    } else log.info('CRD has all fields of this release', { crd: `${plural}.${group}` });
    onChange(kind);
  }
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.join() === b.join();
}

function listed(fields: readonly string[]): string {
  const more = fields.length > NAMED ? ` (and ${fields.length - NAMED} more)` : '';
  return fields.slice(0, NAMED).join(', ') + more;
}

/** The paths in a schema that a served one does not have; of fields that are missing, not what is below. */
export function missingFields(
  wanted: Schema,
  served: Schema | undefined,
  path: string,
): readonly string[] {
  if (served === undefined) return [path];
  if (takesAnything(served)) return [];
  const fields = Object.entries(wanted.properties ?? {}).flatMap(([name, schema]) =>
    missingFields(schema, served.properties?.[name], `${path}.${name}`),
  );
  const { items, additionalProperties: values } = wanted;
  const servedValues = served.additionalProperties;
  return [
    ...fields,
    ...(items ? missingFields(items, served.items, `${path}[]`) : []),
    ...(typeof values === 'object' && typeof servedValues === 'object'
      ? missingFields(values, servedValues, `${path}.*`)
      : []),
  ];
}

function takesAnything(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true;
}
