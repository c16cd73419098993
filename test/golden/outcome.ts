import { Stalled } from '../../constructs/kit/errors.js';
import type { Health } from '../../constructs/kit/health.js';
import type { ChildView, JobRun, Probe, ProbeResult } from '../../constructs/kit/kind.js';
import { metadataKeysOf } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { kindId } from '../../constructs/kit/object-kind.js';
import type { AdmitResult } from '../../constructs/kit/schema/admit.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { synthesize, type SynthStage } from '../../constructs/kit/synth.js';
import { KINDS, type AnyKind } from '../../constructs/registry.js';
import { plannedOf, planOf } from '../../runner/plan/plan.js';
import { deleting, reportOf, type Report } from '../../runner/reconcile/report.js';
import type { Status } from '../../runner/plan/resource-status.js';
import { statusOf } from '../../runner/reconcile/status.js';
import { memoize } from '../support/memoize.js';
import { NOW, type Observed, type Scenario } from './scenario.js';

/** What a scenario makes of one resource. */
export interface Outcome {
  readonly resource: Resource;
  /** The graph of children, made the resource's own. */
  readonly stages: readonly SynthStage[];
  readonly probes: readonly Probe[];
  /** Requests, results and progress of a batch. */
  readonly batchObjects: readonly KubeObject[];
  readonly status: Status;
}

/** As `reconcileScenario`, but computed once for each scenario that is read. */
export const outcomesOf = memoize(reconcileScenario);

/** Reconciles each resource of a scenario once without a cluster, with the code of the runner. */
export function reconcileScenario(scenario: Scenario): readonly Outcome[] {
  const { settings, serves } = scenario;
  const resources = scenario.admissions.map(({ object }) => object);
  const reader = new StaticReader({
    objects: [...resources, ...scenario.objects],
    settings,
    serves,
  });
  return scenario.admissions.map((admission) => {
    const resource = admission.object as Resource<unknown, Status>;
    const kind = kindOf(resource);
    const result = reconcile({ kind, resource, reader }, admission, scenario);
    return {
      resource,
      stages: result.stages,
      probes: result.probes,
      batchObjects: result.report.statusResult.batchObjects ?? [],
      status: statusOf(kind, resource, result.report, new Date(NOW)),
    };
  });
}

export function kindOf({ kind }: KubeObject): AnyKind {
  const found = KINDS.find(({ definition }) => definition.kind === kind);
  if (!found) throw new Error(`${kind} has no controller`);
  return found;
}

interface ReconcileResult {
  readonly stages: readonly SynthStage[];
  readonly probes: readonly Probe[];
  readonly report: Report;
}

/** A resource with what its kind reads. */
interface Subject {
  readonly kind: AnyKind;
  readonly resource: Resource<unknown, Status>;
  readonly reader: StaticReader;
}

function reconcile(
  subject: Subject,
  { problems }: AdmitResult,
  { observed, deleting: isDeleting }: Scenario,
): ReconcileResult {
  try {
    if (isDeleting) return cleanUp(subject, observed);
    if (problems.length > 0) throw Stalled.invalid(problems);
    return applyAndEvaluate(subject, observed);
  } catch (error) {
    const report = reportOf(error, isDeleting ? 'Deleting' : subject.resource.status?.phase, 0);
    if (!report) throw error;
    return { stages: [], probes: [], report };
  }
}

function applyAndEvaluate(
  { kind, resource, reader }: Subject,
  observed: Observed,
): ReconcileResult {
  const inputs = kind.resolve(resource, reader);
  const stages = graphOf(kind, resource, (scope, id) =>
    kind.chart(scope, id, { resource, inputs }),
  );
  const lasting = stages.filter(({ advisory }) => !advisory);
  const pending = pendingOf(kind, lasting, observed);
  const advisory = pendingOf(
    kind,
    stages.filter((stage) => stage.advisory),
    observed,
  );
  const settled = pending.length === 0;
  const probes = kind.probes({ resource, inputs });
  const results = settled ? (observed.probes ?? probes.map(passed)) : [];
  const statusResult = kind.evaluate({
    resource,
    inputs,
    pending,
    advisory,
    runs: observed.runs ?? initRuns(resource),
    probes: results,
    complete: true,
    ready: settled && results.every(({ ok, advisory }) => ok || advisory),
    child: (childKind, name) => viewOf(stages, observed, childKind, name),
  });
  const stalled = statusResult.stalled ?? false;
  return { stages, probes, report: { statusResult, stalled, changes: [] } };
}

