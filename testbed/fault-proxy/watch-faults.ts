/** What the proxy writes for an event: bytes, a pause, or the end of the watch. */
export type Part =
  string | Buffer | { readonly waitMs: number } | { readonly close: 'cut' | 'end' };

/** The connection is closed in the middle of the response. */
export const CUT: Part = { close: 'cut' };
/** The response ends, as at the timeout of a watch. */
export const END: Part = { close: 'end' };

/** The parts for one event, a line of JSON without its end. */
export type LineFault = (line: string) => readonly Part[];

/** A fault of watches: called for each watch that begins. */
export type WatchFault = () => LineFault;

export const unchanged: LineFault = (line) => [`${line}\n`];

/** In chunks that end within characters and words. */
export const split = (bytes = 7): WatchFault => {
  return () => (line) => {
    const all = Buffer.from(`${line}\n`);
    const count = Math.ceil(all.length / bytes);
    return Array.from({ length: count }, (_, part) =>
      all.subarray(part * bytes, (part + 1) * bytes),
    );
  };
};

export const doubled: WatchFault = () => (line) => [`${line}\n${line}\n`];

/** Neighbours are exchanged; an event without a neighbour comes late. */
export const swapped: WatchFault = () => {
  let held: string | undefined;
  return (line) => {
    if (held === undefined && !line.includes('"BOOKMARK"')) {
      held = line;
      return [];
    }
    const both = held === undefined ? [line] : [line, held];
    held = undefined;
    return both.map((one) => `${one}\n`);
  };
};

/** Each event is followed by the one before it: news, and then older news. */
export const replayed: WatchFault = () => {
  let before: string | undefined;
  return (line) => {
    const parts = before === undefined ? [line] : [line, before];
    before = line;
    return parts.map((one) => `${one}\n`);
  };
};

export const delayed = (waitMs: number): WatchFault => {
  return () => (line) => [{ waitMs }, `${line}\n`];
};

export const withoutBookmarks: WatchFault = () => (line) =>
  line.includes('"type":"BOOKMARK"') ? [] : unchanged(line);

/** Changes each so many events, a limited number of times in all watches together. */
const sometimes = (every: number, times: number, fault: (line: string) => readonly Part[]) => {
  let left = times;
  return (): ReturnType<WatchFault> => {
    let events = 0;
    return (line) => {
      events += 1;
      if (left <= 0 || events % every !== 0) return unchanged(line);
      left -= 1;
      return fault(line);
    };
  };
};

/** Some parts in front of each so many events, a limited number of times in all watches together. */
export const inserted = (parts: readonly Part[], every = 3, times = 8): WatchFault =>
  sometimes(every, times, (line) => [...parts, ...unchanged(line)]);

/** Ended after half of an event. */
export const cutInTheMiddle = (every = 3, times = 8): WatchFault =>
  sometimes(every, times, (line) => [line.slice(0, line.length / 2), CUT]);

/** An `ERROR` line, as a server ends a watch. */
export function errorLine(status: Readonly<Record<string, unknown>>): string {
  const object = { kind: 'Status', apiVersion: 'v1', status: 'Failure', ...status };
  return `${JSON.stringify({ type: 'ERROR', object })}\n`;
}

export const EXPIRED = errorLine({
  code: 410,
  reason: 'Expired',
  message: 'too old resource version',
});
