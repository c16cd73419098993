import { READY, type Health } from '../../constructs/kit/health.js';
import { failureIn } from '../../constructs/kit/job-result.js';
import type { ChildView, Probe, ProbeResult } from '../../constructs/kit/kind.js';
import type { Resource } from '../../constructs/kit/object.js';
import { isRecorded } from '../plan/recorded-runs.js';
import type { Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import { plannedOf, type Plan } from '../plan/plan.js';
import type { Status } from '../plan/resource-status.js';
import type { ReconcileState } from '../plan/reconcile-state.js';
import type { PodDiagnostics, Explanation } from './pod-diagnostics.js';
import type { ProbeManager } from './probe-manager.js';

/** A child that is not ready. */
export interface PendingChild {
  readonly kind: string;
  readonly name: string;
  readonly health: Health;
  /** What its pods say. @default they were not asked */
  readonly why?: string;
  /** Whether nothing waits for it. @default false */
  readonly advisory?: boolean;
}

const MISSING: Health = { state: 'Missing', message: 'not created yet' };
/** Workloads that are not ready for this long are diagnosed by their pods. */
const DIAGNOSE_AFTER_MS = 8_000;
const DIAGNOSE_AGAIN_MS = 60_000;
/** A running operator observes a new object within seconds, and within this after a failover. */
const OBSERVED_WITHIN_MS = 60_000;
const UNOBSERVED: Health = {
  state: 'InProgress',
  reason: 'OperatorSilent',
  message: 'its operator has not observed it for a minute; check that its controller runs',
  unobserved: true,
};
const EXPLAINABLE = new Set(['Deployment', 'StatefulSet', 'Job']);

/** Checks the health of children, with the pods' own messages if a child fails. */
export class HealthChecker {
  constructor(
    private readonly props: {
      readonly children: ChildCache;
      readonly podDiagnostics: PodDiagnostics;
      /** Undefined if HTTP checks are off. */
      readonly probes: ProbeManager | undefined;
      /** Milliseconds since 1970. */
      readonly now: () => number;
    },
  ) {}

  /** The children that are not ready, in the order of the plan; first the one that is explained. */
  async pending(plan: Plan, state: ReconcileState): Promise<readonly PendingChild[]> {
    const { children, now } = this.props;
    const pending = plannedOf(plan).flatMap((planned) => {
      const { id, kind, name } = planned;
      if (isRecorded(children, plan, planned)) return [];
      const live = children.get(id);
      const health = live ? this.#healthOf(live) : MISSING;
      const passes = kind.optional === 'advisory' || health.state === 'Ready';
      const advisory = planned.advisory === true;
      return passes ? [] : [{ id, kind: kind.kind, name, health, advisory }];
    });
    state.pendingSince = pending.length > 0 ? (state.pendingSince ?? now()) : undefined;
    const isLong = this.#pendingMs(state) >= DIAGNOSE_AFTER_MS;
    const failing = pending
      .toSorted((a, b) => Number(a.advisory) - Number(b.advisory))
      .find(
        ({ kind, health }) =>
          EXPLAINABLE.has(kind) &&
          (health.state === 'Failed' ||
            (health.state === 'InProgress' && (isLong || health.failedAttempts !== undefined))),
      );
    const why = await this.#explain(failing && children.get(failing.id), state);
    if (!failing || !why) return pending;
    const explained = { ...failing, why, health: withExplanation(failing, why) };
    return [explained, ...pending.filter((entry) => entry !== failing)];
  }

  async #explain(child: Child | undefined, state: ReconcileState): Promise<string | undefined> {
    const { podDiagnostics } = this.props;
    const { why, againMs }: Explanation = child ? await podDiagnostics.explain(child) : {};
    state.diagnoseAfterMs = againMs;
    return why;
  }

  /** Milliseconds until children that are not ready are diagnosed, or diagnosed again. */
  untilDiagnosis(state: ReconcileState): number {
    const pendingMs = this.#pendingMs(state);
    if (pendingMs < DIAGNOSE_AFTER_MS) return DIAGNOSE_AFTER_MS - pendingMs;
    return Math.min(state.diagnoseAfterMs ?? DIAGNOSE_AGAIN_MS, DIAGNOSE_AGAIN_MS);
  }

  #pendingMs({ pendingSince }: ReconcileState): number {
    return pendingSince === undefined ? 0 : this.props.now() - pendingSince;
  }

  /** A child of a plan; undefined if it does not exist, or is a Job with another task. */
  view(plan: Plan, kind: string, name: string): ChildView | undefined {
    const planned = plannedOf(plan).find(
      (child) => child.kind.kind === kind && child.name === name,
    );
    if (planned && isRecorded(this.props.children, plan, planned)) return { health: READY };
    const child = planned && this.props.children.get(planned.id);
    if (child?.taskHash !== planned?.taskHash) return undefined;
    return (
      child && {
        health: this.#healthOf(child),
        ...(child.replicas ? { replicas: child.replicas } : {}),
      }
    );
  }

  /** Milliseconds until a child counts as not observed by its operator. */
  untilUnobserved(plan: Plan): number | undefined {
    const waits = plannedOf(plan).flatMap(({ id }) => {
      const since = this.props.children.get(id)?.unobservedSince;
      const left = since === undefined ? 0 : since + OBSERVED_WITHIN_MS - this.props.now();
      return left > 0 ? [left] : [];
    });
    return waits.length > 0 ? Math.min(...waits) : undefined;
  }

  #healthOf({ health, unobservedSince }: Child): Health {
    const isUnobserved =
      unobservedSince !== undefined && this.props.now() - unobservedSince >= OBSERVED_WITHIN_MS;
    return isUnobserved ? UNOBSERVED : health;
  }

  /**
   * The last results of the HTTP checks, which go on until the resource has no probes. A changed
   * result enqueues the resource.
   */
  probe(
    { resource, key }: { readonly resource: Resource; readonly key: string },
    probes: readonly Probe[],
    state: ReconcileState,
  ): readonly ProbeResult[] {
    const { namespace = '', uid } = resource.metadata;
    const target = { owner: key, namespace, uid, planKey: state.planned?.key, probes };
    return this.props.probes?.results({ ...target, wasReady: isReady(resource) }) ?? [];
  }

  /** Ends the HTTP checks of an owner. */
  endProbes(owner: string, namespace: string): void {
    this.props.probes?.forget({ owner, namespace });
  }
}

function isReady(resource: Resource): boolean {
  const { status } = resource as Resource<unknown, Status>;
  return status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false;
}

function withExplanation({ kind, health }: PendingChild, why: string): Health {
  const reason = kind === 'Job' ? failureIn(why)?.reason : undefined;
  const message = `${health.message}: ${why}`;
  return { ...health, message, ...(reason === undefined ? {} : { reason }) };
}
