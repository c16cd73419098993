import type { Problem } from '../constructs/kit/errors.js';
import { Stalled, Waiting } from '../constructs/kit/errors.js';
import { hashOf } from '../constructs/kit/hash.js';
import type { ChildView, ProbeResult } from '../constructs/kit/kind.js';
import type { Markers } from '../constructs/kit/labels.js';
import { keyOf, type KubeObject, type Resource } from '../constructs/kit/object.js';
import type { ObjectKind } from '../constructs/kit/object-kind.js';
import type { AnyKind } from '../constructs/registry.js';
import { Applier, type ChangeEntry } from './apply.js';
import type { Child } from './child.js';
import { digestOf, type ChildCache } from './child-cache.js';
import type { Diagnostician } from './diagnose.js';
import type { Finalizer } from './finalizer.js';
import { planOf, type Plan, type PlannedChild } from './plan.js';
import type { Prober } from './probe.js';
import { judgement, reportOf, type Report } from './report.js';
import type { Subscriptions } from './world.js';

export interface ReconcilerProps {
  readonly kind: AnyKind;
  /** The kind as an object of the API. */
  readonly api: ObjectKind;
  /** The kinds of children, by `<apiVersion>/<kind>`. */
  readonly kinds: ReadonlyMap<string, ObjectKind>;
  readonly markers: Markers;
  readonly subscriptions: Subscriptions;
  readonly children: ChildCache;
  readonly applier: Applier;
  readonly finalizer: Finalizer;
  readonly diagnostician: Diagnostician;
  /** undefined where sites are not to be asked over HTTP. */
  readonly prober: Prober | undefined;
  /** What the schema and its rules have against a resource. */
  readonly validate: (resource: Resource) => readonly Problem[];
  /** Takes in a resource as the server answered it. */
  readonly remember: (resource: KubeObject) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What is known of a resource between two visits; all of it can be lost. */
interface Memory {
  uid: string;
  generation: number;
  problems: readonly Problem[];
  planKey: string;
  plan: Plan | undefined;
  facts: unknown;
  probedAt: number;
  probeFailures: number;
  readonly retries: Map<string, number>;
}

const PROBE_FRESH_MS = 60_000;
const JOB_RETRY_MS = { first: 30_000, most: 600_000 };
/** A workload that is not ready for this long is looked into. */
const PATIENCE_MS = 20_000;

/** Brings one resource of a kind, and what it owns, to what it should be. One visit is one call. */
export class Reconciler {
  readonly #memories = new Map<string, Memory>();
  readonly #pendingSince = new Map<string, number>();

  constructor(private readonly props: ReconcilerProps) {}

  /** Visits a resource. What is wrong is in the report; nothing is thrown but what nobody expected. */
  async visit(resource: Resource, failures: number): Promise<Report> {
    const deleting = resource.metadata.deletionTimestamp !== undefined;
    try {
      if (isPaused(resource, this.props.markers)) return paused(resource);
      return deleting ? await this.#remove(resource) : await this.#converge(resource);
    } catch (error) {
      const phase = deleting ? 'Deleting' : phaseBefore(resource, error);
      const report = reportOf(error, phase, failures);
      if (!report) throw error;
      return report;
    }
  }

