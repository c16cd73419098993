import type { Problem } from '../kit/errors.js';
import type { ObjectProblem } from './accept.js';

/** Custom resources that cannot be carried out, with everything that is wrong with them. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
  constructor(readonly problems: readonly ObjectProblem[]) {
    super(problems.map(problemLine).join('\n'));
  }
}

/** A problem in one line: `AppBench/demo: spec.frameworkVersion: Required value`. */
export function problemLine({ object, path, message }: ObjectProblem): string {
  return `${nameOf(object)}: ${path}: ${message}`;
}

/** An object as people name it: `<kind>/<name>`, without the namespace `default`. */
export function nameOf(object: object): string {
  const { kind = 'object', metadata } = object as {
    readonly kind?: unknown;
    readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown } | null;
  };
  const { name, namespace } = metadata ?? {};
  const place = namespace === undefined || namespace === 'default' ? [] : [namespace];
  return [kind, ...place, ...(name === undefined ? [] : [name])].map(text).join('/');
}

/** @throws ManifestError where there are problems */
export function refuse(object: object, problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  throw new ManifestError(problems.map((problem) => ({ object, ...problem })));
}

/** A value in a manifest, as text. */
function text(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
