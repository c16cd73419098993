import { groupOf, type KubeObject } from '../../../constructs/kit/object.js';
import { ApiError } from '../../../runner/api/api-error.js';
import type { ManifestObject } from '../../io/manifest-files.js';
import type { Connection } from '../../kube/connect.js';
import type { ServedKind, ServedKinds } from '../../kube/discovery.js';
import { DryRun } from './dry-run.js';
import { objectDiff, type Differences, type ObjectDiff } from './object-diff.js';

/** The field manager of `kubectl apply` without `--server-side`. */
const CLIENT_SIDE = 'kubectl-client-side-apply';

const API_VERSION = /^[\w.-]+(\/[\w.-]+)?$/;

/** The objects of manifest files, compared with the live objects. */
export class FileDiff implements Differences {
  readonly changes: ObjectDiff[] = [];
  readonly problems: string[] = [];
  readonly notes: string[] = [];
  readonly #applied: KubeObject[] = [];
  readonly #dryRun: DryRun;

  constructor(
    private readonly connection: Connection,
    private readonly kinds: ServedKinds,
    private readonly fieldManager: string,
  ) {
    this.#dryRun = new DryRun(connection.client);
  }

  /** Applies an object as a dry run, and adds its diff. */
  async add(manifest: ManifestObject): Promise<void> {
    const problem = kindProblem(manifest);
    if (problem !== undefined) {
      this.problems.push(problem);
      return;
    }
    const object = manifest.object as Partial<KubeObject>;
    const { apiVersion = '', kind: kindName = '', metadata } = object;
    const kind = await this.kinds.of(apiVersion, kindName);
    if (!kind) {
      this.problems.push(`${manifest.at()}: the cluster does not serve ${apiVersion}/${kindName}`);
      return;
    }
    if (!metadata?.name) {
      this.problems.push(`${manifest.at()}: metadata.name: Required value`);
      return;
    }
    try {
      await this.#compare(kind, this.#inNamespace(kind, object as KubeObject));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.problems.push(`${manifest.at()}: ${kindName}/${metadata.name}: ${error.message}`);
    }
  }

  /** The objects as the API server would store them, in the namespaces with custom resources. */
  byNamespace(apiGroup: string): ReadonlyMap<string, readonly KubeObject[]> {
    const all = Map.groupBy(this.#applied, ({ metadata }) => metadata.namespace ?? '');
    const isResource = ({ apiVersion }: KubeObject): boolean => groupOf(apiVersion) === apiGroup;
    return new Map([...all].filter(([, objects]) => objects.some(isResource)));
  }

  #inNamespace({ namespaced }: ServedKind, object: KubeObject): KubeObject {
    if (!namespaced) return object;
    const { namespace = this.connection.namespace } = object.metadata;
    return { ...object, metadata: { ...object.metadata, namespace } };
  }

  async #compare(kind: ServedKind, object: KubeObject): Promise<void> {
    const { name, namespace } = object.metadata;
    const live = await this.#dryRun.live(kind, kind.namespaced ? namespace : undefined, name);
    const after = await this.#dryRun.apply(kind, object, this.fieldManager);
    if (live?.metadata.managedFields?.some(({ manager }) => manager === CLIENT_SIDE))
      this.notes.push(
        `${object.kind}/${name}: applied without --server-side; removed fields are not shown`,
      );
    const diff = objectDiff(live ? 'change' : 'create', null, live, after);
    if (diff) this.changes.push(diff);
    this.#applied.push(withGenerationOf(live, after));
  }
}

/** Why the kind of an object cannot be requested. */
function kindProblem(manifest: ManifestObject): string | undefined {
  for (const field of ['apiVersion', 'kind'] as const) {
    const value = (manifest.object as Readonly<Record<string, unknown>>)[field];
    const place = `${manifest.at(field)}: ${field}`;
    if (value === undefined || value === null || value === '') return `${place}: Required value`;
    const invalid = `${place}: Invalid value: ${JSON.stringify(value)}`;
    if (typeof value !== 'string') return `${invalid}: must be text`;
    if (field === 'apiVersion' && !API_VERSION.test(value))
      return `${invalid}: must be VERSION or GROUP/VERSION`;
  }
  return undefined;
}

/** With the live generation, the status counts as observed: the diff shows the final children. */
function withGenerationOf(live: KubeObject | undefined, after: KubeObject): KubeObject {
  const { generation } = live?.metadata ?? {};
  return generation === undefined
    ? after
    : { ...after, metadata: { ...after.metadata, generation } };
}
