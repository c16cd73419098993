import type { Omission } from '../../kube/snapshot.js';
import { allOf, type Node } from './node.js';
import type { StatusReport } from './reporter.js';

const RESOURCES = /^(App|Site)[A-Z]/;

/** What is said below the trees: how many are well, and what was not shown. */
export function footerOf(
  { resources, omitted, namespace }: StatusReport,
  kind?: string,
): readonly string[] {
  const ours = resources.flatMap(allOf).filter(({ kind }) => RESOURCES.test(kind));
  const where = namespace === null ? 'the cluster' : `namespace ${namespace}`;
  if (ours.length === 0)
    return [`There is no ${kind ?? 'bench and no site'} in ${where}.`, ...hidden(omitted)];
  const unwell = ours.filter(({ state }) => state !== 'Ready').length;
  const total = `${ours.length} ${ours.length === 1 ? 'resource' : 'resources'}`;
  const conditionResult = unwell === 0 ? 'all Ready' : `${unwell} not Ready`;
  return ['', `${total}, ${conditionResult}.`, ...hidden(omitted)];
}

/** What was not shown, a line for each reason. */
export function hidden(omitted: readonly Omission[]): readonly string[] {
  const reasons = Map.groupBy(omitted, ({ why }) => why);
  return [...reasons].map(
    ([why, of]) => `Not shown: ${[...new Set(of.map(({ what }) => what))].join(', ')} (${why}).`,
  );
}

/** The resource lines of a report, to tell what has changed from one to the next. */
export function linesOf({ resources }: StatusReport): ReadonlyMap<string, string> {
  const ours = resources.flatMap(allOf).filter(({ kind }) => RESOURCES.test(kind));
  return new Map(ours.map((node) => [`${node.kind}/${node.namespace}/${node.name}`, lineOf(node)]));
}

function lineOf({ kind, name, state, message, details }: Node): string {
  return `${kind} ${name}: ${details.phase ?? state}${message === '' ? '' : `: ${message}`}`;
}
