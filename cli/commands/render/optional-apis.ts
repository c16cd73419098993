import { INTEGRATIONS } from '../../../constructs/integrations/index.js';
import { kindsOf, type Integration } from '../../../constructs/kit/integration.js';
import { kindId } from '../../../constructs/kit/object-kind.js';

/** Names of the integrations that trees depend on, for `--serves`. */
export function integrationNames(
  integrations: readonly Integration[] = INTEGRATIONS,
): readonly string[] {
  return integrations
    .filter((integration) => kindsOf(integration).length > 0)
    .map(({ name }) => name);
}

/**
 * The optional APIs, as `<apiVersion>/<kind>`, that a cluster with an integration serves.
 * @throws Error for an unknown integration
 */
export function optionalApisOf(
  name: string,
  integrations: readonly Integration[] = INTEGRATIONS,
): readonly string[] {
  const found = integrations.find((integration) => integration.name === name);
  if (found) return kindsOf(found).map(kindId);
  const allowed = integrationNames(integrations).join(', ');
  throw new Error(`serves: got ${name}, allowed: ${allowed}`);
}