  forget(key: string): void {
    this.#memories.delete(key);
    this.#pendingSince.delete(key);
    this.props.subscriptions.forget(this.#reader(key));
  }

  async #converge(seen: Resource): Promise<Report> {
    const resource = await this.#finalized(seen);
    const memory = this.#memory(resource);
    if (memory.problems.length > 0) throw Stalled.invalid(memory.problems);
    const plan = this.#plan(resource, memory);
    this.#trust(resource, plan);
    const retry = await this.#retryFailedJobs(plan, memory);
    const { changes, complete } = await this.#apply(resource, plan);
    if (complete) changes.push(...(await this.#prune(resource, plan)));
    const report = await this.#observe(resource, plan, memory, complete);
    return { ...report, changes, requeueAfterMs: earliest(report.requeueAfterMs, retry) };
  }

  async #finalized(resource: Resource): Promise<Resource> {
    const { finalizer, kind, api, remember } = this.props;
    const needed = kind.teardown.needed(resource);
    if (needed === finalizer.has(resource)) return resource;
    const now = await finalizer.set(api, resource, needed);
    if (!now) throw new Error('the resource is gone');
    remember(now);
    return now as Resource;
  }

  /** Gathers the facts, and synthesizes again where they or the spec have changed. */
  #plan(resource: Resource, memory: Memory): Plan {
    const { kind, kinds, markers, subscriptions } = this.props;
    const session = subscriptions.session(this.#reader(keyOfResource(resource)));
    try {
      memory.facts = kind.gather(resource, session.world);
    } finally {
      session.commit();
    }
    const { facts } = memory;
    const planKey = hashOf([resource.metadata.uid, resource.metadata.generation, facts]);
    if (!memory.plan || memory.planKey !== planKey) {
      memory.plan = planOf(resource, kinds, markers, (scope, id) =>
        kind.chart(scope, id, { resource, facts }),
      );
      memory.planKey = planKey;
    }
    return memory.plan;
  }

  /** After a start: children that are just as they were left need no write. */
  #trust(resource: Resource, plan: Plan): void {
    const { children } = this.props;
    const { appliedHash } = (resource.status ?? {}) as { readonly appliedHash?: string };
    const planned = plannedOf(plan);
    if (appliedHash === undefined || planned.some(({ id }) => children.applied(id))) return;
    if (this.#digest(planned) !== appliedHash) return;
    for (const { id, hash } of planned) children.trust(id, hash);
  }

  #digest(planned: readonly PlannedChild[]): string {
    return digestOf(
      planned.map(({ id, hash }) => {
        const child = this.props.children.get(id);
        return [id, hash, child?.seeded ?? child?.owned];
      }),
    );
  }

  /** Applies stage by stage, as far as the gates are open. Never waits: the next event comes back here. */
  async #apply(
    resource: Resource,
    plan: Plan,
  ): Promise<{ readonly changes: ChangeEntry[]; readonly complete: boolean }> {
    const { applier, children } = this.props;
    const changes: ChangeEntry[] = [];
    for (const stage of plan.stages) {
      const wanted = stage.children.filter(
        (planned) => !applier.matches(planned, children.get(planned.id)),
      );
      if (wanted.length > 0) {
        if (stage.hold !== undefined) return { changes, complete: false };
        const results = await Promise.allSettled(
          wanted.map((planned) => applier.apply(resource, plan, planned)),
        );
        const refused: unknown[] = [];
        for (const result of results) {
          if (result.status === 'fulfilled') changes.push(result.value);
          else refused.push(result.reason);
        }
        if (refused.length > 0) throw refused.find((error) => error instanceof Stalled) ?? refused[0];
      }
      const settled = stage.children.every((planned) =>
        applier.matches(planned, children.get(planned.id)),
      );
      if (!settled) return { changes, complete: false };
      if (stage.gate && !stage.children.every((planned) => this.#isReady(planned))) {
        return { changes, complete: false };
      }
    }
    return { changes, complete: true };
  }

  #isReady({ id }: PlannedChild): boolean {
    return this.props.children.get(id)?.health.state === 'Ready';
  }

  /** Deletes children that are no longer wanted, the last made first. Data is never among them. */
  async #prune(resource: Resource, plan: Plan | undefined): Promise<ChangeEntry[]> {
    const { applier, children } = this.props;
    const wanted = new Set(plan ? plannedOf(plan).map(({ id }) => id) : []);
    const surplus = children
      .of(this.#reader(keyOfResource(resource)))
      .filter((child) => !wanted.has(child.id) && mayPrune(child, resource))
      .reverse();
    const changes: ChangeEntry[] = [];
    for (const child of surplus) {
      await applier.delete(child, 'Background');
      changes.push({ kind: child.kind.kind, name: child.name, change: 'deleted' });
    }
    return changes;
  }

