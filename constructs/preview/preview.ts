import { INTEGRATIONS } from '../integrations/index.js';
import { DEFAULT_API_GROUP } from '../kit/definition.js';
import { Stalled, Waiting } from '../kit/errors.js';
import { kindsOf } from '../kit/integration.js';
import type { ClusterReader } from '../kit/kind.js';
import type { KubeObject, Resource } from '../kit/object.js';
import type { Settings } from '../kit/operator-settings.js';
import { StaticReader } from '../kit/static-reader.js';
import { synthesize } from '../kit/synth.js';
import { KINDS, type AnyKind } from '../registry.js';
import {
  accept,
  resourceKey,
  type Accepted,
  type SkippedObject,
  type ObjectProblem,
} from './accept.js';
import { namedApis, namedIntegrations } from './named-apis.js';
import { resolveProblems } from './resolve-problems.js';

/** What a preview assumes about the operator and the cluster. */
export interface PreviewOptions {
  /** API group of the custom resources. @default app-operator.io */
  readonly apiGroup?: string | undefined;
  /** What the operator's administrator decides for every resource. @default DEFAULT_SETTINGS */
  readonly settings?: Settings | undefined;
  /**
   * Optional APIs that the cluster serves, as `<apiVersion>/<kind>`.
   * @default what the resources ask for by name
   */
  readonly serves?: readonly string[] | undefined;
  /**
   * Objects of a cluster, which resources read. The resources then keep their status. What one of
   * them waits for is still assumed to exist.
   * @default the resources only, each once it is reconciled
   */
  readonly cluster?: ClusterObjects | undefined;
}

/** What is known of a cluster. */
export interface ClusterObjects {
  readonly objects: readonly KubeObject[];
  /** The kinds of which `objects` has every object: any other does not exist. */
  readonly complete: ReadonlySet<string>;
}

/** The children of custom resources. Where there are problems, the graph is not complete. */
export interface Preview {
  /** Every child of every bench and site: benches first, each kind by namespace and name. */
  readonly objects: readonly KubeObject[];
  /** The same objects by the resource that they are made from. */
  readonly resources: readonly PreviewedResource[];
  /** The problems, with the messages of admission or of the Ready condition. */
  readonly problems: readonly ObjectProblem[];
  /** Objects that were skipped, and why. */
  readonly skipped: readonly SkippedObject[];
  /** Warnings of admission, what `serves` leaves out, and resources without children. */
  readonly notes: readonly ObjectNote[];
}

/** A custom resource, as it would be stored, and its children. */
export interface PreviewedResource {
  readonly resource: Resource;
  readonly objects: readonly KubeObject[];
}

/** A remark about an object that was given. */
export interface ObjectNote {
  readonly object: object;
  readonly message: string;
  /** The field that it is about. */
  readonly path?: string;
}

/**
 * The complete graph of the benches and sites among objects, as the operator would apply it,
 * without owner references. Pure: the same objects, in any order, give the same graph.
 *
 * Resources are validated and defaulted as at admission. Those without a namespace are in
 * `default`.
 * Secrets that they name are assumed to exist; benches are not, since a site is made from its
 * bench.
 */
export function preview(objects: readonly object[], options: PreviewOptions = {}): Preview {
  const { accepted, refused, problems, skipped } = accept(
    objects,
    options.apiGroup ?? DEFAULT_API_GROUP,
  );
  const resources = accepted.map(({ resource }) => resource);
  const reader = readerOf(resources, options);
  const exact = options.cluster && readerOf(resources, options, options.cluster.complete);
  const ordered = inOrder(accepted);
  const results = ordered.map(
    ([kind, one]) => graphNow(kind, one, exact) ?? childrenOf(kind, one, reader, refused),
  );
  const found = [...problems, ...results.flatMap((result) => result.problems)];
  const children = results.flatMap((result) => result.objects);
  return {
    objects: children,
    resources: ordered.map(([, { resource }], index) => ({
      resource,
      objects: results[index]?.objects ?? [],
    })),
    problems: found,
    skipped,
    notes: [
      ...ordered.flatMap(([kind, one]) => warningsOf(kind, one, reader)),
      ...ordered.flatMap(([, one]) => leftOut(one, reader)),
      ...ordered.flatMap(([, { object }], index) => withoutChildren(object, results[index])),
    ],
  };
}

