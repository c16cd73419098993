import type { AuditEvent } from '../../testbed/controlplane/audit.js';

/** Which writes are meant; what is left out matches all. */
export interface Write {
  readonly resource: string;
  /** The whole name, or how it begins. */
  readonly name: string | { readonly prefix: string };
  readonly subresource?: 'status';
  /** By the user's name. */
  readonly by?: (username: string) => boolean;
}

/** When things were written, as the API server saw it, in milliseconds since the epoch. */
export class Timeline {
  constructor(private readonly events: readonly AuditEvent[]) {}

  /** Of the first such write from a time on. */
  first(write: Write, from = -Infinity): number {
    return required(
      write,
      this.#times(write).find((time) => time >= from),
    );
  }

  /** Of the last such write before a time. */
  last(write: Write, before = Infinity): number {
    return required(
      write,
      this.#times(write).findLast((time) => time < before),
    );
  }

  #times({ resource, name, subresource, by = () => true }: Write): number[] {
    return this.events
      .filter(({ verb, user, objectRef, responseStatus }) => {
        const found = objectRef?.name ?? '';
        return (
          ['create', 'update', 'patch'].includes(verb) &&
          (responseStatus?.code ?? 0) < 300 &&
          objectRef?.resource === resource &&
          objectRef.subresource === subresource &&
          (typeof name === 'string' ? found === name : found.startsWith(name.prefix)) &&
          by(user.username)
        );
      })
      .map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp))
      .sort((a, b) => a - b);
  }
}

function required({ resource, name }: Write, time: number | undefined): number {
  if (time !== undefined) return time;
  throw new Error(`no such write of ${resource} ${JSON.stringify(name)}`);
}
