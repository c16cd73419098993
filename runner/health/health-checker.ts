import { READY, type Health } from '../../constructs/kit/health.js';
import type { ChildView, HttpProbe, ProbeResult } from '../../constructs/kit/kind.js';
import { isRecorded } from '../apply/run-records.js';
import type { Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import { plannedOf, type Plan } from '../reconcile/plan.js';
import { type ReconcileState, NEVER_PROBED } from '../reconcile/state.js';
import type { Prober } from './http-probe.js';
import type { PodDiagnostics, Explanation } from './pod-diagnostics.js';

/** A child that is not ready. */
export interface PendingChild {
  readonly kind: string;
  readonly name: string;
  readonly health: Health;
}

const MISSING: Health = { state: 'Missing', message: 'not created yet' };
const PROBE_FRESH_MS = 60_000;
/** Workloads that are not ready for this long are diagnosed by their pods. */
const DIAGNOSE_AFTER_MS = 20_000;
const DIAGNOSE_AGAIN_MS = 300_000;
/** A running operator observes a new object within seconds, and within this after a failover. */
const OBSERVED_WITHIN_MS = 60_000;
const UNOBSERVED: Health = {
  state: 'InProgress',
  reason: 'OperatorSilent',
  message: 'its operator has not observed it for a minute; check that its controller runs',
  unobserved: true,
};
/** `MigrationFailed: ...`: the reason in a Job's termination message. */
const TERMINATION_REASON = /^([A-Z][a-z]+(?:[A-Z][a-z]+)*): /;
const EXPLAINABLE = new Set(['Deployment', 'StatefulSet', 'Job']);

/** Checks the health of children, with the pods' own messages if a child fails. */
export class HealthChecker {
  constructor(
    private readonly props: {
      readonly children: ChildCache;
      readonly podDiagnostics: PodDiagnostics;
      /** Undefined if HTTP checks are off. */
      readonly prober: Prober | undefined;
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
      const passes = kind.advisory === true || health.state === 'Ready';
      return passes ? [] : [{ id, kind: kind.kind, name, health }];
    });
    state.pendingSince = pending.length > 0 ? (state.pendingSince ?? now()) : undefined;
    const isLong = this.#pendingMs(state) >= DIAGNOSE_AFTER_MS;
    const failing = pending.find(
      ({ kind, health }) =>
        EXPLAINABLE.has(kind) &&
        (health.state === 'Failed' || (health.state === 'InProgress' && isLong)),
    );
    const why = await this.#explain(failing && children.get(failing.id), state);
    if (!failing || !why) return pending;
    const explained = { ...failing, health: withExplanation(failing, why) };
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
    if (child?.run !== planned?.run) return undefined;
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
   * Makes HTTP checks, unless all passed a short while ago and neither children nor inputs have
   * changed since. Without checks the earlier results are forgotten.
   * @returns the results, none if there is nothing to check; and milliseconds until the next round
   */
  async probe(
    probes: readonly HttpProbe[],
    state: ReconcileState,
  ): Promise<{ readonly results: readonly ProbeResult[]; readonly againMs: number | undefined }> {
    const { prober, now } = this.props;
    if (!prober || probes.length === 0) {
      state.probes = NEVER_PROBED;
      return { results: [], againMs: undefined };
    }
    const planKey = state.plan?.key;
    const fresh = state.probes.at + PROBE_FRESH_MS - now();
    const isSame = state.probes.planKey === planKey;
    if (isSame && state.probes.failures === 0 && fresh > 0) return { results: [], againMs: fresh };
    const results = await Promise.all(probes.map((probe) => prober.probe(probe)));
    const failures = results.every(({ ok }) => ok) ? 0 : state.probes.failures + 1;
    state.probes = { at: now(), planKey, failures };
    return {
      results,
      againMs: failures === 0 ? PROBE_FRESH_MS : Math.min(15_000, 500 * 1.5 ** failures),
    };
  }
}

function withExplanation({ kind, health }: PendingChild, why: string): Health {
  const reason = kind === 'Job' ? TERMINATION_REASON.exec(why)?.[1] : undefined;
  const message = `${health.message}: ${why}`;
  return { ...health, message, ...(reason === undefined ? {} : { reason }) };
}
