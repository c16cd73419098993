import type { Observation } from '../kit/kind.js';
import { benchNames } from '../kit/names.js';
import { frappeImage } from '../frappe/image.js';
import type { AppBench, BenchAssets } from './api.js';
import type { BenchInputs } from './resolve.js';

/** Sites may be on some previous images, while they are upgraded. */
const MOST_IMAGES = 8;

/** Whether the init Job has reported where the bench's image has its assets. */
export function knowsAssets({ spec, status }: AppBench): boolean {
  return status?.assets?.image === frappeImage(spec).reference;
}

/** Where images have their assets, with the result of the init Job for the bench's image. */
export function assetsOf({
  resource,
  runs,
  child,
}: Observation<AppBench, BenchInputs>): BenchAssets | undefined {
  const before = resource.status?.assets;
  const { init } = benchNames(resource.metadata.name);
  if (knowsAssets(resource) || child('Job', init)?.health.state !== 'Ready') return before;
  const image = frappeImage(resource.spec).reference;
  const others = (before?.inSites ?? []).filter((other) => other !== image);
  // Without its result, as after the deletion of its pod, the image counts as a newer one.
  const run = runs.find(({ name, state }) => name === init && state === 'Succeeded');
  const inSites = isInSites(run?.message) ? [...others, image] : others;
  return { image, inSites: inSites.slice(-MOST_IMAGES) };
}

const SUCCEEDED = /^app-operator: Succeeded: (\{.*\})\s*$/;

function isInSites(message = ''): boolean {
  try {
    const result: unknown = JSON.parse(SUCCEEDED.exec(message)?.[1] ?? '{}');
    return (result as { readonly assets?: unknown }).assets === 'sites';
  } catch {
    return false;
  }
}
