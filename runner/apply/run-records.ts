import { withoutValues } from '../api/media-type.js';
import { canonicalJson } from '../../constructs/kit/json/hash.js';
import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { isNotFound } from '../api/api-error.js';
import { MERGE_PATCH, type Client } from '../api/client.js';
import { resourcePath } from '../api/resource-path.js';
import { FIELD_MANAGER, type Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import { readRuns, type CompletedRuns } from '../cache/completed-runs.js';
import { plannedOf, type Plan, type PlannedChild } from '../plan/plan.js';
import { endedJob, isDeletedByUser, isRecorded } from '../plan/recorded-runs.js';

/**
 * Records the Jobs that succeeded in an annotation of the child that holds their data. A record
 * names the last run that began, or nothing: it is taken away before another run begins.
 */
export class RunRecords {
  constructor(
    private readonly props: {
      readonly client: Pick<Client, 'request'>;
      readonly children: ChildCache;
      readonly metadataKeys: MetadataKeys;
    },
  ) {}

  /** Records the Jobs of a plan that have succeeded since. Nothing relies on them before. */
  async record(plan: Plan): Promise<void> {
    const { children } = this.props;
    const holder = plan.holder && children.get(plan.holder.id);
    if (!holder || holder.deleting) return;
    const ended = recorded(plan).filter(
      (planned) => this.#hasSucceeded(plan, planned) && !isRecorded(children, plan, planned),
    );
    if (ended.length === 0) return;
    const kept = recorded(plan).flatMap(({ name }) => {
      const run = holder.runs[name];
      return run === undefined ? [] : [[name, run] as const];
    });
    const now = ended.map(({ name, taskHash = '' }) => [name, taskHash] as const);
    await this.#write(holder, Object.fromEntries([...kept, ...now]));
  }

  /**
   * Reads from the API server what has run before a Job is created, and takes away what is no longer
   * true from then on: the run of this Job, and of those in later stages.
   * @returns whether the run has succeeded before: the Job must not be created
   */
  async begin(plan: Plan, planned: PlannedChild): Promise<boolean> {
    const { client, children, metadataKeys } = this.props;
    if (!plan.holder || planned.taskHash === undefined || planned.advisory) return false;
    const { kind, namespace, name } = plan.holder;
    const deletion = children.deletionOf(plan.holder.id);
    let live: KubeObject;
    try {
      const path = resourcePath(kind, namespace, name);
      live = await client.request<KubeObject>('GET', path, withoutValues(kind));
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
    children.found(kind, live, deletion);
    const holder = children.get(plan.holder.id);
    const runs = readRuns(live.metadata.annotations?.[metadataKeys.completedRuns]);
    if (runs[planned.name] === planned.taskHash && !isDeletedByUser(children, plan, planned)) {
      return true;
    }
    const earlier = earlierThan(plan, planned);
    const kept = Object.entries(runs).filter(([job]) => earlier.has(job));
    if (holder && kept.length < Object.keys(runs).length) {
      await this.#write(holder, Object.fromEntries(kept));
    }
    return false;
  }

  /** Takes away what has run for data that outlives its resource: the cleanup undoes a part of it. */
  async forget(id: string | undefined): Promise<void> {
    const holder = id === undefined ? undefined : this.props.children.get(id);
    if (holder && Object.keys(holder.runs).length > 0) await this.#write(holder, {});
  }

  /** A Job that is being deleted has succeeded, too. */
  #hasSucceeded(plan: Plan, planned: PlannedChild): boolean {
    const { children } = this.props;
    if (planned.taskHash === undefined || isDeletedByUser(children, plan, planned)) return false;
    const child = children.get(planned.id) ?? endedJob(children, plan, planned);
    return child?.taskHash === planned.taskHash && child.job?.succeeded === true;
  }

  async #write({ id, kind, namespace, name, uid }: Child, runs: CompletedRuns): Promise<void> {
    const { client, children, metadataKeys } = this.props;
    const text = Object.keys(runs).length === 0 ? null : canonicalJson(runs);
    const path = resourcePath(kind, namespace, name);
    await children.writing(id, async () => {
      const patched = await client.request<KubeObject>('PATCH', path, {
        query: { fieldManager: FIELD_MANAGER },
        contentType: MERGE_PATCH,
        ...withoutValues(kind),
        body: { metadata: { uid, annotations: { [metadataKeys.completedRuns]: text } } },
      });
      children.put(kind, patched, undefined);
    });
  }
}

/** The Jobs that are recorded: those of advisory stages run again when they are deleted. */
function recorded(plan: Plan): readonly PlannedChild[] {
  return plannedOf(plan).filter(({ taskHash, advisory }) => taskHash !== undefined && !advisory);
}

/** The names of the children in the stages before the one of a child. */
function earlierThan({ stages }: Plan, { id }: PlannedChild): ReadonlySet<string> {
  const own = stages.findIndex(({ children }) => children.some((child) => child.id === id));
  return new Set(stages.slice(0, own).flatMap(({ children }) => children.map(({ name }) => name)));
}
