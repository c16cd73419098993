/** Fewer tries than these prove nothing: a machine that stood still, or our own work in between, took the time. */
const TRIES = 200;

/** Says after each try in vain whether to give up: once the time is over, and only after a number of tries. */
export function patience(ms: number): () => boolean {
  const end = performance.now() + ms;
  let tries = 0;
  return () => {
    tries += 1;
    return tries >= TRIES && performance.now() > end;
  };
}
