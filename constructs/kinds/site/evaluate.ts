import type { AppSite } from '../../api/site.js';
import { evaluateConfiguration, type ConfigurationResult } from '../../configuration/evaluate.js';
import {
  creationFailure,
  evaluatePhase,
  mergeStatus,
  withBlockedReason,
  type PhaseResult,
  type StatusPart,
} from '../../frappe/tree-status.js';
import { fieldsIgnored } from '../../frappe/without-effect.js';
import type { ConditionResult } from '../../kit/condition.js';
import type { Observation, StatusResult } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import { evaluateAccess } from './certificate.js';
import { databaseCondition } from './database-ready.js';
import { databaseStatus } from './database-status.js';
import { realtimeCondition } from './realtime.js';
import type { SiteInputs } from './resolve.js';
import { evaluateRestore } from './restore.js';
import { evaluateUpgrade } from './upgrade.js';
import { fieldsWithoutEffect, tlsWithoutEffect } from './without-effect.js';
import { evaluateScaling } from './workloads.js';

/** The status of a site: its phase, and what each part adds, in the order of the conditions. */
export function evaluateSite(observation: Observation<AppSite, SiteInputs>): StatusResult {
  const { inputs, resource } = observation;
  const configuration = evaluateConfiguration(observation, inputs.configuration);
  return mergeStatus(sitePhase(observation), [
    NOT_DONE,
    evaluateAccess(observation),
    { fields: { database: databaseStatus(observation), apps: inputs.apps } },
    { conditions: maintenanceCondition(resource) },
    evaluateScaling(observation),
    { conditions: databaseCondition(observation) },
    { conditions: realtimeCondition(observation) },
    creationFailure(observation, siteNames(resource.metadata.name).init, resource.status?.image),
    // Visitors of a site that is closed for them see another page than in maintenance.
    evaluateUpgrade(observation),
    evaluateRestore(observation),
    configuration,
    { fields: { socialLogins: socialLogins(resource, inputs, configuration.result) } },
    {
      conditions: fieldsIgnored([
        ...fieldsWithoutEffect(resource),
        ...tlsWithoutEffect(resource, inputs.access.gateway),
        ...inputs.access.ignoredAliases,
      ]),
    },
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

/** The identity providers in the site. They change when the Job has ended. */
function socialLogins(
  { status }: AppSite,
  { configuration }: SiteInputs,
  result: ConfigurationResult | undefined,
): readonly string[] | undefined {
  const before = status?.socialLogins;
  if (!result) return before;
  const wanted = (configuration?.login?.sso ?? [])
    .filter(
      ({ provider }, index) =>
        before?.includes(provider) || !result.leftOut.includes(`sso[${index}]`),
    )
    .map(({ provider }) => provider)
    .sort();
  const failed = result.outcome === 'Failed';
  const present = failed ? [...new Set([...(before ?? []), ...wanted])].sort() : wanted;
  return present.length === 0 ? undefined : present;
}

/** The phase and the Ready condition. A failed Job is tried again: only the condition is of its failure. */
function sitePhase(observation: Observation<AppSite, SiteInputs>): PhaseResult {
  const { resource, inputs, pending } = observation;
  const { phase, ready } = evaluatePhase(observation);
  const failed = pending.find(({ health }) => health.state === 'Failed');
  if (phase === 'Failed' && failed?.kind === 'Job') {
    const wasReady = resource.status?.appliedHash !== undefined;
    return { phase: wasReady ? 'Updating' : 'Provisioning', ready };
  }
  return withBlockedReason({ phase, ready }, observation, blockedReason(inputs));
}

function blockedReason({ blockedReason: why, upgrade }: SiteInputs): string | undefined {
  return why ?? (upgrade?.started ? upgrade.reopenBlockedReason : undefined);
}

function maintenanceCondition({ spec }: AppSite): readonly ConditionResult[] {
  if (!spec.maintenance) return [];
  const message = "visitors see the framework's maintenance page";
  return [{ type: 'Maintenance', status: 'True', reason: 'Requested', message }];
}
