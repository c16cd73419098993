import { NGINX_PORT } from '../../kit/constants.generated.js';
import { evaluateConfiguration, withConfiguration } from '../../configuration/evaluate.js';
import type { ConfigurationSync } from '../../configuration/sync.js';
import { evaluatePhase, type PhaseResult } from '../../frappe/phase.js';
import { nginxHost } from '../../frappe/pod.js';
import { scaleStatus } from '../../frappe/scale-status.js';
import {
  scaledToZero,
  scalingCondition,
  ownWorkersStatus,
  scalingStatus,
  type WorkerChildren,
} from '../../frappe/worker-scaling.js';
import { fieldsIgnored } from '../../frappe/without-effect.js';
import { workerGroups } from '../../frappe/worker.js';
import { siteNames } from '../../kit/names.js';
import { INTEGRATIONS } from '../../integrations/index.js';
import { kedaObstacle } from '../../integrations/keda/autoscaling.js';
import type { ConditionResult } from '../../kit/condition.js';
import type { Integration } from '../../kit/integration.js';
import type { ChartProps, Probe, StatusResult, Observation } from '../../kit/kind.js';
import type { AppSite } from '../../api/site.js';
import { siteWorkerScale } from './chart.js';
import type { SiteInputs } from './inputs.js';
import { siteWorkersWanted } from './resolve.js';
import { databaseCondition } from './database-ready.js';
import { databaseStatus } from './database-status.js';
import { siteUrl } from './site-config.js';
import { realtimeCondition, realtimeProbes } from './realtime.js';
import { evaluateRestore } from './restore.js';
import { routeCertificate } from './routes.js';
import { certificateCondition } from './tls.js';
import { evaluateUpgrade } from './upgrade.js';
import { fieldsWithoutEffect } from './without-effect.js';

/** The ping of the site through the bench's proxy, and a websocket. In maintenance it answers neither. */
export function siteProbes({
  resource,
  inputs,
}: ChartProps<AppSite, SiteInputs>): readonly Probe[] {
  if (resource.spec.maintenance) return [];
  return [
    {
      url: `http://${nginxHost(inputs.bench)}:${NGINX_PORT}/api/method/ping`,
      host: resource.spec.siteName,
      expectStatus: 200,
      expectBody: { message: 'pong' },
    },
    ...realtimeProbes({ resource, inputs }),
  ];
}

/** The status of a site. */
export function evaluateSite(
  observation: Observation<AppSite, SiteInputs>,
  integrations: readonly Integration[] = INTEGRATIONS,
): StatusResult {
  const { inputs, resource } = observation;
  const certificate = inputs.route
    ? routeCertificate(inputs.route, integrations)
    : certificateCondition(observation);
  const { phase, ready } = sitePhase(observation);
  const upgrade = evaluateUpgrade(observation);
  const restore = evaluateRestore(observation);
  const scaling = evaluateScaling(observation);
  const configuration = evaluateConfiguration(observation, inputs.configuration);
  return {
    ...upgrade,
    ...withConfiguration(
      {
        phase,
        ready: isBlocked(observation) ? { ...ready, message: inputs.blockedReason ?? '' } : ready,
      },
      configuration,
    ),
    stalled: upgrade.stalled === true || restore.stalled,
    batchObjects: configuration.batchObjects,
    reconcileAgain: [upgrade, scaling, configuration].some((one) => one.reconcileAgain === true),
    conditions: conditionsOf(observation, certificate, [
      ...scaling.conditions,
      ...databaseCondition(observation),
      ...realtimeCondition(observation),
      ...(upgrade.conditions ?? []),
      ...restore.conditions,
      ...configuration.conditions,
      ...fieldsIgnored(fieldsWithoutEffect(resource)),
    ]),
    fields: {
      ...upgrade.fields,
      ...configuration.fields,
      socialLogins: socialLogins(resource, inputs.configuration),
      restored: restore.restored,
      siteURL: siteUrl(certificate?.status === 'True', inputs.domain),
      database: databaseStatus(observation),
      apps: inputs.apps,
      ...(resource.spec.workloads === 'Dedicated'
        ? {
            ...scaleStatus(observation, resource, siteNames(resource.metadata.name).gunicorn),
            workerScaling: scaling.status,
            workers: scaling.workers,
          }
        : {}),
    },
  };
}

/** The identity providers in the site. They change when the Job has ended. */
function socialLogins(
  { spec, status }: AppSite,
  sync: ConfigurationSync | undefined,
): readonly string[] | undefined {
  const before = status?.socialLogins;
  if (!sync?.result) return before;
  const wanted = (spec.sso ?? []).map(({ provider }) => provider).sort();
  const failed = sync.result.outcome === 'Failed';
  const present = failed ? [...new Set([...(before ?? []), ...wanted])].sort() : wanted;
  return present.length === 0 ? undefined : present;
}

/** The phase and the Ready condition. A failed Job is tried again: only the condition is of its failure. */
function sitePhase(observation: Observation<AppSite, SiteInputs>): PhaseResult {
  const { phase, ready } = evaluatePhase(observation);
  const failed = observation.pending.find(({ health }) => health.state === 'Failed');
  if (phase !== 'Failed' || failed?.kind !== 'Job') return { phase, ready };
  const wasReady = observation.resource.status?.appliedHash !== undefined;
  return { phase: wasReady ? 'Updating' : 'Provisioning', ready };
}

/**
 * Whether nothing makes progress, since the site is blocked: progress says more than the blocked
 * reason.
 */
function isBlocked({ ready, inputs, pending, probes }: Observation<AppSite, SiteInputs>): boolean {
  const idle = pending.every(({ health }) => health.state === 'Missing') && probes.length === 0;
  return !ready && inputs.blockedReason !== undefined && idle;
}

function conditionsOf(
  { resource }: Observation<AppSite, SiteInputs>,
  certificate: ConditionResult | undefined,
  upgrade: readonly ConditionResult[],
): readonly ConditionResult[] {
  const closed = upgrade.some(({ type }) => type === 'Maintenance');
  return [
    ...(certificate ? [certificate] : []),
    ...(closed ? [] : maintenanceCondition(resource)),
    ...upgrade,
  ];
}

function maintenanceCondition({ spec }: AppSite): readonly ConditionResult[] {
  if (!spec.maintenance) return [];
  const message = "visitors see the framework's maintenance page";
  return [{ type: 'Maintenance', status: 'True', reason: 'Requested', message }];
}

/** How the site's own workers scale, by its bench's settings. */
function evaluateScaling(observation: Observation<AppSite, SiteInputs>) {
  const { resource, inputs, child } = observation;
  if (resource.spec.workloads !== 'Dedicated') {
    return { status: undefined, workers: undefined, reconcileAgain: false, conditions: [] };
  }
  const workers: WorkerChildren = {
    name: siteNames(resource.metadata.name).worker,
    scale: (queue) => siteWorkerScale(resource, inputs, queue),
    foreign: inputs.foreignScalers,
    child,
  };
  const status = scalingStatus(workers);
  const { redis } = inputs.bench;
  const own = ownWorkersStatus(
    workers,
    inputs.bench.workers.map(({ name }) => name),
  );
  const wanted = workerGroups(inputs.bench.workers)
    .map(({ name }) => name)
    .filter((group) => siteWorkersWanted(resource, inputs, group).scaling?.enabled);
  const obstacle = kedaObstacle({ keda: inputs.keda, externalRedis: redis.external });
  return {
    status,
    workers: own,
    reconcileAgain: scaledToZero(status, own).join() !== inputs.scaledToZero.join(),
    conditions: scalingCondition(workers, obstacle, wanted),
  };
}
