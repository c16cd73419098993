import { Chart } from 'cdk8s';
import type { KindDefinition } from '../kit/definition.js';
import type { SiteDocument } from '../kit/document.js';
import type { Index, Kind, World } from '../kit/kind.js';
import type { Resource } from '../kit/object.js';
import type { DocumentScoped, DocumentStatus } from '../kit/site-api.js';
import { exchange, type Exchange } from './exchange.js';
import { judgeDocument } from './judge.js';
import { refuseTakenDocument } from './rivals.js';
import { documentTeardown } from './teardown.js';

type DocumentSpec = DocumentScoped & { readonly deletionPolicy: string };

/** What makes a kind of documents that have nothing in the cluster but their resource. */
export interface DocumentKindProps<R extends Resource<DocumentSpec, DocumentStatus>> {
  readonly definition: KindDefinition;
  readonly doctype: string;
  /** The field of the spec that names the document. */
  readonly path: string;
  readonly nameOf: (resource: Pick<R, 'spec'>) => string;
  /** @throws Stalled or Waiting, see `Kind.gather` */
  readonly documentOf: (resource: R, world: World) => SiteDocument;
  /** Whether it is worth a word that the site's version does not have a field. @default always */
  readonly tells?: (field: string, resource: R) => boolean;
  /** Further groups by which `documentOf` looks up resources of the kind. */
  readonly indexes?: readonly Index<R>[];
  /** Status fields that say what is waited for. */
  readonly waits?: readonly string[];
}

export interface DocumentFacts extends Exchange {
  readonly name: string;
}

/** A kind of documents of a site. The resource has no children: the engine's Job belongs to the site. */
export function documentKind<R extends Resource<DocumentSpec, DocumentStatus>>(
  props: DocumentKindProps<R>,
): Kind<R, DocumentFacts> {
  const { definition, doctype, path, nameOf, documentOf, tells = () => true } = props;
  const { indexes = [], waits = [] } = props;
  const index: Index<R> = {
    name: `${definition.plural}ByDocument`,
    kind: definition.kind,
    values: (resource) => {
      const { namespace = '' } = resource.metadata;
      // MariaDB tells no names apart that differ in case only.
      const document = nameOf(resource).toLowerCase();
      return [`${namespace}/${resource.spec.siteRef.name}/${document}`];
    },
  };
  return {
    definition,
    owns: [],
    reads: [],
    indexes: [index, ...indexes],
    gather(resource, world) {
      const name = nameOf(resource);
      refuseTakenDocument(resource, index, path, name, world);
      return { ...exchange(resource, documentOf(resource, world), [], world), name };
    },
    chart: (scope, id) => new Chart(scope, id),
    probes: () => [],
    observe({ resource, facts }) {
      const { result, name } = facts;
      const ignored = result?.ignored.filter((field) => tells(field, resource)) ?? [];
      const told = result ? { ...facts, result: { ...result, ignored } } : facts;
      const judgement = judgeDocument(resource, name, told);
      const nothing = Object.fromEntries(waits.map((field) => [field, undefined]));
      return { ...judgement, fields: { ...judgement.fields, ...nothing } };
    },
    teardown: documentTeardown<R>(doctype),
  };
}
