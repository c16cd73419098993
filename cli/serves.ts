import { groupOf } from '../constructs/kit/object.js';
import { kindId } from '../constructs/kit/object-kind.js';
import { KINDS } from '../constructs/registry.js';

/** The operators of others that ours works with, by the API group that they bring. */
const OPERATORS: Readonly<Record<string, string>> = {
  keda: 'keda.sh',
  'cert-manager': 'cert-manager.io',
  'mariadb-operator': 'k8s.mariadb.com',
  'cloudnative-pg': 'postgresql.cnpg.io',
  traefik: 'traefik.io',
};

export const SERVED_NAMES: readonly string[] = Object.keys(OPERATORS);

/** The optional APIs, as `<apiVersion>/<kind>`, of an operator that is installed; undefined where none is known. */
export function servedBy(name: string): readonly string[] | undefined {
  const group = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (group === undefined) return undefined;
  const kinds = KINDS.flatMap(({ owns, reads }) => [...owns, ...reads]);
  return [...new Set(kinds.filter((kind) => groupOf(kind.apiVersion) === group).map(kindId))];
}
