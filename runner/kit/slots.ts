/** A number of slots that callers wait for, in the order of their calls. */
export class Slots {
  readonly #waiting = new Set<() => void>();

  constructor(private free: number) {}

  /**
   * Resolves with the function that frees the slot; more than one call of it is one.
   * @throws the signal's reason once it is aborted
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.free > 0) this.free -= 1;
    else await this.#turn(signal);
    let taken = true;
    return () => {
      if (taken) this.#release();
      taken = false;
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

  /** The slot goes to the first caller that waits. */
  #release(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
