/**
 * Isolates requests whose Jobs fail. A request that failed alone is deferred: all others come first,
 * then each deferred request gets a Job alone. Whether the request or its environment is to blame
 * shows in the Jobs of the others: the message of one Job does not tell them apart.
 */
export class FailureIsolation<Q> {
  /** By subject: whether Jobs without it succeeded since a Job with it failed. */
  readonly #failed = new Map<string, boolean>();
  /** The deferred subjects, in the order of their turns. */
  readonly #deferred = new Set<string>();

  /** @param subjectOf what a request is about: the same for a repeated request */
  constructor(private readonly subjectOf: (request: Q) => string) {}

  /**
   * Records that a Job for these requests failed; idempotent.
   * @returns whether the request is to blame: it is one, and others succeeded since its first failure
   */
  failed(requests: readonly Q[]): boolean {
    const subjects = requests.map((request) => this.subjectOf(request));
    for (const subject of subjects) {
      this.#failed.set(subject, this.#failed.get(subject) ?? false);
    }
    const [alone, ...more] = subjects;
    if (alone === undefined || more.length > 0) return false;
    this.#deferred.delete(alone);
    this.#deferred.add(alone);
    return this.#failed.get(alone) === true;
  }

  /** Records that a Job for these requests returned results. */
  done(requests: readonly Q[]): void {
    for (const request of requests) {
      const subject = this.subjectOf(request);
      this.#failed.delete(subject);
      this.#deferred.delete(subject);
    }
    for (const subject of this.#failed.keys()) this.#failed.set(subject, true);
  }

  /** The requests that are not deferred. */
  others(requests: readonly Q[]): readonly Q[] {
    return requests.filter((request) => !this.#deferred.has(this.subjectOf(request)));
  }

  /** The requests that may share the next Job. */
  next(requests: readonly Q[]): readonly Q[] {
    const others = this.others(requests);
    if (others.length > 0) return others;
    const turns = [...this.#deferred];
    const turnOf = (request: Q): number => turns.indexOf(this.subjectOf(request));
    return requests.toSorted((a, b) => turnOf(a) - turnOf(b)).slice(0, 1);
  }
}
