import { groupOf } from '../../../constructs/kit/object.js';
import { kindId } from '../../../constructs/kit/object-kind.js';
import { KINDS } from '../../../constructs/registry.js';
import { INTEGRATION_NAMES, INTEGRATIONS } from './integrations.js';

/**
 * The optional APIs, as `<apiVersion>/<kind>`, that a cluster with an integration serves.
 * @throws Error for an unknown integration
 */
export function optionalApisOf(integration: string, kinds = KINDS): readonly string[] {
  const groups = Object.hasOwn(INTEGRATIONS, integration) ? INTEGRATIONS[integration] : undefined;
  if (!groups)
    throw new Error(`serves: got ${integration}, allowed: ${INTEGRATION_NAMES.join(', ')}`);
  const apis = kinds
    .flatMap(({ owns, reads, detects = [] }) => [...owns, ...reads, ...detects])
    .filter(({ apiVersion }) => groups.includes(groupOf(apiVersion)));
  return [...new Set(apis.map(kindId))];
}
