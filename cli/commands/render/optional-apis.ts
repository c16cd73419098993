import { groupOf } from '../../../constructs/kit/object.js';
import { kindId } from '../../../constructs/kit/object-kind.js';
import { KINDS } from '../../../constructs/registry.js';
import { OPERATORS } from './integrations.js';

/** The optional APIs, as `<apiVersion>/<kind>`, of an operator that is installed; undefined where none is known. */
export function servedBy(name: string): readonly string[] | undefined {
  const group = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (group === undefined) return undefined;
  const groups = [group].flat();
  const kinds = KINDS.flatMap(({ owns, reads, detects = [] }) => [...owns, ...reads, ...detects]);
  return [
    ...new Set(kinds.filter((kind) => groups.includes(groupOf(kind.apiVersion))).map(kindId)),
  ];
}
