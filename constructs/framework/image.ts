import type { AppBenchSpec } from '../bench/api.js';

/** The only official image that runs a bench. Source: frappe_docker. */
const REPOSITORY = 'frappe/erpnext';
const SUPPORTED = new Set(['version-15', 'version-16', 'develop']);

/** The image of the framework's pods. */
export interface FrameworkImage {
  readonly reference: string;
  readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  readonly pullSecrets: readonly string[];
}

export function frameworkImage(
  spec: Pick<AppBenchSpec, 'frameworkVersion' | 'image'>,
): FrameworkImage {
  const tag = spec.image?.tag ?? spec.frameworkVersion;
  const digest = spec.image?.digest;
  return {
    reference: `${spec.image?.repository ?? REPOSITORY}:${tag}${digest ? `@${digest}` : ''}`,
    // Nodes that keep different pulls of one floating tag would run different code on one volume.
    pullPolicy: spec.image?.pullPolicy ?? (!digest && isFloating(tag) ? 'Always' : 'IfNotPresent'),
    pullSecrets: spec.image?.pullSecrets?.map((secret) => secret.name) ?? [],
  };
}

/** Whether the operator is tested with this version of the framework. */
export function isSupported(frameworkVersion: string): boolean {
  return SUPPORTED.has(frameworkVersion);
}

function isFloating(tag: string): boolean {
  return !/^v?\d+\.\d+\.\d+/.test(tag);
}
