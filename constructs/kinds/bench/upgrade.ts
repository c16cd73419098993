import type { BenchModel } from '../../frappe/bench-model.js';
import { sitesOfBench } from '../../frappe/indexes.js';
import { isOpening } from '../../frappe/site-model.js';
import type { ClusterReader } from '../../kit/kind.js';
import { keyOf } from '../../kit/object.js';
import type { ConditionResult } from '../../kit/condition.js';
import { isPaused } from '../../kit/annotations.js';
import type { AppSite, AppSiteStatus } from '../../api/site.js';
import type { AppBench, BenchUpgrade } from '../../api/bench.js';

const PARALLEL = 2;

/** What the order of upgrades depends on. */
export interface SiteProgress {
  readonly name: string;
  readonly dedicated: boolean;
  /** The image that its data is of; undefined where it was never created. */
  readonly image: string | undefined;
  readonly upgrade: AppSiteStatus['upgrade'];
  /** Why it cannot take its turn; undefined where it can. */
  readonly blocked: string | undefined;
}

/** How the sites of a bench are upgraded to its image. */
export interface UpgradePlan {
  readonly to: string;
  /** The image that the bench's own pods keep for now; undefined where they may change. */
  readonly keptImage: string | undefined;
  /** The sites whose turn it is. */
  readonly turns: readonly string[];
  readonly done: number;
  readonly all: number;
  readonly failed: readonly string[];
  /** The sites that cannot take their turn, and why. */
  readonly blocked: readonly { readonly name: string; readonly why: string }[];
  /** The Shared sites that are open on the previous image. */
  readonly open: readonly string[];
}

/** What decides about a site's turn. A constant function: see `ClusterReader.get`. */
export function progressOf(site: AppSite): SiteProgress {
  const { metadata, spec, status } = site;
  return {
    name: metadata.name,
    dedicated: spec.workloads === 'Dedicated',
    image: imageOf(status),
    upgrade: status?.upgrade,
    blocked: blockedReasonOf(site),
  };
}

function imageOf({ image, upgrade }: AppSiteStatus = {}): string | undefined {
  return upgrade && isOpening(upgrade) ? upgrade.to : image;
}

