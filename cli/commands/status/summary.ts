import type { AnyKind } from '../../../constructs/registry.js';
import type { Omission } from '../../kube/snapshot.js';
import { resourcesIn } from './tree-node.js';
import type { StatusReport } from './reporter.js';

/** The lines below the trees: how many resources are Ready, and what could not be read. */
export function summaryOf(
  { resources, omitted, namespace }: StatusReport,
  kind = '',
  kinds?: readonly AnyKind[],
): readonly string[] {
  const found = resourcesIn(resources, kinds);
  if (found.length === 0) {
    const where = namespace === null ? 'the cluster' : `namespace ${namespace}`;
    return [`No ${kind || 'resources'} found in ${where}.`, ...omissionLines(omitted)];
  }
  const others = found.filter(({ state }) => state !== 'Ready').length;
  const total = `${found.length} ${found.length === 1 ? 'resource' : 'resources'}`;
  const readiness = others === 0 ? 'all Ready' : `${others} not Ready`;
  return ['', `${total}, ${readiness}.`, ...omissionLines(omitted)];
}

/** What could not be read: one line for each reason. */
export function omissionLines(omitted: readonly Omission[]): readonly string[] {
  const reasons = Map.groupBy(omitted, ({ why }) => why);
  return [...reasons].map(
    ([why, of]) => `Not shown: ${[...new Set(of.map(({ what }) => what))].join(', ')} (${why}).`,
  );
}
