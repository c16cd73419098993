import { DEFAULT_API_GROUP, objectKind } from '../../../constructs/kit/definition.js';
import { isPaused } from '../../../constructs/kit/annotations.js';
import { canonicalJson } from '../../../constructs/kit/json/hash.js';
import { metadataKeysFor } from '../../../constructs/kit/metadata-keys.js';
import { groupOf, type KubeObject, type Resource } from '../../../constructs/kit/object.js';
import { Job, kindId, Secret, type ObjectKind } from '../../../constructs/kit/object-kind.js';
import type { Settings } from '../../../constructs/kit/operator-settings.js';
import { resourceKey } from '../../../constructs/preview/accept.js';
import { nameOf } from '../../../constructs/preview/manifest-error.js';
import { preview } from '../../../constructs/preview/preview.js';
import { ApiError, isNotFound } from '../../../runner/api/api-error.js';
import { APPLY_PATCH } from '../../../runner/api/client.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import { mayPrune } from '../../../runner/apply/prune.js';
import { childOf, FIELD_MANAGER, isCreateOnly } from '../../../runner/cache/child.js';
import type { Outcome, Run } from '../../arguments/command.js';
import { UsageError } from '../../arguments/errors.js';
import { settingsOf } from '../../arguments/shared-flags.js';
import { readInput, type ManifestObject } from '../../io/manifest-files.js';
import { connected, type Connection } from '../../kube/connect.js';
import { ServedKinds } from '../../kube/discovery.js';
import * as kinds from '../../kube/kinds.js';
import { takeSnapshot, type ClusterSnapshot } from '../../kube/snapshot.js';
import type { DIFF_FLAGS } from './flags.js';
import { patchOf } from './patch.js';

export const runDiff: Run<typeof DIFF_FLAGS> = async ({ values }, io) => {
  const { filename: files, recursive = false, 'field-manager': manager = 'kubectl' } = values;
  if (files.length === 0) throw new UsageError('diff needs -f FILE, -f FOLDER or -f -');
  const { objects, problems } = await readInput(files, recursive, io);
  if (problems.length > 0) return { err: problems, code: 2 };
  if (objects.length === 0) return { err: ['nothing to compare: the input is empty'], code: 2 };
  const { 'api-group': apiGroup = DEFAULT_API_GROUP } = values;
  return connected(values, io, async (connection): Promise<Outcome> => {
    const diff = new Diff(connection, { apiGroup, settings: settingsOf(values, io.env) });
    for (const object of objects) await diff.addFile(object, manager);
    for (const namespace of diff.namespaces) await diff.compareChildren(namespace);
    const code = diff.problems.length > 0 ? 2 : diff.patches.length > 0 ? 1 : 0;
    return { out: diff.patches.join(''), err: [...diff.notes, ...diff.problems], code };
  });
};

/** What applying some files would change. */
class Diff {
  readonly patches: string[] = [];
  readonly problems: string[] = [];
  readonly notes: string[] = [];
  readonly namespaces = new Set<string>();
  /** The resources of the files as the API server would store them, and where they are written. */
  readonly #given = new Map<KubeObject, string>();

  constructor(
    private readonly connection: Connection,
    private readonly options: { readonly apiGroup: string; readonly settings: Settings },
  ) {}

