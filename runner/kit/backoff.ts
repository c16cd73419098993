/** Milliseconds. */
export interface BackoffLimits {
  readonly first: number;
  readonly most: number;
}

/**
 * Milliseconds until a failed action is tried again. They grow with the time since its first failure,
 * not with the number of its failures: events may cause many failures within a second. After an
 * outage the next try follows within the duration of the outage, and within `most`.
 * @param failingMs since the first failure in a row
 * @param random in [0, 1), for jitter, which only shortens
 */
export function backoffMs(
  failingMs: number,
  { first, most }: BackoffLimits,
  random: number,
): number {
  return Math.min(most, Math.max(first, failingMs)) * (0.75 + random / 4);
}

/**
 * Milliseconds until a retry, doubled by each retry before it. Only for callers that start each retry
 * themselves, after this time: where events repeat the action, too, use `backoffMs`.
 */
export function doubledMs(retries: number, { first, most }: BackoffLimits): number {
  return Math.min(most, first * 2 ** retries);
}
