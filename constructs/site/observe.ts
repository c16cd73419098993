import { judge } from '../framework/judge.js';
import { scaleStatus } from '../framework/scale-status.js';
import {
  asleep,
  QUEUES,
  scalingCondition,
  scalingObstacle,
  scalingStatus,
  type WorkersSeen,
} from '../framework/worker-scaling.js';
import { benchNames, serviceHost, siteNames } from '../kit/names.js';
import type { Verdict } from '../kit/condition.js';
import type { ChartProps, HttpProbe, Judgement, Observation } from '../kit/kind.js';
import type { AppSite } from './api.js';
import { siteWorkerScale } from './chart.js';
import { siteWorkersWanted, type SiteFacts } from './facts.js';
import { databaseCondition } from './database-operator.js';
import { siteUrl } from './job.js';
import { judgeRestore } from './restore.js';
import { routeCertificate } from './route.js';
import { certificateCondition } from './tls.js';
import { judgeUpgrade } from './upgrade.js';

const NGINX_PORT = 8080;

/** A site answers when its ping comes back through the bench's proxy. Maintenance answers nobody. */
export function siteProbes({
  resource,
  facts,
}: ChartProps<AppSite, SiteFacts>): readonly HttpProbe[] {
  if (resource.spec.maintenance) return [];
  const { name, namespace, clusterDomain } = facts.bench;
  const host = serviceHost(benchNames(name).nginx, namespace, clusterDomain);
  return [
    {
      url: `http://${host}:${NGINX_PORT}/api/method/ping`,
      host: resource.spec.siteName,
      expectStatus: 200,
      expectBody: { message: 'pong' },
    },
  ];
}

/** What a site says of itself. */
export function observeSite(observation: Observation<AppSite, SiteFacts>): Judgement {
  const { facts, resource } = observation;
  const certificate = facts.route
    ? routeCertificate(facts.route)
    : certificateCondition(observation);
  const { phase, ready } = judge(observation);
  const upgrade = judgeUpgrade(observation);
  const restore = judgeRestore(observation);
  const scaling = judgeScaling(observation);
  return {
    ...upgrade,
    stalled: upgrade.stalled === true || restore.stalled,
    phase,
    ready: isHeld(observation) ? { ...ready, message: facts.hold ?? '' } : ready,
    again: upgrade.again === true || scaling.again,
    conditions: conditionsOf(observation, certificate, [
      ...scaling.conditions,
      ...databaseCondition(observation),
      ...(upgrade.conditions ?? []),
      ...restore.conditions,
    ]),
    fields: {
      ...upgrade.fields,
      restored: restore.restored,
      siteURL: siteUrl(certificate?.status === 'True', facts.domain),
      database: {
        provider: facts.database.server.provider,
        host: facts.database.server.host,
        name: facts.database.name,
      },
      apps: facts.apps,
      ...(resource.spec.workloads === 'Dedicated'
        ? {
            ...scaleStatus(observation, resource, siteNames(resource.metadata.name).gunicorn),
            workerScaling: scaling.status,
          }
        : {}),
    },
  };
}

/** Whether nothing moves since nothing may be made: what is under way says more than what holds the rest. */
function isHeld({ ready, facts, pending, probes }: Observation<AppSite, SiteFacts>): boolean {
  const idle = pending.every(({ health }) => health.state === 'Missing') && probes.length === 0;
  return !ready && facts.hold !== undefined && idle;
}

function conditionsOf(
  { resource }: Observation<AppSite, SiteFacts>,
  certificate: Verdict | undefined,
  upgrade: readonly Verdict[],
): readonly Verdict[] {
  const closed = upgrade.some(({ type }) => type === 'Maintenance');
  return [
    ...(certificate ? [certificate] : []),
    ...(closed ? [] : maintenanceCondition(resource)),
    ...upgrade,
  ];
}

function maintenanceCondition({ spec }: AppSite): readonly Verdict[] {
  if (!spec.maintenance) return [];
  const message = "visitors see the framework's maintenance page";
  return [{ type: 'Maintenance', status: 'True', reason: 'Requested', message }];
}

/** How the site's own workers scale, by its bench's settings. */
function judgeScaling(observation: Observation<AppSite, SiteFacts>) {
  const { resource, facts, child } = observation;
  if (resource.spec.workloads !== 'Dedicated') {
    return { status: undefined, again: false, conditions: [] };
  }
  const workers: WorkersSeen = {
    name: siteNames(resource.metadata.name).worker,
    scale: (queue) => siteWorkerScale(resource, facts, queue),
    foreign: facts.foreignScalers,
    child,
  };
  const status = scalingStatus(workers);
  const { redis } = facts.bench;
  const wanted = QUEUES.filter((queue) => siteWorkersWanted(resource, facts, queue).scaling);
  const obstacle = scalingObstacle({ keda: facts.keda, externalRedis: redis.external });
  return {
    status,
    again: asleep(status).join() !== facts.asleep.join(),
    conditions: scalingCondition(workers, obstacle, wanted),
  };
}
