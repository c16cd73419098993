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

interface Group<T> {
  readonly name: string;
  readonly items: Fifo<T>;
}

/**
 * Items of groups, taken round robin over the groups; within a group first in, first out. However
 * many items a group has, an item of another group waits for one item of each group.
 */
export class FairQueue<T> {
  readonly #groups = new Map<string, Group<T>>();
  /** The groups that have items, in the order of their turns. */
  readonly #turns = new Fifo<Group<T>>();

  push(name: string, item: T): void {
    let group = this.#groups.get(name);
    if (!group) {
      group = { name, items: new Fifo<T>() };
      this.#groups.set(name, group);
      this.#turns.push(group);
    }
    group.items.push(item);
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
