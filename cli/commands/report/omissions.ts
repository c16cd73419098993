import type { Omission } from '../../kube/snapshot.js';

/** So many are named in a line; all are in the index of the report. */
const NAMED = 5;

/** What a report could not read. */
export class Omissions {
  readonly #found = new Map<string, Omission>();

  add(omission: Omission): void {
    const { what, namespace = '' } = omission;
    const id = `${namespace}/${what}`;
    if (!this.#found.has(id)) this.#found.set(id, omission);
  }

  get all(): readonly Omission[] {
    return [...this.#found.values()];
  }

  /** A line for each namespace and reason, with one message of the API server. */
  lines(): readonly string[] {
    const groups = Map.groupBy(this.all, ({ namespace, why }) => JSON.stringify([namespace, why]));
    return [...groups.values()].map((omissions) => {
      const [first] = omissions;
      const { namespace, why, message } = first ?? {};
      const place = namespace === undefined ? '' : ` in namespace ${namespace}`;
      const names = omissions.slice(0, NAMED).map(({ what }) => what);
      const rest = omissions.length - names.length;
      const more = rest > 0 ? ` and ${rest} more` : '';
      return `not read${place}: ${names.join(', ')}${more}: ${message ?? why ?? ''}`;
    });
  }
}
