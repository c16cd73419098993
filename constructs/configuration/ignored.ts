import { generatedSecretProblems } from '../frappe/pod-template-rules.js';
import type { Problem } from '../kit/errors.js';
import type { ObjectReference } from '../kit/reference.js';

/** The names of Secrets that the operator has generated. */
export function generatedSecrets(references: readonly ObjectReference[]): readonly Problem[] {
  return references
    .filter(({ kind }) => kind === 'Secret')
    .flatMap(({ name, path }) => generatedSecretProblems(name, path))
    .map(({ path, message }) => ({ path, message: `has no effect: ${message}` }));
}

/** Whether a problem is of a path, or below it. */
export function isNamed(problems: readonly Problem[], path: string): boolean {
  return problems.some((problem) => problem.path === path || problem.path.startsWith(`${path}.`));
}
