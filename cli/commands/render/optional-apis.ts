import { INTEGRATIONS } from '../../../constructs/integrations/index.js';
import { kindsOf } from '../../../constructs/kit/integration.js';
import { kindId } from '../../../constructs/kit/object-kind.js';

/** Names of the integrations that trees depend on, for `--serves`. */
export function integrationNames(): readonly string[] {
  return INTEGRATIONS.filter((integration) => kindsOf(integration).length > 0).map(
    ({ name }) => name,
  );
}

/** In place of the names: the cluster has none of them. */
const NONE = 'none';

/**
 * The optional APIs, as `<apiVersion>/<kind>`, that a cluster with some integrations serves.
 * @param names of integrations; `none`, or no name at all, for a cluster without any
 * @throws Error for an unknown integration
 */
export function optionalApisOf(names: readonly string[]): readonly string[] {
  if (names.length === 1 && names[0] === NONE) return [];
  const known = integrationNames();
  if (names.every((name) => known.includes(name)))
    return INTEGRATIONS.filter(({ name }) => names.includes(name)).flatMap((integration) =>
      kindsOf(integration).map(kindId),
    );
  const allowed = [...known, `or ${NONE}`].join(', ');
  throw new Error(`serves: got ${JSON.stringify(names.join(','))}, allowed: ${allowed}`);
}
