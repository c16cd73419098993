import { Chart } from 'cdk8s';
import type { KindDefinition } from '../kit/definition.js';
import type { SiteDocument } from '../kit/document.js';
import type { Reasons } from '../kit/reasons.js';
import { SITE_REFERENCE } from '../frappe/reasons.js';
import type { Index, Kind, ClusterReader } from '../kit/kind.js';
import type { Resource } from '../kit/object.js';
import type { DocumentScoped, DocumentStatus } from '../kit/site-api.js';
import { DOCUMENT_VIEW } from '../kit/status-view.js';
import { syncDocument, type DocumentSync } from './sync.js';
import { evaluateDocument } from './evaluate.js';
import { refuseTakenDocument } from './conflicts.js';
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
  /** @throws Stalled or Waiting, see `Kind.resolve` */
  readonly documentOf: (resource: R, reader: ClusterReader) => SiteDocument;
  /**
   * What of other documents decides whether this one can be written: it is tried at once when that changes.
   * @throws Waiting
   */
  readonly dependsOn?: (resource: R, reader: ClusterReader) => readonly string[];
  /** Whether it is worth a word that the site's version does not have a field. @default always */
  readonly tells?: (field: string, resource: R) => boolean;
  /** The resources of a document. */
  readonly index: Index<R>;
  /** Further groups by which resources of the kind are looked up. */
  readonly indexes?: readonly Index<R>[];
  /** Status fields that say what is waited for. */
  readonly waits?: readonly string[];
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

/** The index value of a document of a resource's site. MariaDB tells no names apart that differ in case only. */
export function documentKey(
  { metadata, spec }: Resource<DocumentSpec, DocumentStatus>,
  name: string,
): string {
  return `${metadata.namespace ?? ''}/${spec.siteRef.name}/${name.toLowerCase()}`;
}

/** A kind of documents of a site. The resource has no children: the engine's Job belongs to the site. */
export function documentKind<R extends Resource<DocumentSpec, DocumentStatus>>(
  props: DocumentKindProps<R>,
): Kind<R, DocumentInputs> {
  const { definition, doctype, path, index, nameOf, documentOf } = props;
  const {
    dependsOn = () => [],
    tells = () => true,
    indexes = [],
    waits = [],
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
      refuseTakenDocument(resource, index, path, name, reader);
      const versions = dependsOn(resource, reader);
      return { ...syncDocument(resource, documentOf(resource, reader), versions, reader), name };
    },
    chart: (scope, id) => new Chart(scope, id),
    probes: () => [],
    evaluate({ resource, inputs }) {
      const { result, name } = inputs;
      const ignored = result?.ignored.filter((field) => tells(field, resource)) ?? [];
      const told = result ? { ...inputs, result: { ...result, ignored } } : inputs;
      const statusResult = evaluateDocument(resource, name, told);
      const nothing = Object.fromEntries(waits.map((field) => [field, undefined]));
      return { ...statusResult, fields: { ...statusResult.fields, ...nothing } };
    },
    cleanup: documentCleanup<R>(doctype, documentOf),
    statusView: DOCUMENT_VIEW,
  };
}
