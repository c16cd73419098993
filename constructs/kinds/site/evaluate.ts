import { NGINX_PORT } from '../../kit/constants.generated.js';
import { evaluateConfiguration } from '../../configuration/evaluate.js';
import type { ConfigurationSync } from '../../configuration/sync.js';
import {
  evaluatePhase,
  mergeStatus,
  type PhaseResult,
  type StatusPart,
} from '../../frappe/tree-status.js';
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

/** The status of a site: its phase, and what each part adds, in the order of the conditions. */
export function evaluateSite(
  observation: Observation<AppSite, SiteInputs>,
  integrations: readonly Integration[] = INTEGRATIONS,
): StatusResult {
  const { inputs, resource } = observation;
  return mergeStatus(sitePhase(observation), [
    NOT_DONE,
    evaluateAccess(observation, integrations),
    { fields: { database: databaseStatus(observation), apps: inputs.apps } },
    { conditions: maintenanceCondition(resource) },
    evaluateScaling(observation),
    { conditions: databaseCondition(observation) },
    { conditions: realtimeCondition(observation) },
    // Visitors of a site that is closed for them see another page than in maintenance.
    evaluateUpgrade(observation),
    evaluateRestore(observation),
    evaluateConfiguration(observation, inputs.configuration),
    { fields: { socialLogins: socialLogins(resource, inputs.configuration) } },
    { conditions: fieldsIgnored(fieldsWithoutEffect(resource)) },
  ]);
}

/** What the status records of work, where no part says that it was done. */
const NOT_DONE: StatusPart = {
  fields: {
    image: undefined,
    upgrade: undefined,
    siteConfig: undefined,
    socialLogins: undefined,
    restored: undefined,
  },
};

/** The address of a site, and the state of its certificate. */
function evaluateAccess(
  observation: Observation<AppSite, SiteInputs>,
  integrations: readonly Integration[],
): StatusPart {
  const { route, domain } = observation.inputs;
  const certificate = route
    ? routeCertificate(route, integrations)
    : certificateCondition(observation);
  return {
    conditions: certificate ? [certificate] : [],
    fields: { siteURL: siteUrl(certificate?.status === 'True', domain) },
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

/**
 * The phase and the Ready condition. A failed Job is tried again: only the condition is of its
 * failure. Where nothing makes progress since the site is blocked, the blocked reason says more.
 */
function sitePhase(observation: Observation<AppSite, SiteInputs>): PhaseResult {
  const { resource, inputs, pending, probes } = observation;
  const { phase, ready } = evaluatePhase(observation);
  const failed = pending.find(({ health }) => health.state === 'Failed');
  if (phase === 'Failed' && failed?.kind === 'Job') {
    const wasReady = resource.status?.appliedHash !== undefined;
    return { phase: wasReady ? 'Updating' : 'Provisioning', ready };
  }
  const idle = pending.every(({ health }) => health.state === 'Missing') && probes.length === 0;
  if (observation.ready || inputs.blockedReason === undefined || !idle) return { phase, ready };
  return { phase, ready: { ...ready, message: inputs.blockedReason } };
}

function maintenanceCondition({ spec }: AppSite): readonly ConditionResult[] {
  if (!spec.maintenance) return [];
  const message = "visitors see the framework's maintenance page";
  return [{ type: 'Maintenance', status: 'True', reason: 'Requested', message }];
}

/** How the site's own workers scale, by its bench's settings. */
function evaluateScaling(observation: Observation<AppSite, SiteInputs>): StatusPart {
  const { resource, inputs, child } = observation;
  if (resource.spec.workloads !== 'Dedicated') return {};
  const names = siteNames(resource.metadata.name);
  const workers: WorkerChildren = {
    name: names.worker,
    scale: (queue) => siteWorkerScale(resource, inputs, queue),
    foreign: inputs.foreignScalers,
    child,
  };
  const scaling = scalingStatus(workers);
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
    conditions: scalingCondition(workers, obstacle, wanted),
    fields: {
      ...scaleStatus(observation, resource, names.gunicorn),
      workerScaling: scaling,
      workers: own,
    },
    reconcileAgain: scaledToZero(scaling, own).join() !== inputs.scaledToZero.join(),
  };
}
