/** Too many wait, or one waited too long for its turn. */
export class Busy extends Error {
  override readonly name = 'Busy';
}

export interface GateProps {
  /** What passes at the same time. */
  readonly most: number;
  /** What passes at the same time of one namespace, so that none takes the turns of all. */
  readonly mostOfOne: number;
  /** What waits of one namespace. */
  readonly queue: number;
  /** How long it waits. */
  readonly waitMs: number;
  /** Message of the error after a longer wait, or beyond the queue. */
  readonly message: string;
}

interface Group {
  running: number;
  readonly waiting: Set<() => void>;
}

/**
 * Lets a bounded number pass at the same time, and a share of it of each namespace. The rest waits for
 * a bounded time: namespaces take turns, and the first in is the first out of one.
 */
export class Gate {
  #free: number;
  /** The namespaces that have something here, in the order of their turns. */
  readonly #groups = new Map<string, Group>();

  constructor(private readonly props: GateProps) {
    this.#free = props.most;
  }

  /**
   * Waits for a turn. What is returned ends it, and may be called more than once.
   * @throws Busy
   */
  async enter(namespace: string): Promise<() => void> {
    const group = this.#groups.get(namespace) ?? { running: 0, waiting: new Set() };
    this.#groups.set(namespace, group);
    if (this.#mayPass(group)) this.#pass(group);
    else await this.#turn(namespace, group);
    let entered = true;
    return () => {
      if (entered) this.#leave(namespace, group);
      entered = false;
    };
  }

  #mayPass({ running }: Group): boolean {
    return this.#free > 0 && running < this.props.mostOfOne;
  }

  #pass(group: Group): void {
    this.#free -= 1;
    group.running += 1;
  }

  #turn(namespace: string, group: Group): Promise<void> {
    const { queue, waitMs, message } = this.props;
    if (group.waiting.size >= queue) return Promise.reject(new Busy(message));
    return new Promise((resolve, reject) => {
      const next = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        group.waiting.delete(next);
        this.#forget(namespace, group);
        reject(new Busy(message));
      }, waitMs);
      group.waiting.add(next);
    });
  }

  #leave(namespace: string, group: Group): void {
    this.#free += 1;
    group.running -= 1;
    this.#forget(namespace, group);
    for (const [name, other] of this.#groups) {
      const [next] = other.waiting;
      if (!next || !this.#mayPass(other)) continue;
      // Its next turn comes after those of all others.
      this.#groups.delete(name);
      this.#groups.set(name, other);
      other.waiting.delete(next);
      this.#pass(other);
      next();
      return;
    }
  }

  #forget(namespace: string, { running, waiting }: Group): void {
    if (running === 0 && waiting.size === 0) this.#groups.delete(namespace);
  }
}
