import { Slots } from '../slots.js';

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
  readonly #slots: Slots;

  constructor(private readonly props: GateProps) {
    this.#slots = new Slots(props.most);
  }

  /**
   * Waits for a turn. What is returned ends it, and may be called more than once.
   * @throws Busy
   */
  async enter(): Promise<() => void> {
    const { waitMs, message } = this.props;
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(new Busy(message));
    }, waitMs);
    try {
      return await this.#slots.take(late.signal);
    } finally {
      clearTimeout(timer);
    }
  }
}
