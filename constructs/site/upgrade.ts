import { MIGRATION_FAILED, RESTORE_FAILED } from '../frappe/constants.generated.js';
import { imageNamed } from '../frappe/image.js';
import { benchesByTurn } from '../frappe/indexes.js';
import type { BenchModel } from '../frappe/bench-model.js';
import type { AppBench } from '../bench/api.js';
import type { ConditionResult } from '../kit/condition.js';
import type { StatusResult, Observation, ClusterReader } from '../kit/kind.js';
import { siteNames } from '../kit/names.js';
import { keyOf } from '../kit/object.js';
import type { AppSite, SiteUpgrade } from './api.js';
import type { SiteInputs } from './resolve.js';

/** The way of a site from the image that its data is of to the one of its bench. */
export interface SiteUpgradeInputs {
  readonly from: string;
  readonly to: string;
  /** Whether its turn has come: until then the site's own tree stays on the image before. */
  readonly begun: boolean;
  /** Whether the site is known to be closed. */
  readonly closed: boolean;
  /** Why the site cannot be opened again yet, after its migration. */
  readonly reopenBlockedReason: string | undefined;
}

/** Reasons that a Job gives only while the site is closed. */
export const CLOSED_REASONS = new Set<string>([MIGRATION_FAILED, RESTORE_FAILED]);

/**
 * @param rolled whether the bench's own pods run the image
 * @returns undefined where the site's data is of the bench's image, or where there is none yet
 */
export function resolveUpgrade(
  site: AppSite,
  bench: BenchModel,
  rolled: boolean,
  reader: ClusterReader,
): SiteUpgradeInputs | undefined {
  const { image: from, upgrade: under } = site.status ?? {};
  const to = bench.image.reference;
  if (from === undefined) return undefined;
  const touched = under !== undefined && (under.state !== 'Waiting' || under.closed === true);
  if (from === to && !touched) return undefined;
  const key = keyOf(bench.namespace, site.metadata.name);
  const hasTurn = reader.list(benchesByTurn, key, turnOf).includes(`${bench.name} ${to}`);
  const begun = hasTurn || (under?.to === to && under.state !== 'Waiting');
  const shared = site.spec.workloads === 'Shared';
  const reopenBlockedReason = `waiting for the pods of bench ${bench.name} to run ${to}`;
  return {
    from,
    to,
    begun,
    closed: under?.closed === true,
    reopenBlockedReason: shared && !rolled ? reopenBlockedReason : undefined,
  };
}

function turnOf({ metadata, status }: AppBench): string {
  return `${metadata.name} ${status?.upgrade?.to ?? ''}`;
}

/** The bench as it is for a site that waits for its turn. */
export function benchBefore(
  model: BenchModel,
  bench: Pick<AppBench, 'spec'>,
  from: string,
): BenchModel {
  return { ...model, image: imageNamed(from, bench.spec) };
}

/** What an upgrade makes of a site's status. */
export function evaluateUpgrade(
  observation: Observation<AppSite, SiteInputs>,
): Pick<StatusResult, 'conditions' | 'fields' | 'stalled' | 'reconcileAgain'> {
  const { inputs, resource, child, pending } = observation;
  const { upgrade } = inputs;
  const { image, upgrade: under } = resource.status ?? {};
  const names = siteNames(resource.metadata.name);
  const job = child('Job', names.init);
  if (!upgrade) {
    // From the beginning, so that a site whose creation has failed half way is known to be of this image.
    const begun = image ?? (job ? inputs.bench.image.reference : undefined);
    return { fields: { image: begun, upgrade: undefined } };
  }
  const { from, to, begun } = upgrade;
  const migrated = begun && job?.health.state === 'Ready';
  if (migrated && child('Job', names.reopen)?.health.state === 'Ready') {
    return { fields: { image: to, upgrade: undefined }, reconcileAgain: true };
  }
  const reason = pending.find(({ kind, name }) => kind === 'Job' && name === names.init)?.health
    .reason;
  const failed = job?.health.state === 'Failed';
  const state = !begun ? 'Waiting' : migrated ? 'Migrated' : failed ? 'Failed' : 'Running';
  const closed =
    under?.closed === true ||
    migrated ||
    (failed && reason !== undefined && CLOSED_REASONS.has(reason));
  const status: SiteUpgrade = { from, to, state, ...(closed ? { closed } : {}) };
  return {
    conditions: conditionsOf(status),
    fields: { image: from, upgrade: status },
    stalled: begun && failed && closed,
  };
}

function conditionsOf({ from, to, state, closed }: SiteUpgrade): readonly ConditionResult[] {
  const words = {
    Waiting: `waiting for its turn to be brought from ${from} to ${to}`,
    Running: `being backed up and migrated from ${from} to ${to}`,
    Migrated: `migrated from ${from} to ${to}, opens when its pods run that`,
    Failed: `not brought from ${from} to ${to}: see Ready`,
  } as const;
  const message = words[state];
  const upgrading: ConditionResult = { type: 'Upgrading', status: 'True', reason: state, message };
  if (!closed) return [upgrading];
  const page = 'visitors see a page that says so, and jobs are set aside, until the upgrade ends';
  return [upgrading, { type: 'Maintenance', status: 'True', reason: 'Upgrading', message: page }];
}
