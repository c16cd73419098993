/** Something waited too long for its turn. */
export class Busy extends Error {
  override readonly name = 'Busy';
}

export interface GateProps {
  /** What passes at the same time. */
  readonly most: number;
  /** How long the rest waits. */
  readonly waitMs: number;
  /** Message of the error after a longer wait. */
  readonly message: string;
}

/** Lets a bounded number pass at the same time; the rest waits in order, for a bounded time. */
export class Gate {
  #passed = 0;
  readonly #waiting = new Set<() => void>();

  constructor(private readonly props: GateProps) {}

  /**
   * Waits for a turn. What is returned ends it, and may be called more than once.
   * @throws Busy
   */
  async enter(): Promise<() => void> {
    const { most, waitMs, message } = this.props;
    if (this.#passed < most) this.#passed += 1;
    else {
      await new Promise<void>((resolve, reject) => {
        const turn = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(turn);
          resolve();
        };
        const timer = setTimeout(() => {
          this.#waiting.delete(turn);
          reject(new Busy(message));
        }, waitMs);
        this.#waiting.add(turn);
      });
    }
    let left = false;
    return () => {
      if (left) return;
      left = true;
      // The place goes to the first that waits.
      const [next] = this.#waiting;
      if (next) next();
      else this.#passed -= 1;
    };
  }
}
