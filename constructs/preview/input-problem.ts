import type { Problem } from '../kit/errors.js';

/** A problem of the input. */
export interface InputProblem extends Problem {
  /** The resource that the input lacks. */
  readonly missing?: MissingResource;
}

export interface MissingResource {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}
