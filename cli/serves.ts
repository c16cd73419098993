import { INTEGRATIONS } from '../constructs/integrations/index.js';
import { kindsOf, type Integration } from '../constructs/kit/integration.js';
import { kindId } from '../constructs/kit/object-kind.js';

/** The optional APIs of an integration, as `<apiVersion>/<kind>`; undefined where it is unknown. */
export function servedBy(
  name: string,
  integrations: readonly Integration[] = INTEGRATIONS,
): readonly string[] | undefined {
  const found = integrations.find((integration) => integration.name === name);
  return found && kindsOf(found).map(kindId);
}
