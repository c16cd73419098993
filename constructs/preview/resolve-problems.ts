import { Stalled, Waiting, type Problem } from '../kit/errors.js';
import type { Resource } from '../kit/object.js';
import { problemsOf } from '../kit/problems.js';
import { resourceKey } from './accept.js';

/**
 * The problems in an error that `resolve` threw: the message of the Ready condition, by field.
 * @param refused keys of resources that have problems themselves
 * @throws the error where it is no problem of the input
 */
export function resolveProblems(
  error: unknown,
  resource: Resource,
  refused: ReadonlySet<string>,
): readonly Problem[] {
  if (!(error instanceof Stalled || error instanceof Waiting)) throw error;
  if (error.reason === 'BenchMissing') return missingBench(resource, refused);
  // In a preview nothing has been written yet: what only takes its turn is no problem.
  if (['WaitingForChart', 'WaitingForParent'].includes(error.reason)) return [];
  return problemsOf(error);
}

/**
 * A site is made from its bench, so a preview takes both. A bench that is refused says why itself.
 */
function missingBench(
  { metadata: { namespace = 'default' }, spec }: Resource,
  refused: ReadonlySet<string>,
): readonly Problem[] {
  const { name } = (spec as { readonly benchRef: { readonly name: string } }).benchRef;
  const bench = { apiVersion: '', kind: 'AppBench', metadata: { namespace, name } };
  if (refused.has(resourceKey(bench))) return [];
  return [
    {
      path: 'spec.benchRef.name',
      message: `there is no AppBench ${JSON.stringify(name)} in namespace ${namespace} in the input: add it to the input`,
    },
  ];
}
