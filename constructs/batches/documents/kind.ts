import { Chart } from 'cdk8s';
import type { KindDefinition } from '../../kit/definition.js';
import type { SiteDocument } from '../../kit/document.js';
import { refuse, type Refusal } from '../../kit/errors.js';
import type { Reasons } from '../../kit/reasons.js';
import { SITE_REFERENCE } from '../../frappe/reasons.js';
import type { Index, Kind, ClusterReader } from '../../kit/kind.js';
import type { Resource } from '../../kit/object.js';
import type { DocumentScoped, DocumentStatus } from '../../api/site-scoped.js';
import { syncDocument, type DocumentSync } from './sync.js';
import { evaluateDocument } from './evaluate.js';
import { takenDocument } from './conflicts.js';
import { documentCleanup } from './cleanup.js';
import { DOCUMENT_REASONS, DOCUMENT_STATUS } from './reasons.js';

type DocumentSpec = DocumentScoped & { readonly deletionPolicy: string };

/** What makes a kind of documents that have nothing in the cluster but their resource. */
export interface DocumentKindProps<R extends Resource<DocumentSpec, DocumentStatus>> {
  readonly definition: KindDefinition;
  readonly doctype: string;
  /** The field of the spec that names the document. */
  readonly path: string;
  readonly nameOf: (resource: Pick<R, 'spec'>) => string;
  /** Why the document cannot be written, besides its name. @default nothing */
  readonly refusals?: (resource: R, reader: ClusterReader) => readonly Refusal[];
  /** @throws Stalled or Waiting, see `Kind.resolve` */
  readonly documentOf: (resource: R, reader: ClusterReader) => SiteDocument;
  /**
   * The versions of other documents that decide whether this one can be written: it is tried again
   * at once when they change.
   * @throws Waiting
   */
  readonly dependsOn?: (resource: R, reader: ClusterReader) => readonly string[];
  /** Whether a field that the site's version does not have is reported. @default always */
  readonly reportsIgnored?: (field: string, resource: R) => boolean;
  /** The resources of a document. */
  readonly index: Index<R>;
  /** Further groups by which resources of the kind are looked up. */
  readonly indexes?: readonly Index<R>[];
  /** Status fields that name what the resource waits for. */
  readonly waitingFields?: readonly string[];
  /** Reasons beside those of every document. @default none */
  readonly reasons?: Reasons;
}

export interface DocumentInputs extends DocumentSync {
  readonly name: string;
}

/** The resources of a kind by their document: by `<namespace>/<site>/<name>`, see `documentKey`. */
export function byDocument<R extends Resource<DocumentSpec, DocumentStatus>>(
  { plural, kind }: KindDefinition,
  nameOf: (resource: Pick<R, 'spec'>) => string,
): Index<R> {
  return {
    name: `${plural}ByDocument`,
    kind,
    values: (resource) => [documentKey(resource, nameOf(resource))],
  };
}

/** The index value of a document of a resource's site. MariaDB compares names without case. */
export function documentKey(
  { metadata, spec }: Resource<DocumentSpec, DocumentStatus>,
  name: string,
): string {
  return `${metadata.namespace ?? ''}/${spec.siteRef.name}/${name.toLowerCase()}`;
}

/**
 * A kind of documents of a site. The resource has no children: the engine's Job belongs to the
 * site.
 */
export function documentKind<R extends Resource<DocumentSpec, DocumentStatus>>(
  props: DocumentKindProps<R>,
): Kind<R, DocumentInputs> {
  const { definition, doctype, path, index, nameOf, documentOf } = props;
  const {
    refusals = () => [],
    dependsOn = () => [],
    reportsIgnored = () => true,
    indexes = [],
    waitingFields = [],
    reasons = {},
  } = props;
  return {
    definition,
    owns: [],
    reads: [],
    references: [SITE_REFERENCE],
    reasons: { ...DOCUMENT_REASONS, ...reasons },
    durableStatus: DOCUMENT_STATUS,
    indexes: [index, ...indexes],
    resolve(resource, reader) {
      const name = nameOf(resource);
      const taken = takenDocument(resource, { index, path, name }, reader);
      refuse([...taken, ...refusals(resource, reader)]);
      const versions = dependsOn(resource, reader);
      return { ...syncDocument(resource, documentOf(resource, reader), versions, reader), name };
    },
    chart: (scope, id) => new Chart(scope, id),
    probes: () => [],
    evaluate({ resource, inputs }) {
      const { result, name } = inputs;
      const ignored = result?.ignored.filter((field) => reportsIgnored(field, resource)) ?? [];
      const reported = result ? { ...inputs, result: { ...result, ignored } } : inputs;
      const statusResult = evaluateDocument(resource, name, reported);
      const nothing = Object.fromEntries(waitingFields.map((field) => [field, undefined]));
      return { ...statusResult, fields: { ...statusResult.fields, ...nothing } };
    },
    // A resource that is refused may not have written the document.
    cleanup: documentCleanup<R>(doctype, (resource, reader) => {
      refuse(refusals(resource, reader));
      return documentOf(resource, reader);
    }),
    previewStatus: () => ({ outcome: 'Created' }),
    statusView: { collapsed: true },
  };
}
