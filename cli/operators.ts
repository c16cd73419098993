import { INTEGRATIONS } from '../constructs/integrations/index.js';
import { kindsOf, type Integration } from '../constructs/kit/integration.js';

/** Names of the integrations that trees depend on, for `--serves`. */
export function operatorNames(
  integrations: readonly Integration[] = INTEGRATIONS,
): readonly string[] {
  return integrations
    .filter((integration) => kindsOf(integration).length > 0)
    .map(({ name }) => name);
}

export const OPERATOR_NAMES = operatorNames();
