import type { Problem } from '../errors.js';

/**
 * A problem; a blocking one keeps the validation rules from running, as they could not be trusted.
 */
export interface Violation extends Problem {
  readonly blocking: boolean;
}
