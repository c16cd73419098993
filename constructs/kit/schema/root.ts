import type { KindDefinition, Schema, ValidationRule } from '../definition.js';

/** A rule whose violation is reported at a field below the node that the rule is written on. */
export interface RuleAt extends ValidationRule {
  readonly fieldPath?: string;
}

/** The schema of the whole object: what the CRD publishes and what `admit` validates with. */
export function rootSchema(definition: KindDefinition): Schema {
  return {
    type: 'object',
    description: definition.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object', properties: { name: { type: 'string' } } },
      spec: definition.spec,
      status: definition.status,
    },
    'x-kubernetes-validations': nameRules(definition.maxNameLength),
  };
}

/**
 * Names go into the names of Services and into labels, which take less than the names of objects
 * do.
 */
function nameRules(maxLength: number): readonly RuleAt[] {
  return [
    {
      rule: `self.metadata.name.size() <= ${maxLength}`,
      message: `must have at most ${maxLength} characters: child objects add suffixes to it`,
      fieldPath: '.metadata.name',
    },
    {
      rule: "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
      message:
        'must be a DNS label (RFC 1035), since child objects are named after it: lower-case letters, digits and -, first a letter, last a letter or a digit',
      fieldPath: '.metadata.name',
    },
  ];
}
