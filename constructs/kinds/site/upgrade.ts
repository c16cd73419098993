import { MIGRATION_FAILED, RESTORE_FAILED } from '../../kit/constants.generated.js';
import { imageNamed } from '../../frappe/image.js';
import { benchesByTurn } from '../../frappe/indexes.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import type { AppBench } from '../../api/bench.js';
import type { ConditionResult } from '../../kit/condition.js';
import type { Health } from '../../kit/health.js';
import type { StatusResult, Observation, ClusterReader } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import { keyOf } from '../../kit/object.js';
import { decide, type Policy } from '../../kit/policy.js';
import type { AppSite, SiteUpgrade } from '../../api/site.js';
import type { SiteInputs, SiteUpgradeInputs } from './inputs.js';

/** Reasons that a Job gives only while the site is closed. */
export const CLOSED_REASONS = new Set<string>([MIGRATION_FAILED, RESTORE_FAILED]);

/**
 * @param rolledOut whether the bench's own pods run the image
 * @returns undefined where the site's data is of the bench's image, or where the site has no data
 * yet
 */
export function resolveUpgrade(
  site: AppSite,
  bench: BenchModel,
  rolledOut: boolean,
  reader: ClusterReader,
): SiteUpgradeInputs | undefined {
  const { image: from, upgrade } = site.status ?? {};
  const to = bench.image.reference;
  if (from === undefined || (from === to && !isChanged(upgrade))) return undefined;
  const key = keyOf(bench.namespace, site.metadata.name);
  const hasTurn = reader.list(benchesByTurn, key, turnOf).includes(`${bench.name} ${to}`);
  const waitsForBench = site.spec.workloads === 'Shared' && !rolledOut;
  return {
    from,
    to,
    started: hasTurn || (upgrade?.to === to && upgrade.state !== 'Waiting'),
    closed: upgrade?.closed === true,
    reopenBlockedReason: waitsForBench
      ? `waiting for the pods of bench ${bench.name} to run ${to}`
      : undefined,
  };
}

/** Whether an upgrade has changed the site, or closed it. */
function isChanged(upgrade: SiteUpgrade | undefined): boolean {
  return upgrade !== undefined && (upgrade.state !== 'Waiting' || upgrade.closed === true);
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

type UpgradeResult = Pick<StatusResult, 'conditions' | 'fields' | 'stalled' | 'reconcileAgain'>;
type Observed = Observation<AppSite, SiteInputs>;

interface Context {
  readonly observation: Observed;
  readonly upgrade: SiteUpgradeInputs;
  /** Health of the init Job, which migrates the site. */
  readonly init: Health | undefined;
  /** Whether the site is known to be closed: one that was closed stays so until it is reopened. */
  readonly closed: boolean;
}

/** What an upgrade adds to a site's status. */
export function evaluateUpgrade(observation: Observed): UpgradeResult {
  const { inputs, resource, child, pending } = observation;
  const { upgrade } = inputs;
  const { init } = siteNames(resource.metadata.name);
  const health = child('Job', init)?.health;
  if (!upgrade) {
    // Written when the init Job is created, so that the image of a failed creation is known.
    const created = health ? inputs.bench.image.reference : undefined;
    return { fields: { image: resource.status?.image ?? created, upgrade: undefined } };
  }
  const failed = pending.find(({ kind, name }) => kind === 'Job' && name === init);
  const failedClosed =
    health?.state === 'Failed' && CLOSED_REASONS.has(failed?.health.reason ?? '');
  const closed = upgrade.closed || failedClosed;
  return decide(POLICIES, { observation, upgrade, init: health, closed });
}

const POLICIES: readonly Policy<Context, UpgradeResult>[] = [
  {
    applies: ({ upgrade }) => !upgrade.started,
    result: (context) => inState('Waiting', context),
  },
  {
    applies: (context) => isMigrated(context) && isReopened(context),
    result: ({ upgrade }) => ({
      fields: { image: upgrade.to, upgrade: undefined },
      reconcileAgain: true,
    }),
  },
  {
    applies: isMigrated,
    result: (context) => inState('Migrated', { ...context, closed: true }),
  },
  {
    applies: ({ init }) => init?.state === 'Failed',
    result: (context) => ({ ...inState('Failed', context), stalled: context.closed }),
  },
  {
    // Running.
    applies: () => true,
    result: (context) => inState('Running', context),
  },
];

function isMigrated({ init }: Context): boolean {
  return init?.state === 'Ready';
}

function isReopened({ observation: { resource, child } }: Context): boolean {
  return child('Job', siteNames(resource.metadata.name).reopen)?.health.state === 'Ready';
}

function inState(
  state: SiteUpgrade['state'],
  { upgrade: { from, to }, closed }: Context,
): UpgradeResult {
  const status: SiteUpgrade = { from, to, state, ...(closed ? { closed } : {}) };
  return {
    conditions: conditionsOf(status),
    fields: { image: from, upgrade: status },
    stalled: false,
  };
}

function conditionsOf({ from, to, state, closed }: SiteUpgrade): readonly ConditionResult[] {
  const messages = {
    Waiting: `waiting for its turn to be upgraded from ${from} to ${to}`,
    Running: `being backed up and migrated from ${from} to ${to}`,
    Migrated: `migrated from ${from} to ${to}; the site opens when its pods run that image`,
    Failed: `not upgraded from ${from} to ${to}; see the condition Ready`,
  } as const;
  const upgrading: ConditionResult = {
    type: 'Upgrading',
    status: 'True',
    reason: state,
    message: messages[state],
  };
  if (!closed) return [upgrading];
  const message = 'visitors see a maintenance page, and jobs are deferred, until the upgrade ends';
  return [upgrading, { type: 'Maintenance', status: 'True', reason: 'Upgrading', message }];
}