  /** A failed Job is made anew after a while: what it failed on may have been mended meanwhile. */
  async #retryFailedJobs(plan: Plan, memory: Memory): Promise<number | undefined> {
    const { applier, children, now } = this.props;
    let next: number | undefined;
    for (const planned of plannedOf(plan)) {
      const child = planned.run === undefined ? undefined : children.get(planned.id);
      if (!child || child.deleting || child.run !== planned.run) continue;
      if (child.health.state === 'Ready') memory.retries.delete(planned.id);
      if (child.failedAt === undefined) continue;
      const retries = memory.retries.get(planned.id) ?? 0;
      const wait = Math.min(JOB_RETRY_MS.most, JOB_RETRY_MS.first * 2 ** retries);
      const left = child.failedAt + wait - now();
      if (left > 0) {
        next = earliest(next, left);
      } else {
        memory.retries.set(planned.id, retries + 1);
        await applier.delete(child, 'Background');
      }
    }
    return next;
  }

  async #observe(
    resource: Resource,
    plan: Plan,
    memory: Memory,
    complete: boolean,
  ): Promise<Report> {
    const { kind, children } = this.props;
    const planned = plannedOf(plan);
    const pending = planned.flatMap(({ id, kind: { kind: childKind }, name }) => {
      const health = children.get(id)?.health ?? MISSING;
      return health.state === 'Ready' ? [] : [{ kind: childKind, name, health }];
    });
    const settled = complete && pending.length === 0;
    const { results, requeueAfterMs } = settled
      ? await this.#probe(resource, memory)
      : { results: [], requeueAfterMs: this.#patience(resource) };
    if (settled) this.#pendingSince.delete(keyOfResource(resource));
    const ready = settled && results.every(({ ok }) => ok);
    const explained = await this.#explain(resource, planned, pending);
    const judged = kind.observe({
      resource,
      facts: memory.facts,
      pending: explained,
      probes: results,
      ready,
      child: (childKind, name) => this.#view(planned, childKind, name),
    });
    return {
      judgement: judged,
      stalled: false,
      changes: [],
      requeueAfterMs,
      appliedHash: ready ? this.#digest(planned) : undefined,
    };
  }

  #view(planned: readonly PlannedChild[], kind: string, name: string): ChildView | undefined {
    const found = planned.find((child) => child.kind.kind === kind && child.name === name);
    const child = found && this.props.children.get(found.id);
    return child && { health: child.health, ...(child.replicas ? { replicas: child.replicas } : {}) };
  }

  /** When to look into what is not ready; what is merely slow says enough by itself. */
  #patience(resource: Resource): number {
    const key = keyOfResource(resource);
    const since = this.#pendingSince.get(key) ?? this.props.now();
    this.#pendingSince.set(key, since);
    const waited = this.props.now() - since;
    return waited < PATIENCE_MS ? PATIENCE_MS - waited : Math.min(300_000, Math.max(PATIENCE_MS, waited));
  }

  /** Puts what the pods say to the first child that is in trouble. */
  async #explain<P extends { kind: string; name: string; health: ChildView['health'] }>(
    resource: Resource,
    planned: readonly PlannedChild[],
    pending: readonly P[],
  ): Promise<readonly P[]> {
    const { children, diagnostician, now } = this.props;
    const since = this.#pendingSince.get(keyOfResource(resource)) ?? now();
    const patient = now() - since < PATIENCE_MS;
    const trouble = pending.find(
      ({ kind, health }) =>
        ['Deployment', 'StatefulSet', 'Job'].includes(kind) &&
        (health.state === 'Failed' || (health.state === 'InProgress' && !patient)),
    );
    if (!trouble) return pending;
    const found = planned.find(({ kind, name }) => kind.kind === trouble.kind && name === trouble.name);
    const child = found && children.get(found.id);
    const why = child && (await diagnostician.explain(child));
    if (!why) return pending;
    const health = { ...trouble.health, message: `${trouble.health.message}: ${why}` };
    return [{ ...trouble, health }, ...pending.filter((entry) => entry !== trouble)];
  }

  async #probe(
    resource: Resource,
    memory: Memory,
  ): Promise<{ results: readonly ProbeResult[]; requeueAfterMs: number | undefined }> {
    const { kind, prober, now } = this.props;
    const probes = prober ? kind.probes({ resource, facts: memory.facts }) : [];
    if (!prober || probes.length === 0) return { results: [], requeueAfterMs: undefined };
    const left = memory.probedAt + PROBE_FRESH_MS - now();
    if (memory.probeFailures === 0 && left > 0) return { results: [], requeueAfterMs: left };
    const results = await Promise.all(probes.map((probe) => prober.probe(probe)));
    memory.probedAt = now();
    if (results.every(({ ok }) => ok)) {
      memory.probeFailures = 0;
      return { results, requeueAfterMs: PROBE_FRESH_MS };
    }
    memory.probeFailures += 1;
    return { results, requeueAfterMs: Math.min(15_000, 500 * 2 ** memory.probeFailures) };
  }

  /** Lets a deleted resource go, when all that has to happen before has happened. */
  async #remove(resource: Resource): Promise<Report> {
    const { finalizer, kind, kinds, markers, subscriptions, children, api } = this.props;
    if (!finalizer.has(resource)) return { ...deleting('waiting for other finalizers'), gone: true };
    const key = this.#reader(keyOfResource(resource));
    const session = subscriptions.session(key);
    let plan: Plan;
    try {
      const { world } = session;
      kind.teardown.blockers(resource, world);
      plan = planOf(resource, kinds, markers, (scope, id) =>
        kind.teardown.chart(scope, id, resource, world),
      );
    } finally {
      session.commit();
    }
    const changes: ChangeEntry[] = [];
    if (plan.stages.length > 0) {
      changes.push(...(await this.#prune(resource, plan)));
      const wanted = new Set(plannedOf(plan).map(({ id }) => id));
      const rest = children
        .of(key)
        .find((child) => !wanted.has(child.id) && child.controller === resource.metadata.uid);
      if (rest) return { ...deleting(`waiting for ${rest.kind.kind} ${rest.name} to go`), changes };
      const retry = await this.#retryFailedJobs(plan, this.#memory(resource));
      const applied = await this.#apply(resource, plan);
      changes.push(...applied.changes);
      if (!applied.complete) return { ...(await this.#dropping(resource, plan)), changes, requeueAfterMs: retry };
    }
    await finalizer.set(api, resource, false);
    return { ...deleting('gone'), changes, gone: true };
  }

  async #dropping(resource: Resource, plan: Plan): Promise<Report> {
    const planned = plannedOf(plan);
    const pending = planned.flatMap(({ id, kind, name }) => {
      const health = this.props.children.get(id)?.health ?? MISSING;
      return health.state === 'Ready' ? [] : [{ kind: kind.kind, name, health }];
    });
    const [first] = await this.#explain(resource, planned, pending);
    if (!first) return deleting('waiting');
    const report = deleting(`waiting for ${first.kind} ${first.name}: ${first.health.message}`);
    if (first.health.state !== 'Failed') return report;
    const release = `the annotation ${this.props.markers.skipDrop}=true lets it go without`;
    const message = `${first.kind} ${first.name}: ${first.health.message}; ${release}`;
    return { ...report, judgement: judgement('Deleting', `${first.kind}Failed`, message) };
  }

  #memory(resource: Resource): Memory {
    const key = keyOfResource(resource);
    const { uid = '', generation = 0 } = resource.metadata;
    let memory = this.#memories.get(key);
    if (memory?.uid !== uid) {
      memory = {
        uid,
        generation: -1,
        problems: [],
        planKey: '',
        plan: undefined,
        facts: undefined,
        probedAt: -Infinity,
        probeFailures: 0,
        retries: new Map(),
      };
      this.#memories.set(key, memory);
    }
    if (memory.generation !== generation) {
      memory.generation = generation;
      memory.problems = this.props.validate(resource);
    }
    return memory;
  }

  #reader(key: string): string {
    return `${this.props.kind.definition.kind}/${key}`;
  }
}

