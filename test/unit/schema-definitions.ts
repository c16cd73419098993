import type { KindDefinition } from '../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../constructs/registry.js';

export function definitionOf(kind: string): KindDefinition {
  const found = DEFINITIONS.find((definition) => definition.kind === kind);
  if (!found) throw new Error(`no kind ${kind}`);
  return found;
}
