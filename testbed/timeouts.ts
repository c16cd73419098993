/**
 * Fewer polls than these prove nothing: the machine may have been suspended, or our own work took
 * the time.
 */
const MIN_POLLS = 200;

/** Called after each failed poll; true once the time is over and the minimum of polls was made. */
export function deadline(ms: number): () => boolean {
  const end = performance.now() + ms;
  let polls = 0;
  return () => {
    polls += 1;
    return polls >= MIN_POLLS && performance.now() > end;
  };
}