/** The warnings of admission. */
function warningsOf(
  kind: AnyKind,
  { object, resource }: Accepted,
  reader: ClusterReader,
): readonly ObjectNote[] {
  const warnings = kind.admissionWarnings?.(resource, reader) ?? [];
  return warnings.map(({ path, message }) => ({
    object,
    path,
    message: `warning: ${path}: ${message}`,
  }));
}

/** What a resource asks for, and the named cluster does not have. */
function leftOut({ object, resource }: Accepted, reader: ClusterReader): readonly ObjectNote[] {
  return namedIntegrations(resource)
    .filter((integration) => !kindsOf(integration).every((kind) => reader.serves(kind)))
    .map(({ name, title }) => ({
      object,
      message: `asks for ${title}: its objects are left out without --serves ${name}`,
    }));
}

/** Documents, such as workspaces: a user who looks for their objects in a preview finds none. */
function withoutChildren(
  object: object,
  result: Pick<Preview, 'objects' | 'problems'> | undefined,
): readonly ObjectNote[] {
  if (!result || result.objects.length + result.problems.length > 0) return [];
  const message = 'renders to no objects: the operator writes it into the database of its site';
  return [{ object, message }];
}

/** Kinds whose objects are assumed to exist where they are named. */
const ASSUMED = new Set([
  'PersistentVolumeClaim',
  'Secret',
  'ConfigMap',
  ...INTEGRATIONS.flatMap(({ database }) => database?.serverKinds ?? []).map(({ kind }) => kind),
]);

/**
 * A reader of custom resources: every named Secret and database server exists. Without a cluster each
 * resource is reconciled.
 * @param complete kinds of which only the objects of the cluster exist
 */
export function readerOf(
  resources: readonly Resource[],
  options: PreviewOptions,
  complete: ReadonlySet<string> = new Set(),
): StaticReader {
  const { cluster } = options;
  return new StaticReader({
    objects: cluster ? [...cluster.objects, ...resources] : resources.map(settled),
    ...(options.settings ? { settings: options.settings } : {}),
    serves: options.serves ?? namedApis(resources),
    assume: (kind, namespace, name) =>
      ASSUMED.has(kind) && !complete.has(kind)
        ? { apiVersion: '', kind, metadata: { name, namespace } }
        : undefined,
  });
}

/** Resources are shown as they are once what they refer to is reconciled. */
function settled(resource: Resource): Resource {
  const kind = KINDS.find(({ definition }) => definition.kind === resource.kind);
  const status = kind?.previewStatus?.(resource);
  return status ? { ...resource, status } : resource;
}

/**
 * The children of a resource, in the order in which they are applied.
 * @throws Stalled or Waiting, see `Kind.resolve`
 */
export function graphOf(
  kind: AnyKind,
  resource: Resource,
  reader: StaticReader,
): readonly KubeObject[] {
  const inputs = kind.resolve(resource, reader);
  const stages = synthesize((scope, id) => kind.chart(scope, id, { resource, inputs }));
  return stages.flatMap(({ objects }) => objects);
}

/** The resources by kind, in the order of the registry, then by namespace and name. */
function inOrder(accepted: readonly Accepted[]): readonly (readonly [AnyKind, Accepted])[] {
  const sorted = accepted.toSorted((a, b) =>
    resourceKey(a.resource) < resourceKey(b.resource) ? -1 : 1,
  );
  return KINDS.flatMap((kind) =>
    sorted
      .filter(({ resource }) => resource.kind === kind.definition.kind)
      .map((one) => [kind, one] as const),
  );
}

/** The children in the cluster as it is; undefined where the resource waits for something. */
function graphNow(
  kind: AnyKind,
  { resource }: Accepted,
  reader: StaticReader | undefined,
): Pick<Preview, 'objects' | 'problems'> | undefined {
  if (!reader) return undefined;
  try {
    return { objects: graphOf(kind, resource, reader), problems: [] };
  } catch (error) {
    if (error instanceof Stalled || error instanceof Waiting) return undefined;
    throw error;
  }
}

/** The children of one resource, or its problems. */
function childrenOf(
  kind: AnyKind,
  { object, resource }: Accepted,
  reader: StaticReader,
  refused: ReadonlySet<string>,
): Pick<Preview, 'objects' | 'problems'> {
  try {
    return { objects: graphOf(kind, resource, reader), problems: [] };
  } catch (error) {
    const problems = resolveProblems(error, { kind, resource, reader, refused });
    return { objects: [], problems: problems.map((problem) => ({ object, ...problem })) };
  }
}
