/**
 * Requests whose Jobs failed. One that failed while its Job had nothing else to do stands back: all others come
 * first, and each of them goes alone. Whether such a request is to blame, or what its Job works in, shows in
 * what becomes of the others; the words of the Job alone do not say it.
 */
export class FailureIsolation<Q> {
  /** By subject: whether Jobs without it were done since a Job with it failed. */
  readonly #failed = new Map<string, boolean>();
  /** The subjects that stand back, in the order of their turns. */
  readonly #back = new Set<string>();

  /** @param subjectOf what a request is about: the same when it is asked for again */
  constructor(private readonly subjectOf: (request: Q) => string) {}

  /**
   * A Job for these has failed. It makes no difference how often that is told.
   * @returns whether they are to blame: it is one, and others were done since its Jobs began to fail
   */
  failed(requests: readonly Q[]): boolean {
    const subjects = requests.map((request) => this.subjectOf(request));
    for (const subject of subjects) {
      this.#failed.set(subject, this.#failed.get(subject) ?? false);
    }
    const [alone, ...more] = subjects;
    if (alone === undefined || more.length > 0) return false;
    this.#back.delete(alone);
    this.#back.add(alone);
    return this.#failed.get(alone) === true;
  }

  /** A Job for these has ended with results. */
  done(requests: readonly Q[]): void {
    for (const request of requests) {
      const subject = this.subjectOf(request);
      this.#failed.delete(subject);
      this.#back.delete(subject);
    }
    for (const subject of this.#failed.keys()) this.#failed.set(subject, true);
  }

  /** Those that need not stand back. */
  others(requests: readonly Q[]): readonly Q[] {
    return requests.filter((request) => !this.#back.has(this.subjectOf(request)));
  }

  /** Those that may go next together. */
  next(requests: readonly Q[]): readonly Q[] {
    const others = this.others(requests);
    if (others.length > 0) return others;
    const turns = [...this.#back];
    const turnOf = (request: Q): number => turns.indexOf(this.subjectOf(request));
    return requests.toSorted((a, b) => turnOf(a) - turnOf(b)).slice(0, 1);
  }
}