const MISSING: Child['health'] = { state: 'Missing', message: 'not created yet' };

export function keyOfResource({ metadata }: Resource): string {
  return keyOf(metadata.namespace, metadata.name);
}

function plannedOf(plan: Plan): readonly PlannedChild[] {
  return plan.stages.flatMap((stage) => stage.children);
}

/** Data stays, and so does what another controller has taken over. */
function mayPrune(child: Child, resource: Resource): boolean {
  if (child.retained || child.deleting) return false;
  return child.controller === undefined || child.controller === resource.metadata.uid;
}

function isPaused(resource: Resource, markers: Markers): boolean {
  const { paused: inSpec } = resource.spec as { readonly paused?: boolean };
  return inSpec === true || resource.metadata.annotations?.[markers.paused] === 'true';
}

/** A paused resource keeps its phase, and says that nobody works on it. */
function paused(resource: Resource): Report {
  const { phase = 'Pending', conditions } = (resource.status ?? {}) as {
    readonly phase?: string;
    readonly conditions?: readonly { type: string; status: 'True' | 'False' | 'Unknown'; reason: string; message: string }[];
  };
  const ready = conditions?.find(({ type }) => type === 'Ready');
  const message = 'the operator writes nothing while this is paused';
  return {
    judgement: {
      phase,
      ready: ready?.status === 'True'
        ? { type: 'Ready', status: 'True', reason: ready.reason, message: ready.message }
        : { type: 'Ready', status: 'False', reason: 'Paused', message },
      conditions: [{ type: 'Paused', status: 'True', reason: 'Paused', message }],
    },
    stalled: false,
    changes: [],
  };
}

function phaseBefore(resource: Resource, error: unknown): string {
  if (error instanceof Waiting) return 'Pending';
  const { phase } = (resource.status ?? {}) as { readonly phase?: string };
  return phase ?? 'Pending';
}

function deleting(message: string): Report {
  return { judgement: judgement('Deleting', 'Deleting', message), stalled: false, changes: [] };
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

