import type { AppBench, ImageDigest } from '../api/bench.js';

/** What decides about a bench's image. */
export type ImageSource = Pick<AppBench, 'spec' | 'status'>;

/** `repository@sha256:…`, as runtimes report what they have pulled; Docker's shim puts a scheme before it. */
const REPOSITORY_DIGEST = /^(?:docker-pullable:\/\/)?([^@\s]{1,255})@(sha256:[a-f0-9]{64})$/;
/** The name that containerd gives an archive which is loaded into a node: no registry has it. */
const LOADED = /(?:^|\/)import-\d{4}-\d{2}-\d{2}$/;

/**
 * The digest of a container's image in a registry. Undefined for an id without a repository
 * (`sha256:…`, `docker://sha256:…`), as after `kind load` or `ctr import`. The repository may be that of
 * a mirror.
 * @param imageId `imageID` of a container's status
 */
export function digestIn(imageId = ''): string | undefined {
  const [, repository = '', digest] = REPOSITORY_DIGEST.exec(imageId) ?? [];
  return LOADED.test(repository) ? undefined : digest;
}

/** Whether the operator has to find out what the image of the spec refers to. */
export function needsDigest({ image }: ImageSource['spec']): boolean {
  // With `Never`, each node runs what was put there by hand.
  return image?.digest === undefined && image?.pullPolicy !== 'Never';
}

/** What is recorded for the reference, and for the request to look again; undefined where that is not known. */
export function recordedDigest(
  { spec, status }: ImageSource,
  reference: string,
): ImageDigest | undefined {
  const known = status?.imageDigest;
  if (!needsDigest(spec) || known?.image !== reference) return undefined;
  const refresh = spec.image?.refresh;
  // Without a value nothing is asked for: a GitOps tool may take away what a person has set.
  return refresh === undefined || refresh === known.refresh ? known : undefined;
}

/** The value of `spec.image.refresh` that the init Job answers. */
export function refreshOf(bench: ImageSource, reference: string): string | undefined {
  return bench.spec.image?.refresh ?? recordedDigest(bench, reference)?.refresh;
}

/**
 * Whether the next result of the init Job has the digest. Until then, nothing but this Job runs what
 * the reference refers to now.
 * @param init the run of the init Job
 */
export function awaitsDigest(bench: ImageSource, reference: string, init: string): boolean {
  if (!needsDigest(bench.spec)) return false;
  const known = recordedDigest(bench, reference);
  if (known) return known.digest === undefined && known.init !== init;
  return !isOfOlderRelease(bench, reference);
}

/** An older release has prepared the bench: its pods run the reference until the init Job runs again. */
function isOfOlderRelease({ spec, status }: ImageSource, reference: string): boolean {
  return (
    status?.imageDigest === undefined &&
    status?.assets?.image === reference &&
    spec.image?.refresh === undefined
  );
}
