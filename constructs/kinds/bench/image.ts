import { requestedImage, withDigest } from '../../frappe/image.js';
import { digestIn, needsDigest, recordedDigest, refreshOf } from '../../frappe/image-digest.js';
import type { StatusPart } from '../../frappe/tree-status.js';
import type { AppBench, ImageDigest } from '../../api/bench.js';
import type { ConditionResult } from '../../kit/condition.js';
import { defined } from '../../kit/json/defined.js';
import type { Observation } from '../../kit/kind.js';
import { benchNames } from '../../kit/names.js';
import type { BenchInputs } from './resolve.js';

type Observed = Observation<AppBench, BenchInputs>;

/** The image of a bench after a reconcile. */
export interface ObservedImage {
  /** What is recorded from now on. */
  readonly digest: ImageDigest | undefined;
  /** The image of the spec, by that digest. */
  readonly reference: string;
  /** Whether the volume is prepared for it, and its digest was known before: pods may run it. */
  readonly prepared: boolean;
}

/** What the image of the spec refers to, with the result of the init Job. */
export function observedImage(observation: Observed): ObservedImage {
  const { resource, inputs, child } = observation;
  const requested = requestedImage(resource.spec);
  const { init } = benchNames(resource.metadata.name);
  const hasRun = child('Job', init)?.health.state === 'Ready';
  const digest = digestAfter(observation, requested, hasRun);
  return {
    digest,
    reference: withDigest(requested, digest?.image === requested ? digest.digest : undefined),
    prepared: hasRun && !inputs.awaitsDigest,
  };
}

function digestAfter(
  { resource, inputs, runs }: Observed,
  image: string,
  hasRun: boolean,
): ImageDigest | undefined {
  if (!needsDigest(resource.spec)) return undefined;
  const { init } = inputs;
  // Of an older release: its pods run what the reference refers to, until the next run.
  if (!inputs.awaitsDigest) return recordedDigest(resource, image) ?? { image, init };
  if (!hasRun) return resource.status?.imageDigest;
  const job = benchNames(resource.metadata.name).init;
  const run = runs.find(({ name, state }) => name === job && state === 'Succeeded');
  return {
    image,
    init,
    ...defined({ digest: digestIn(run?.imageId), refresh: refreshOf(resource, image) }),
  };
}

/** `status.image` and `status.previousImage`: a new image is rolled out after the init Job. */
export function imageFields(
  { resource, inputs }: Observed,
  { digest, reference, prepared }: ObservedImage,
): StatusPart['fields'] {
  const { image: before, previousImage } = resource.status ?? {};
  // A new bench has no pods before its digest is known.
  const first = digest === undefined ? undefined : reference;
  const rolledOut = inputs.upgrade?.keptImage ?? inputs.model.image.reference;
  const image = prepared ? rolledOut : (before ?? first);
  const isChanged = before !== undefined && before !== image;
  return { image, previousImage: isChanged ? before : previousImage };
}

/** Only where pods may run another content than the sites' data is of. */
export function digestCondition({ digest }: ObservedImage): readonly ConditionResult[] {
  if (digest === undefined || digest.digest !== undefined) return [];
  const message = `image ${digest.image}: its digest in a registry is not known, so each pod runs what the tag refers to when it starts; set spec.image.digest, or spec.image.refresh to find it out: docs/images.md#what-a-tag-refers-to`;
  return [{ type: 'ImagePinned', status: 'False', reason: 'DigestUnknown', message }];
}
