import type { ConditionResult } from '../../kit/condition.js';
import { matchingItems, parseOutcome } from '../../kit/job-result.js';
import type { Observation } from '../../kit/kind.js';
import { benchNames } from '../../kit/names.js';
import { frappeImage } from '../../frappe/image.js';
import type { AppBench, BenchAssets } from '../../api/bench.js';
import type { BenchInputs } from './resolve.js';

/** Sites may be on some previous images, while they are upgraded. */
const MAX_IMAGES = 8;
/** Name of a program, as the init Job reports it. */
const PROGRAM = /^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,62}$/;
const MAX_PROGRAMS = 8;

/** Whether the init Job has reported where the bench's image has its assets. */
export function knowsAssets(bench: AppBench): boolean {
  return bench.status?.assets?.image === frappeImage(bench).reference;
}

/**
 * Where images have their assets, with the result of the init Job for the bench's image.
 * @param image the bench's image, by the digest that the Job has found
 */
export function assetsOf(
  { resource, runs, child }: Observation<AppBench, BenchInputs>,
  image: string,
): BenchAssets | undefined {
  const before = resource.status?.assets;
  const { init } = benchNames(resource.metadata.name);
  const isKnown = before?.image === image;
  if (isKnown || child('Job', init)?.health.state !== 'Ready') return before;
  const others = (before?.inSites ?? []).filter((other) => other !== image);
  // Without its result, as after the deletion of its pod, the image counts as a newer one.
  const run = runs.find(({ name, state }) => name === init && state === 'Succeeded');
  const { assets, missing: reported } = parseOutcome(run?.message);
  const missing = matchingItems(reported, PROGRAM, MAX_PROGRAMS);
  const inSites = assets === 'sites' ? [...others, image] : others;
  return {
    image,
    inSites: inSites.slice(-MAX_IMAGES),
    ...(missing.length > 0 ? { missing } : {}),
  };
}

/** A user sees it when a print fails; an operator of the bench sees it here. */
export function printingCondition(assets: BenchAssets | undefined): readonly ConditionResult[] {
  if (assets?.missing === undefined) return [];
  const message = `image ${assets.image}: it has no ${assets.missing.join(' and no ')}, which PDFs are printed with; use an image that has it: docs/printing.md`;
  return [{ type: 'Printing', status: 'False', reason: 'ProgramMissing', message }];
}
