/**
 * Requests whose Job failed while it had nothing else to do. They stand back: all others come first, and each
 * of them goes alone. Whether such a request is to blame, or what its Job works in, shows in what becomes of
 * the others; the words of the Job alone do not say it.
 */
export class Suspects<Q> {
  /** By subject, in the order of their turns: whether others were done since each was found. */
  readonly #found = new Map<string, boolean>();

  /** @param subjectOf what a request is about: the same when it is asked for again */
  constructor(private readonly subjectOf: (request: Q) => string) {}

  /**
   * A request has failed alone.
   * @returns whether it is to blame: it had failed alone before, and others were done since
   */
  add(request: Q): boolean {
    const subject = this.subjectOf(request);
    const toBlame = this.#found.get(subject) === true;
    this.#found.delete(subject);
    this.#found.set(subject, toBlame);
    return toBlame;
  }

  /** A Job for these has ended with results. */
  done(requests: readonly Q[]): void {
    for (const request of requests) this.#found.delete(this.subjectOf(request));
    for (const subject of this.#found.keys()) this.#found.set(subject, true);
  }

  /** Those that nothing is held against. */
  others(requests: readonly Q[]): readonly Q[] {
    return requests.filter((request) => !this.#found.has(this.subjectOf(request)));
  }

  /** Those that may go next together. */
  next(requests: readonly Q[]): readonly Q[] {
    const others = this.others(requests);
    if (others.length > 0) return others;
    const turns = [...this.#found.keys()];
    const turnOf = (request: Q): number => turns.indexOf(this.subjectOf(request));
    return requests.toSorted((a, b) => turnOf(a) - turnOf(b)).slice(0, 1);
  }
}
