import { API_VERSION, type KindDefinition, type Schema } from '../../constructs/kit/definition.js';
import type { Client } from '../api/client.js';
import type { Logger } from '../telemetry/log.js';

export interface CrdCheckProps {
  readonly client: Pick<Client, 'request'>;
  /** The API group of the kinds. */
  readonly group: string;
  readonly definitions: readonly KindDefinition[];
  readonly log: Logger;
  /** Called with a kind whose missing fields have changed. */
  readonly onChange: (kind: string) => void;
}

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
 * Whether the CRDs have every field that this release writes, which is their status: the API server
 * refuses a status with any other. Every user who is authenticated may read the schemas.
 */
export class CrdCheck {
  readonly #missing = new Map<string, readonly string[]>();
  #url: string | undefined;

  constructor(private readonly props: CrdCheckProps) {}

  /** Reads the schemas if they have changed. A failure is logged: nothing depends on this. */
  async refresh(): Promise<void> {
    const { client, group, log } = this.props;
    try {
      const { paths } = await client.request<OpenApiIndex>('GET', '/openapi/v3');
      const url = paths?.[`apis/${group}/${API_VERSION}`]?.serverRelativeURL;
      if (url === undefined || url === this.#url) return;
      const { components } = await client.request<OpenApiDocument>('GET', url);
      for (const definition of this.props.definitions) {
        const found = Object.values(components?.schemas ?? {}).find((schema) =>
          schema['x-kubernetes-group-version-kind']?.some(({ kind }) => kind === definition.kind),
        );
        if (found) this.#set(definition, found);
      }
      this.#url = url;
    } catch (error) {
      log.debug('served schemas cannot be read', { error });
    }
  }

  /** The status fields that the CRD of a kind does not have, such as `status.image`. */
  missing(kind: string): readonly string[] {
    return this.#missing.get(kind) ?? [];
  }

  /** Why the CRD of a kind cannot hold each status; undefined where it can. */
  problemOf({ kind, plural }: Pick<KindDefinition, 'kind' | 'plural'>): string | undefined {
    const missing = this.missing(kind);
    if (missing.length === 0) return undefined;
    return `CRD ${plural}.${this.props.group}: lacks fields of this release: ${listed(missing)}; nothing is changed until you apply the CRDs of this release`;
  }

  #set({ kind, plural, status }: KindDefinition, served: ServedSchema): void {
    const { log, group, onChange } = this.props;
    const missing = takesAnything(served)
      ? []
      : missingFields(status, served.properties?.['status'], 'status');
    if (this.missing(kind).join() === missing.join()) return;
    this.#missing.set(kind, missing);
    const crd = `${plural}.${group}`;
    if (missing.length > 0) {
      const message = 'CRD is older than the operator; apply the CRDs of this release';
      log.warn(message, { crd, missing: listed(missing) });
    } else log.info('CRD has all fields of this release', { crd });
    onChange(kind);
  }
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
  const { items, additionalProperties: values } = wanted;
  const servedValues = served.additionalProperties;
  return [
    ...Object.entries(wanted.properties ?? {}).flatMap(([name, schema]) =>
      missingFields(schema, served.properties?.[name], `${path}.${name}`),
    ),
    ...(items ? missingFields(items, served.items, `${path}[]`) : []),
    ...(typeof values === 'object' && typeof servedValues === 'object'
      ? missingFields(values, servedValues, `${path}.*`)
      : []),
  ];
}

function takesAnything(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true;
}
