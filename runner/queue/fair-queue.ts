/** First in, first out; each operation takes constant time. */
class Fifo<T> {
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;
  size = 0;

  push(value: T): void {
    const link: Link<T> = { value, next: undefined };
    if (this.#last) this.#last.next = link;
    else this.#first = link;
    this.#last = link;
    this.size += 1;
  }

  shift(): T | undefined {
    const first = this.#first;
    this.#first = first?.next;
    if (!this.#first) this.#last = undefined;
    if (first) this.size -= 1;
    return first?.value;
  }
}

interface Link<T> {
  readonly value: T;
  next: Link<T> | undefined;
}

/** Items that are awaited, and others; of both, one is taken in turn. */
class PriorityLanes<T> {
  readonly #awaited = new Fifo<T>();
  readonly #others = new Fifo<T>();
  #isOthersTurn = false;

  get size(): number {
    return this.#awaited.size + this.#others.size;
  }

  push(value: T, isAwaited: boolean): void {
    (isAwaited ? this.#awaited : this.#others).push(value);
  }

  shift(): T | undefined {
    const isOthersTurn = this.#awaited.size === 0 || (this.#isOthersTurn && this.#others.size > 0);
    this.#isOthersTurn = !isOthersTurn;
    return (isOthersTurn ? this.#others : this.#awaited).shift();
  }
}

interface Group<T> {
  readonly name: string;
  readonly items: PriorityLanes<T>;
}

/**
 * Items of groups, taken round robin over the groups. However many items a group has, an item of
 * another group waits for one item of each group. Within a group, items that are awaited and the
 * others take turns; of either, the first in is the first out.
 */
export class FairQueue<T> {
  readonly #groups = new Map<string, Group<T>>();
  /** The groups that have items, in the order of their turns. */
  readonly #turns = new Fifo<Group<T>>();

  push(name: string, item: T, isAwaited = false): void {
    let group = this.#groups.get(name);
    if (!group) {
      group = { name, items: new PriorityLanes<T>() };
      this.#groups.set(name, group);
      this.#turns.push(group);
    }
    group.items.push(item, isAwaited);
  }

  /** The next item of a group that may have a turn; undefined if there is none. */
  take(may: (group: string) => boolean): T | undefined {
    for (let left = this.#turns.size; left > 0; left--) {
      const group = this.#turns.shift();
      if (!group) return undefined;
      const item = may(group.name) ? group.items.shift() : undefined;
      if (group.items.size > 0) this.#turns.push(group);
      else this.#groups.delete(group.name);
      if (item !== undefined) return item;
    }
    return undefined;
  }
}
