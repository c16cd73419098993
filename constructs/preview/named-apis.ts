import { INTEGRATIONS } from '../integrations/index.js';
import { kindsOf, type Integration } from '../kit/integration.js';
import type { Resource } from '../kit/object.js';
import { kindId } from '../kit/object-kind.js';

/** The integrations that the spec of a resource asks for by name. */
export function namedIntegrations(resource: Resource): readonly Integration[] {
  return INTEGRATIONS.filter((integration) => integration.isNamedBy?.(resource));
}

/** The optional APIs that resources ask for by name, as `<apiVersion>/<kind>`. */
export function namedApis(resources: readonly Resource[]): readonly string[] {
  const named = new Set(resources.flatMap((resource) => namedIntegrations(resource)));
  return [...named].flatMap((integration) => kindsOf(integration).map(kindId));
}