/** What the init Job of a bench leaves: the digest of its image. */
function initRuns({ kind, metadata }: Resource): readonly JobRun[] {
  if (kind !== 'AppBench') return [];
  const imageId = `registry.example.com/mirrored@sha256:${'1'.repeat(64)}`;
  return [
    {
      ...{ name: `${metadata.name}-init`, uid: 'u', state: 'Succeeded', taskHash: undefined },
      ...{ startTime: NOW, completionTime: NOW, exitCode: 0, message: undefined, imageId },
    },
  ];
}

function passed(probe: Probe): ProbeResult {
  return { ok: true, message: '', ...('namespace' in probe ? { advisory: true } : {}) };
}

function cleanUp({ kind, resource, reader }: Subject, observed: Observed): ReconcileResult {
  kind.cleanup.blockers(resource, reader);
  const stages = graphOf(kind, resource, (scope, id) =>
    kind.cleanup.chart(scope, id, resource, reader),
  );
  const [first] = pendingOf(kind, stages, observed);
  const report = deleting(
    first ? `waiting for ${first.kind} ${first.name}: ${first.health.message}` : 'gone',
  );
  return { stages, probes: [], report };
}

/** The graph as the runner applies it: with owners, and hashes of what cannot be changed in place. */
export function graphOf(
  kind: AnyKind,
  resource: Resource,
  build: Parameters<typeof synthesize>[0],
): readonly SynthStage[] {
  const kinds = new Map(kind.owns.map((owned) => [kindId(owned), owned]));
  const plan = planOf(resource, { kinds, metadataKeys: metadataKeysOf(resource) }, build);
  const objects = plannedOf(plan).map(({ id }) => plan.object(id));
  return synthesize(build).map((stage) => ({
    ...stage,
    objects: stage.objects.map((made) => {
      const { kind: objectKind, metadata } = made;
      const found = objects.find(
        (object) => object?.kind === objectKind && object.metadata.name === metadata.name,
      );
      if (!found) throw new Error(`${objectKind} ${metadata.name} is not in the plan`);
      // What the plan adds is metadata; its own objects have lost the order of their keys.
      return { ...made, metadata: { ...metadata, ...found.metadata } };
    }),
  }));
}

const MISSING: Health = { state: 'Missing', message: 'not created yet' };
const READY: Health = { state: 'Ready', message: '' };

function healthOf({ kind, metadata }: KubeObject, { children, but }: Observed): Health {
  const otherwise = but?.[`${kind}/${metadata.name}`];
  return otherwise ?? (children === 'none' ? MISSING : READY);
}

/** What only helps is not waited for. */
function pendingOf(kind: AnyKind, stages: readonly SynthStage[], observed: Observed) {
  const advisory = kind.owns.filter((owned) => owned.optional === 'advisory').map(kindId);
  return stages
    .flatMap(({ objects }) => objects)
    .filter((object) => !advisory.includes(kindId(object)))
    .map((object) => ({
      kind: object.kind,
      name: object.metadata.name,
      health: healthOf(object, observed),
    }))
    .filter(({ health }) => health.state !== 'Ready');
}

function viewOf(
  stages: readonly SynthStage[],
  observed: Observed,
  kind: string,
  name: string,
): ChildView | undefined {
  const object = stages
    .flatMap(({ objects }) => objects)
    .find((candidate) => candidate.kind === kind && candidate.metadata.name === name);
  if (!object) return undefined;
  const health = healthOf(object, observed);
  if (health.state === 'Missing') return undefined;
  const replicas = observed.replicas?.[`${kind}/${name}`] ?? replicasOf(object, health);
  return { health, ...(replicas ? { replicas } : {}) };
}

function replicasOf(object: KubeObject, { state }: Health) {
  if (!['Deployment', 'StatefulSet'].includes(object.kind)) return undefined;
  const { spec } = object as KubeObject & { readonly spec: { readonly replicas?: number } };
  const desired = spec.replicas ?? 1;
  return { desired, current: state === 'Ready' ? desired : 0 };
}
