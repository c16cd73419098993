import { randomFrom } from '../../testbed/random.js';

/** Choices that a seed repeats. */
export interface Random {
  /** An integer from 0, below a number. */
  readonly below: (end: number) => number;
  readonly one: <T>(from: readonly [T, ...T[]]) => T;
}

export function randomChoice(seed: number): Random {
  const next = randomFrom(seed);
  const below = (end: number): number => Math.floor(next() * end);
  return { below, one: (from) => from[below(from.length)] ?? from[0] };
}
