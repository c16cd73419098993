/** Lets a number of callers go on at a time; the others wait, in the order of their calls. */
export class Semaphore {
  readonly #waiting = new Set<() => void>();

  constructor(private available: number) {}

  /**
   * Resolves with the function that lets the next caller go on; more than one call of it is one.
   * @throws the signal's reason once it is aborted
   */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.available > 0) this.available -= 1;
    else await this.#turn(signal);
    let acquired = true;
    return () => {
      if (acquired) this.#free();
      acquired = false;
    };
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = (): void => {
        signal.removeEventListener('abort', end);
        resolve();
      };
      const end = (): void => {
        this.#waiting.delete(next);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', end, { once: true });
      this.#waiting.add(next);
    });
  }

  /** The first caller that waits goes on. */
  #free(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.available += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
