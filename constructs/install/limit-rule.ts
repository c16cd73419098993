import { text } from './cel.js';
import type { PolicyRules, Validation, Variable } from './policy.js';

/** The keys of the ConfigMap with the limits: lists, separated by commas or lines, and a level. */
export const LIMITS = {
  images: 'images',
  serviceAccounts: 'serviceAccounts',
  ingressAnnotations: 'ingressAnnotations',
  podSecurityLevel: 'podSecurityLevel',
} as const;

/** Of a kind that has none of the limited fields. */
export const NO_RULES: PolicyRules = { variables: [], validations: [] };

/** A limit: the values that are denied, and that there are none. */
export interface LimitRule {
  readonly variable: Variable;
  readonly validation: Validation;
}

/** The text of a key; what stands for a missing key. */
export function limitText(key: keyof typeof LIMITS, preset = ''): string {
  return `params.?data[?${text(LIMITS[key])}].orValue(${text(preset)})`;
}

/** The list of a key; what stands for a missing key. */
export function limitList(key: keyof typeof LIMITS, preset = ''): string {
  const words = `${limitText(key, preset)}.replace(',', '\\n').split('\\n')`;
  return `${words}.map(w, w.trim()).filter(w, w != '')`;
}

/** The rule that a list of denied values is empty. */
export function limitRule(
  name: string,
  expression: string,
  { path, what }: { readonly path: string; readonly what: string },
): LimitRule {
  return {
    variable: { name, expression },
    validation: {
      expression: `variables.${name}.size() == 0`,
      messageExpression: refusal(path, `variables.${name}`, what),
    },
  };
}

/** Names the ConfigMap as the binding does: an overlay may move it to another namespace. */
function refusal(path: string, values: string, what: string): string {
  const hint = `": ${what}; an administrator of the cluster allows it in ConfigMap `;
  const configMap = "params.metadata.namespace + '/' + params.metadata.name";
  return `${text(`${path}: forbidden: "`)} + ${values}.join('", "') + ${text(hint)} + ${configMap}`;
}
