import { MIGRATION_FAILED, RESTORE_FAILED } from '../../kit/constants.generated.js';
import { imageNamed } from '../../frappe/image.js';
import { benchesByTurn } from '../../frappe/indexes.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { isOpening, type BenchOffer } from '../../frappe/site-model.js';
import type { StatusPart } from '../../frappe/tree-status.js';
import type { AppBench } from '../../api/bench.js';
import type { ConditionResult } from '../../kit/condition.js';
import type { Observation, ClusterReader } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import { keyOf } from '../../kit/object.js';
import type { AppSite, SiteUpgrade } from '../../api/site.js';

/** Reasons that a Job gives only while the site is closed. */
export const CLOSED_REASONS = new Set<string>([MIGRATION_FAILED, RESTORE_FAILED]);

/** The way of a site from the image that its data is of to the one of its bench. */
export interface SiteUpgradeInputs {
  readonly from: string;
  readonly to: string;
  /** Whether its turn has come: until then the site's own tree stays on the image before. */
  readonly started: boolean;
  /** Whether the site is known to be closed. */
  readonly closed: boolean;
  /** Whether the site is being opened: whatever image is wanted meanwhile, its data is of `to`. */
  readonly opening: boolean;
  /** Why the site cannot be opened again yet, after its migration. */
  readonly reopenBlockedReason: string | undefined;
}

/** Undefined where the site's data is of the bench's image, or where the site has no data yet. */
export function resolveUpgrade(
  site: AppSite,
  bench: BenchModel,
  offer: BenchOffer,
  reader: ClusterReader,
): SiteUpgradeInputs | undefined {
  const { image: from, upgrade } = site.status ?? {};
  if (from !== undefined && upgrade && isOpening(upgrade)) return finished(from, upgrade);
  const to = bench.image.reference;
  if (from === undefined || (from === to && !isChanged(upgrade))) return undefined;
  const key = keyOf(bench.namespace, site.metadata.name);
  const hasTurn = reader.list(benchesByTurn, key, turnOf).includes(`${bench.name} ${to}`);
  return {
    from,
    to,
    started: hasTurn || (upgrade?.to === to && upgrade.state !== 'Waiting'),
    closed: upgrade?.closed === true,
    opening: false,
    reopenBlockedReason: reopenBlock(site, bench, offer),
  };
}

/** Why a closed site must not be opened yet: a Shared one is served by the bench's own pods. */
function reopenBlock({ spec }: AppSite, { name, image }: BenchModel, offer: BenchOffer): string {
  const to = image.reference;
  const rolledOut = offer.ready && offer.image === to;
  if (spec.workloads !== 'Shared' || rolledOut) return RECORDED_FIRST;
  const waits = `waiting for the pods of bench ${name} to run ${to}`;
  return offer.image === undefined || offer.image === to
    ? waits
    : `${waits}; they run ${offer.image} while a Shared site is open on it`;
}

/** A site that opens cannot go back: its users may change its data at any moment. */
function finished(from: string, { to }: SiteUpgrade): SiteUpgradeInputs {
  const reopenBlockedReason = undefined;
  return { from, to, started: true, closed: false, opening: true, reopenBlockedReason };
}

/** The Job that opens a site is created after its opening is in the status. */
const RECORDED_FIRST = 'waiting to be opened';

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

type Observed = Observation<
  AppSite,
  { readonly bench: BenchModel; readonly upgrade: SiteUpgradeInputs | undefined }
>;

/** What an upgrade adds to a site's status. */
export function evaluateUpgrade(observation: Observed): StatusPart {
  const { inputs, resource, child } = observation;
  if (inputs.upgrade) return evaluateRunning(observation, inputs.upgrade);
  // A site that was never created has nothing to upgrade, and holds no upgrade of others.
  const init = child('Job', siteNames(resource.metadata.name).init);
  const created = init?.health.state === 'Ready' ? inputs.bench.image.reference : undefined;
  return { fields: { image: resource.status?.image ?? created, upgrade: undefined } };
}

function evaluateRunning(observation: Observed, upgrade: SiteUpgradeInputs): StatusPart {
  const { resource, child } = observation;
  const { init } = siteNames(resource.metadata.name);
  const state = child('Job', init)?.health.state;
  const isFailed = state === 'Failed';
  // A site that was closed stays so until it is reopened.
  const closed = upgrade.closed || (isFailed && hasClosed(observation, init));
  if (!upgrade.started) return inState('Waiting', upgrade, closed);
  if (!upgrade.opening) {
    if (isFailed) return { ...inState('Failed', upgrade, closed), stalled: closed };
    if (state !== 'Ready') return inState('Running', upgrade, closed);
  }
  return evaluateMigrated(observation, upgrade);
}

function evaluateMigrated({ resource, child, pending }: Observed, upgrade: SiteUpgradeInputs) {
  const { reopen } = siteNames(resource.metadata.name);
  const state = child('Job', reopen)?.health.state;
  if (state === 'Ready') {
    return { fields: { image: upgrade.to, upgrade: undefined }, reconcileAgain: true };
  }
  // From here on a Job may open the site at any moment.
  const mayOpen =
    upgrade.reopenBlockedReason === RECORDED_FIRST && pending.every(({ name }) => name === reopen);
  const opens = state !== undefined || mayOpen;
  return { ...inState('Migrated', upgrade, !opens), reconcileAgain: opens && !upgrade.opening };
}

/** Whether a failed Job says that it has left the site closed. */
function hasClosed({ pending }: Observed, job: string): boolean {
  const failed = pending.find(({ kind, name }) => kind === 'Job' && name === job);
  return CLOSED_REASONS.has(failed?.health.reason ?? '');
}

function inState(
  state: SiteUpgrade['state'],
  { from, to }: SiteUpgradeInputs,
  closed: boolean,
): StatusPart {
  const status: SiteUpgrade = { from, to, state, ...(closed ? { closed } : {}) };
  return { conditions: conditionsOf(status), fields: { image: from, upgrade: status } };
}

function conditionsOf(upgrade: SiteUpgrade): readonly ConditionResult[] {
  const { from, to, state, closed } = upgrade;
  const message = from === to ? goingBack(upgrade) : goingForward(upgrade);
  const upgrading: ConditionResult = { type: 'Upgrading', status: 'True', reason: state, message };
  if (!closed) return [upgrading];
  const maintenance =
    'visitors see a maintenance page, and jobs are deferred, until the upgrade ends';
  return [
    upgrading,
    { type: 'Maintenance', status: 'True', reason: 'Upgrading', message: maintenance },
  ];
}

function goingForward(upgrade: SiteUpgrade): string {
  const { from, to, state } = upgrade;
  if (isOpening(upgrade)) return `migrated from ${from} to ${to}; the site is being opened`;
  return {
    Waiting: `waiting for its turn to be upgraded from ${from} to ${to}`,
    Running: `being backed up and migrated from ${from} to ${to}`,
    Migrated: `migrated from ${from} to ${to}; the site opens when its pods run that image`,
    Failed: `not upgraded from ${from} to ${to}; see the condition Ready`,
  }[state];
}

/** Of a closed site, whose data was of that image before. */
function goingBack(upgrade: SiteUpgrade): string {
  const { to, state } = upgrade;
  if (isOpening(upgrade)) return `back on ${to}; the site is being opened`;
  return {
    Waiting: `waiting for its turn to go back to ${to}`,
    Running: `going back to ${to}: its backup is loaded`,
    Migrated: `back on ${to}; the site opens when its pods run that image`,
    Failed: `not back on ${to}; see the condition Ready`,
  }[state];
}
