import type { Health } from '../../constructs/kit/health.js';
import type { ChildView, HttpProbe, ProbeResult } from '../../constructs/kit/kind.js';
import type { Child } from '../cache/child.js';
import type { ChildCache } from '../cache/child-cache.js';
import type { PodDiagnostics, Explanation } from './pod-diagnostics.js';
import { type ReconcileState, NEVER_PROBED } from '../reconcile/state.js';
import { plannedOf, type Plan } from '../reconcile/plan.js';
import type { Prober } from './http-probe.js';

/** A child that is not ready. */
export interface PendingChild {
  readonly kind: string;
  readonly name: string;
  readonly health: Health;
}

const MISSING: Health = { state: 'Missing', message: 'not created yet' };
const PROBE_FRESH_MS = 60_000;
/** A workload that is not ready for this long is looked into. */
const PATIENCE_MS = 20_000;
const LOOK_AGAIN_MS = 300_000;
/** An operator that is there looks at a new object within seconds, and within this when another one of it takes over. */
const SILENCE_MS = 60_000;
const SILENT: Health = {
  state: 'InProgress',
  reason: 'OperatorSilent',
  message: 'its operator has not looked at it for a minute: see that its controller runs',
  unobserved: true,
};
/** `MigrationFailed: ...`: the reason that a Job's script ends with. */
const TERMINATION_REASON = /^([A-Z][a-z]+(?:[A-Z][a-z]+)*): /;
const EXPLAINABLE = new Set(['Deployment', 'StatefulSet', 'Job']);

/** Looks at what has become of children, and asks further where that does not say enough. */
export class HealthChecker {
  constructor(
    private readonly props: {
      readonly children: ChildCache;
      readonly podDiagnostics: PodDiagnostics;
      /** undefined where nothing is to be asked over HTTP. */
      readonly prober: Prober | undefined;
      /** Milliseconds since 1970. */
      readonly now: () => number;
    },
  ) {}

  /** The children that are not ready, in the order of the plan; first the one that its pods explain. */
  async pending(plan: Plan, memory: ReconcileState): Promise<readonly PendingChild[]> {
    const { children, podDiagnostics, now } = this.props;
    const pending = plannedOf(plan).flatMap(({ id, kind, name }) => {
      const live = children.get(id);
      const health = live ? this.#healthOf(live) : MISSING;
      const passes = kind.advisory === true || health.state === 'Ready';
      return passes ? [] : [{ id, kind: kind.kind, name, health }];
    });
    memory.pendingSince = pending.length > 0 ? (memory.pendingSince ?? now()) : undefined;
    const impatient = this.#waited(memory) >= PATIENCE_MS;
    const trouble = pending.find(
      ({ kind, health: { state } }) =>
        EXPLAINABLE.has(kind) && (state === 'Failed' || (state === 'InProgress' && impatient)),
    );
    const child = trouble && children.get(trouble.id);
    const { why, againMs }: Explanation = child ? await podDiagnostics.explain(child) : {};
    memory.askAgainMs = againMs;
    if (!trouble || !why) return pending;
    const said = trouble.kind === 'Job' ? TERMINATION_REASON.exec(why)?.[1] : undefined;
    const health = {
      ...trouble.health,
      message: `${trouble.health.message}: ${why}`,
      ...(said === undefined ? {} : { reason: said }),
    };
    return [{ ...trouble, health }, ...pending.filter((entry) => entry !== trouble)];
  }

  /** Milliseconds until what is not ready should be looked into, or looked into again. */
  patience(memory: ReconcileState): number {
    const waited = this.#waited(memory);
    if (waited < PATIENCE_MS) return PATIENCE_MS - waited;
    return Math.min(memory.askAgainMs ?? LOOK_AGAIN_MS, LOOK_AGAIN_MS);
  }

  #waited({ pendingSince }: ReconcileState): number {
    return pendingSince === undefined ? 0 : this.props.now() - pendingSince;
  }

  /** A child of the plan as it is seen; undefined where it is not there, or is a Job that has something else to do. */
  view(plan: Plan, kind: string, name: string): ChildView | undefined {
    const planned = plannedOf(plan).find(
      (child) => child.kind.kind === kind && child.name === name,
    );
    const child = planned && this.props.children.get(planned.id);
    if (child?.run !== planned?.run) return undefined;
    return (
      child && {
        health: this.#healthOf(child),
        ...(child.replicas ? { replicas: child.replicas } : {}),
      }
    );
  }

  /** Milliseconds until another operator has been silent about a child for too long. */
  silence(plan: Plan): number | undefined {
    const waits = plannedOf(plan).flatMap(({ id }) => {
      const since = this.props.children.get(id)?.unobservedSince;
      const left = since === undefined ? 0 : since + SILENCE_MS - this.props.now();
      return left > 0 ? [left] : [];
    });
    return waits.length > 0 ? Math.min(...waits) : undefined;
  }

  #healthOf({ health, unobservedSince }: Child): Health {
    const silent =
      unobservedSince !== undefined && this.props.now() - unobservedSince >= SILENCE_MS;
    return silent ? SILENT : health;
  }

  /**
   * Makes HTTP checks, unless all passed a short while ago and nothing has changed since: no child, and none of the
   * facts, such as whether the bench of a site is ready. Without checks, what was seen before counts no more.
   * @returns the results, none where there is nothing to check; and milliseconds until the next round
   */
  async probe(
    probes: readonly HttpProbe[],
    memory: ReconcileState,
  ): Promise<{ readonly results: readonly ProbeResult[]; readonly againMs: number | undefined }> {
    const { prober, now } = this.props;
    if (!prober || probes.length === 0) {
      memory.probes = NEVER_PROBED;
      return { results: [], againMs: undefined };
    }
    const planKey = memory.plan?.key;
    const fresh = memory.probes.at + PROBE_FRESH_MS - now();
    const isSame = memory.probes.planKey === planKey;
    if (isSame && memory.probes.failures === 0 && fresh > 0) return { results: [], againMs: fresh };
    const results = await Promise.all(probes.map((probe) => prober.probe(probe)));
    const failures = results.every(({ ok }) => ok) ? 0 : memory.probes.failures + 1;
    memory.probes = { at: now(), planKey, failures };
    return {
      results,
      againMs: failures === 0 ? PROBE_FRESH_MS : Math.min(15_000, 500 * 1.5 ** failures),
    };
  }
}