  /** Compares an object of a file by a dry run, which validates it and sets defaults. */
  async addFile(file: ManifestObject, fieldManager: string): Promise<void> {
    const { object } = file;
    const { apiVersion, kind = '', metadata } = object as Partial<KubeObject>;
    const place = `${file.at()}: ${nameOf(object)}`;
    const definition = kinds.kindNamed(kind)?.definition;
    if (typeof apiVersion !== 'string' || groupOf(apiVersion) !== this.options.apiGroup) {
      this.notes.push(`${place}: skipped: not of the API group ${this.options.apiGroup}`);
    } else if (!definition || !metadata?.name) {
      const problem = definition ? 'metadata.name: Required value' : 'kind: Unsupported value';
      this.problems.push(`${place}: ${problem}`);
    } else {
      const { namespace = this.connection.namespace } = metadata;
      const wanted = { ...(object as KubeObject), metadata: { ...metadata, namespace } };
      const served = { ...objectKind(definition, this.options.apiGroup), apiVersion };
      await this.#add(place, async () => {
        const { live, after } = await this.#dryRun(served, wanted, fieldManager);
        // With the live generation, the status counts as observed: the final children are shown.
        const { generation = 1 } = live?.metadata ?? {};
        this.#given.set({ ...after, metadata: { ...after.metadata, generation } }, place);
        this.namespaces.add(namespace);
        return patchOf(live, after);
      });
    }
  }

  /** Compares the children of the files' resources, and changed children of other resources. */
  async compareChildren(namespace: string): Promise<void> {
    const { client } = this.connection;
    const listings = kinds.treeListings(this.options.apiGroup);
    const snapshot = await takeSnapshot(client, listings, namespace);
    const hidden = snapshot.omitted.map(({ what }) => what).join(', ');
    if (hidden !== '') this.notes.push(`not compared: ${hidden} (forbidden: list)`);
    const live = kinds.resourceKinds(this.options.apiGroup).flatMap((kind) => snapshot.of(kind));
    const given = [...this.#given.keys()].filter((one) => one.metadata.namespace === namespace);
    const options = {
      ...this.options,
      serves: await new ServedKinds(client).among(kinds.optionalKinds()),
      cluster: {
        objects: listings.flatMap(({ kind }) => snapshot.of(kind)),
        // Of other kinds the snapshot lacks what others made, or what another namespace has.
        complete: new Set(snapshot.lists(Secret) ? [Secret.kind] : []),
      },
    };
    const before = new Map(preview(live, options).objects.map((one) => [resourceKey(one), one]));
    const wanted = new Map([...live, ...given].map((one) => [resourceKey(one), one]));
    const after = preview([...wanted.values()], options);
    for (const { object, path, message } of after.problems) {
      const place = this.#given.get(object as KubeObject);
      if (place !== undefined) this.problems.push(`${place}: ${path}: ${message}`);
    }
    const names = new Set(given.map(resourceKey));
    for (const { resource, objects } of after.resources) {
      // The operator leaves the objects of a resource that is paused, or has a problem.
      if (isPaused(resource) || resource.metadata.deletionTimestamp || objects.length === 0)
        continue;
      const isGiven = names.has(resourceKey(resource));
      for (const object of objects) {
        const old = before.get(resourceKey(object));
        if (isGiven || canonicalJson(old) !== canonicalJson(object))
          await this.#add(`${nameOf(object)} of ${nameOf(resource)}`, () =>
            this.#compareChild(object, old, snapshot),
          );
      }
      const planned = new Set(objects.map(resourceKey));
      const dropped = this.#childrenOf(resource, snapshot).filter(
        (object) =>
          !planned.has(resourceKey(object)) && (isGiven || before.has(resourceKey(object))),
      );
      this.patches.push(...dropped.map((object) => patchOf(object, undefined)));
    }
  }

  /** The objects of a resource that are deleted once they are not planned. */
  #childrenOf(resource: Resource, snapshot: ClusterSnapshot): readonly KubeObject[] {
    return kinds.childKinds().flatMap((kind) =>
      snapshot.of(kind).filter((object) => {
        const child = childOf(kind, object, metadataKeysFor(this.options.apiGroup));
        return child.owner === resourceKey(resource) && mayPrune(child, resource);
      }),
    );
  }

  async #compareChild(
    object: KubeObject,
    old: KubeObject | undefined,
    snapshot: ClusterSnapshot,
  ): Promise<string> {
    const keys = metadataKeysFor(this.options.apiGroup);
    const kind = kinds.childKinds().find((one) => kindId(one) === kindId(object)) ?? Job;
    // Tasks and hashes depend on versions of Secrets.
    const knowsSecrets = snapshot.lists(Secret);
    const { annotations = {} } = object.metadata;
    if (!isCreateOnly(kind.kind, annotations, keys)) {
      const { live, after } = await this.#dryRun(kind, object, FIELD_MANAGER);
      return patchOf(live, after, knowsSecrets ? [] : [keys.configHash]);
    }
    if (!snapshot.lists(kind)) return '';
    const live = snapshot.of(kind).find((one) => resourceKey(one) === resourceKey(object));
    if (!live) return patchOf(undefined, object);
    // The operator replaces a Job that has another task, and never changes a generated Secret.
    const present = (knowsSecrets ? live : old)?.metadata.annotations?.[keys.run];
    return present === annotations[keys.run] ? '' : patchOf(old ?? live, object);
  }

  /** The live object, and what a forced server-side apply would make of it. @throws ApiError */
  async #dryRun(kind: ObjectKind, body: KubeObject, fieldManager: string) {
    const { client } = this.connection;
    const path = resourcePath(kind, body.metadata.namespace, body.metadata.name);
    const live = await client.request<KubeObject>('GET', path).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const query = { dryRun: 'All', fieldManager, force: 'true', fieldValidation: 'Strict' };
    const options = { query, contentType: APPLY_PATCH, body };
    return { live, after: await client.request<KubeObject>('PATCH', path, options) };
  }

  /** Adds a patch, or the message of the API server. */
  async #add(place: string, compare: () => Promise<string>): Promise<void> {
    try {
      const patch = await compare();
      if (patch !== '') this.patches.push(patch);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.problems.push(`${place}: ${error.message}`);
    }
  }
}