function blockedReasonOf(site: AppSite): string | undefined {
  const { metadata, status } = site;
  if (metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  if (isPaused(site)) return 'it is paused';
  // A failed migration may succeed with another image.
  if (status?.upgrade?.state === 'Failed') return undefined;
  // A site that lacks a reference, or is refused, would keep its turn from the others.
  return isBlocked(status) ? (readyReason(status) ?? 'it waits') : undefined;
}

function isBlocked({ phase, conditions = [] }: AppSiteStatus = {}): boolean {
  const stalled = conditions.some(({ type, status }) => type === 'Stalled' && status === 'True');
  return phase === 'Pending' || stalled;
}

function readyReason({ conditions }: AppSiteStatus = {}): string | undefined {
  return conditions?.find(({ type }) => type === 'Ready')?.reason;
}

/** @returns undefined where all sites are on the bench's image */
export function resolveUpgrade(
  bench: AppBench,
  { name, namespace, image }: BenchModel,
  reader: ClusterReader,
): UpgradePlan | undefined {
  const progress = reader.list(sitesOfBench, keyOf(namespace, name), progressOf);
  return planUpgrade(bench, image.reference, progress);
}

/**
 * Decides whose turn it is, and whether the bench's own pods may change. A Shared site is served by
 * them: they change when none is open on the previous image. The plan depends on statuses
 * only, so that an operator that starts continues where another one ended.
 */
export function planUpgrade(
  bench: Pick<AppBench, 'spec' | 'status'>,
  to: string,
  sites: readonly SiteProgress[],
): UpgradePlan | undefined {
  const from = bench.status?.image;
  const withData = sites.filter(({ image }) => image !== undefined);
  const behind = withData.filter((site) => isBehind(site, to));
  const moves = from !== undefined && from !== to;
  if (behind.length === 0 && !moves) return undefined;
  const before = new Set(bench.status?.upgrade?.to === to ? bench.status.upgrade.turns : []);
  const able = behind.filter((site) => site.blocked === undefined && !isOver(site, to));
  const running = able.filter((site) => before.has(site.name) || isRunning(site, to));
  const held = heldSites(behind, from, to);
  // Closed sites come first.
  const next = able
    .filter((site) => !running.includes(site) && !held.includes(site))
    .sort((a, b) => Number(b.upgrade?.closed ?? false) - Number(a.upgrade?.closed ?? false));
  const free = Math.max(0, (bench.spec.upgrade?.parallel ?? PARALLEL) - running.length);
  const open = behind.filter((site) => isOpenShared(site, to));
  return {
    to,
    keptImage: moves && open.length > 0 ? from : undefined,
    turns: [...running, ...next.slice(0, free)].map(({ name }) => name).sort(),
    done: withData.length - behind.length,
    all: withData.length,
    failed: behind.filter((site) => hasFailed(site, to)).map(({ name }) => name),
    blocked: behind.flatMap(({ name, blocked, ...site }) =>
      blocked === undefined || hasFailed({ ...site, name, blocked }, to)
        ? []
        : [{ name, why: blocked }],
    ),
    open: open.map(({ name }) => name),
  };
}

function isBehind({ image, upgrade }: SiteProgress, to: string): boolean {
  return (
    image !== to || (upgrade !== undefined && upgrade.state !== 'Waiting') || isClosed(upgrade)
  );
}

/**
 * The sites that wait while the upgrade of a Shared site was refused and it is open: the bench's
 * pods stay for it, so another Shared site would be closed without a way on.
 */
function heldSites(
  sites: readonly SiteProgress[],
  from: string | undefined,
  to: string,
): readonly SiteProgress[] {
  if (from === undefined || from === to) return [];
  const open = sites.filter((site) => isOpenShared(site, to));
  return open.some((site) => hasFailed(site, to)) ? open : [];
}

/** Whether the bench's pods serve the site with the previous image. */
function isOpenShared({ dedicated, image, upgrade }: SiteProgress, to: string): boolean {
  return !dedicated && image !== to && !isClosed(upgrade);
}

function isClosed(upgrade: SiteProgress['upgrade']): boolean {
  return upgrade?.closed === true;
}

function isRunning({ upgrade }: SiteProgress, to: string): boolean {
  return upgrade?.to === to && upgrade.state === 'Running';
}

function hasFailed({ upgrade }: SiteProgress, to: string): boolean {
  return upgrade?.to === to && upgrade.state === 'Failed';
}

/** Whether a site needs its turn no longer: it is migrated, or it failed. */
function isOver(site: SiteProgress, to: string): boolean {
  return hasFailed(site, to) || (site.upgrade?.to === to && site.upgrade.state === 'Migrated');
}

/** `status.upgrade`. Turns begin when the volume is prepared for the image. */
export function upgradeStatus(plan: UpgradePlan, prepared: boolean): BenchUpgrade {
  return {
    to: plan.to,
    turns: prepared ? plan.turns : [],
    progress: `${plan.done}/${plan.all}`,
    ...(plan.failed.length > 0 ? { failed: plan.failed.length } : {}),
  };
}

/** The condition `Upgrading`. */
export function upgradeCondition(plan: UpgradePlan, prepared: boolean): ConditionResult {
  const { failed, blocked, open, keptImage, done, all } = plan;
  const parts = [
    `${done} of ${all} sites are on ${plan.to}`,
    ...(prepared && plan.turns.length > 0 ? [`in progress: ${shown(plan.turns)}`] : []),
    ...(failed.length > 0 ? [`failed: ${shown(failed)}`] : []),
    ...(blocked.length > 0
      ? [`not started: ${shown(blocked.map(({ name, why }) => `${name} (${why})`))}`]
      : []),
    ...(keptImage === undefined
      ? []
      : [
          `the bench's own pods keep ${keptImage} while Shared sites are open on it: ${shown(open)}`,
        ]),
  ];
  const sitesBlock =
    keptImage !== undefined &&
    plan.turns.length === 0 &&
    open.some((name) => failed.includes(name) || blocked.some((site) => site.name === name));
  return {
    type: 'Upgrading',
    status: 'True',
    reason: sitesBlock ? 'SitesBlock' : failed.length > 0 ? 'SitesFailed' : 'SitesMigrating',
    message: parts.join('; '),
  };
}

function shown(names: readonly string[]): string {
  const rest = names.length - 5;
  return names.slice(0, 5).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
