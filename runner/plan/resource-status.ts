import type { Condition } from '../../constructs/kit/condition.js';

/** The status of a resource of any kind. */
export interface Status {
  readonly observedGeneration?: number;
  readonly phase?: string;
  readonly conditions?: readonly Condition[];
  readonly appliedHash?: string;
  readonly [field: string]: unknown;
}
