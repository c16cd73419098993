import type { AppBenchSpec } from '../api/bench.js';
import { recordedDigest, type ImageSource } from './image-digest.js';

/** The only official image that runs a bench. Source: frappe_docker. */
export const REPOSITORY = 'frappe/erpnext';
const SUPPORTED = new Set(['version-15', 'version-16', 'develop']);

/** The image of the framework's pods. */
export interface FrappeImage {
  readonly reference: string;
  /** The framework's major version; undefined where neither the tag nor the spec names it. */
  readonly major: number | undefined;
  readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  readonly pullSecrets: readonly string[];
}

/** The image as the spec names it. */
export function requestedImage({
  image,
  frameworkVersion,
}: Pick<AppBenchSpec, 'frameworkVersion' | 'image'>): string {
  const digest = image?.digest === undefined ? '' : `@${image.digest}`;
  return `${image?.repository ?? REPOSITORY}:${image?.tag ?? frameworkVersion}${digest}`;
}

/** The image of the spec, by the digest that is recorded for it. */
export function frappeImage(bench: ImageSource): FrappeImage {
  const requested = requestedImage(bench.spec);
  const digest = recordedDigest(bench, requested)?.digest;
  return imageNamed(withDigest(requested, digest), bench.spec);
}

/** As a spec with this digest names it: so the way back is the same text. */
export function withDigest(reference: string, digest: string | undefined): string {
  return digest === undefined ? reference : `${reference}@${digest}`;
}

/**
 * An image by its reference, pulled as the spec says: the one before, while an upgrade is under
 * way.
 */
export function imageNamed(
  reference: string,
  { image, frameworkVersion }: Pick<AppBenchSpec, 'image' | 'frameworkVersion'>,
): FrappeImage {
  const tag = reference.includes('@') ? undefined : /:([^:/]+)$/.exec(reference)?.[1];
  return {
    reference,
    major: majorOf(reference, frameworkVersion),
    // Nodes that keep different pulls of one floating tag would run different code on one volume.
    pullPolicy:
      image?.pullPolicy ?? (tag !== undefined && isFloating(tag) ? 'Always' : 'IfNotPresent'),
    pullSecrets: image?.pullSecrets?.map((secret) => secret.name) ?? [],
  };
}

/** By the tag first: while an upgrade is under way, the spec names the next version. */
function majorOf(reference: string, frameworkVersion: string): number | undefined {
  const [, major] =
    /:v(?:ersion-)?(\d{1,3})\b[^/]*$/.exec(reference) ??
    /^version-(\d{1,3})$/.exec(frameworkVersion) ??
    [];
  return major === undefined ? undefined : Number(major);
}

/** Whether the operator is tested with this version of the framework. */
export function isSupported(frameworkVersion: string): boolean {
  return SUPPORTED.has(frameworkVersion);
}

/** The applications of the image that a bench runs by default. */
const DEFAULT_APPS: ReadonlySet<string> = new Set(['frappe', 'erpnext']);

/** The warning about applications that the default image lacks; undefined where it has all. */
export function lackingApps(
  { image }: Pick<AppBenchSpec, 'image'>,
  apps: readonly string[],
): string | undefined {
  const missing = apps.filter((app) => !DEFAULT_APPS.has(app));
  if (image?.repository !== undefined || missing.length === 0) return undefined;
  return `the default image ${REPOSITORY} has only ${[...DEFAULT_APPS].join(' and ')}, not ${missing.join(', ')}; set spec.image to an image that has them: docs/images.md#add-apps`;
}

/** The warning about a version that the operator is not tested with. */
export function untested(frameworkVersion: string): string {
  return `${frameworkVersion} is not tested with this operator; tested are version-15, version-16 and develop`;
}

function isFloating(tag: string): boolean {
  return !/^v?\d+\.\d+\.\d+/.test(tag);
}
