import type { Call } from './call.js';

/** A response of the proxy in place of the API server's. */
export interface Response {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. @default a Status with the code */
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly text?: string;
}

/** The call is carried out, and its response is changed on the way back. */
export interface Alteration {
  readonly status?: number;
  readonly alter: (text: string, call: Call) => string;
  /** Written in chunks of so many bytes. */
  readonly chunkBytes?: number;
  /** Whether the connection is closed after the text, before the end of the response. */
  readonly cut?: boolean;
}

/**
 * What the proxy does with a call: `drop` closes the connection; `lose` carries the call out, and closes the
 * connection before the response.
 */
export type Fault = 'drop' | 'lose' | Response | Alteration;

/** The fault of a call, undefined to forward it; the call waits for the promise. */
export type Rule = (call: Call) => Fault | undefined | Promise<Fault | undefined>;

/* Faults, to be used as rules. */

const same = (text: string): string => text;

export const dropped: Rule = () => 'drop';
export const lost: Rule = () => 'lose';

/** Refused with a status; `retryAfter` may be a number of seconds, a date, or neither. */
export const refused = (status: number, retryAfter?: string): Rule => {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  return () => ({ status, headers });
};

/** Answered with any text, without the API server. */
export const answered = (text: string, status = 200): Rule => {
  return () => ({ status, text, headers: { 'content-type': 'text/html' } });
};

/** Carried out, and answered with another text. */
export const replaced = (text: string, status?: number): Rule => {
  return () => ({ alter: () => text, ...(status !== undefined && { status }) });
};

/** Carried out; the response ends in the middle, with or without a closed connection. */
export const halved: Rule = () => ({ alter: (text) => text.slice(0, text.length / 2) });
export const cutInTheMiddle: Rule = () => ({
  alter: (text) => text.slice(0, text.length / 2),
  cut: true,
});

/** Carried out; the response arrives in chunks that end within characters and words. */
export const split = (chunkBytes = 7): Rule => {
  return () => ({ alter: same, chunkBytes });
};

/** Forwarded after a time. */
export const delayed = (ms: number): Rule => {
  return async () => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return undefined;
  };
};

/** Carried out; answered as the first call of this path was, like a cache that is behind. */
export const stale = (): Rule => {
  const first = new Map<string, string>();
  return () => ({
    alter: (text, { path }) => {
      const known = first.get(path);
      if (known === undefined) first.set(path, text);
      return known ?? text;
    },
  });
};

/** As `stale`, but only where both answers are of the same object. */
export const older = (): Rule => {
  const first = new Map<string, string>();
  const uidOf = (text: string): string | undefined => /"uid":"([^"]+)"/.exec(text)?.[1];
  return () => ({
    alter: (text, { path }) => {
      const known = first.get(path);
      if (known !== undefined && uidOf(known) === uidOf(text)) return known;
      first.set(path, text);
      return text;
    },
  });
};

/* Which calls have a fault. */

export const writes = (rule: Rule): Rule => when(({ isWrite }) => isWrite, rule);
export const lists = (rule: Rule): Rule => when(({ isList }) => isList, rule);
export const watches = (rule: Rule): Rule => when(({ isWatch }) => isWatch, rule);

export function when(applies: (call: Call) => boolean, rule: Rule): Rule {
  return (call) => (applies(call) ? rule(call) : undefined);
}

/** The first calls of each path and method; later ones are forwarded. */
export function first(count: number, rule: Rule): Rule {
  const seen = new Map<string, number>();
  return (call) => {
    const key = `${call.method} ${String(call.isWatch)} ${call.path}`;
    const number = (seen.get(key) ?? 0) + 1;
    seen.set(key, number);
    return number <= count ? rule(call) : undefined;
  };
}

/** All but the first calls of each path and method. */
export function afterFirst(rule: Rule): Rule {
  const isFirst = first(1, () => 'drop');
  return (call) => (isFirst(call) === undefined ? rule(call) : undefined);
}

/** The rules in their order: the first fault counts. */
export function any(...rules: readonly Rule[]): Rule {
  return async (call) => {
    for (const rule of rules) {
      const fault = await rule(call);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}
