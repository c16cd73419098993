import type { FaultProxy } from '../../../testbed/fault-proxy/fault-proxy.js';
import { type LineFault, unchanged } from '../../../testbed/fault-proxy/watch-faults.js';

/**
 * `stale`: the events of a kind come late, and an operator that starts gets the list that the one
 * before it got. `unobserved`: the events that follow the first one of an operation are lost.
 */
export const MODES = ['stale', 'unobserved'] as const;
export type Mode = (typeof MODES)[number];

const LATE_MS = 1_500;
const SILENT_MS = 4_000;

/** What is wrong with the watches of a namespace. */
export interface Lateness {
  readonly mode: Mode;
  /** Whether a kind is late, by the plural of its path. */
  readonly has: (plural: string) => boolean;
}

/** The namespace of a call; empty where it has none. */
function namespaceOf({ path }: { readonly path: string }): string {
  return /\/namespaces\/([^/]+)\/./.exec(path)?.[1] ?? '';
}

/** Lets an operator see some kinds of some namespaces late, or not at all. */
export class LateKinds {
  /** The kinds of the present operation that were late, as `<namespace> <plural>`. */
  readonly #met = new Map<string, number>();
  readonly #lists = new Map<string, string>();
  #listsOfLife = new Map<string, string>();
  readonly #plurals = new Set<string>();
  #timers: NodeJS.Timeout[] = [];

  constructor(
    private readonly proxy: FaultProxy,
    private readonly of: ReadonlyMap<string, Lateness>,
  ) {
    proxy.watchDelay = (path) => (this.#at(path)?.mode === 'stale' ? LATE_MS : 0);
    proxy.watchFault = (path) => () => this.#lineFault(path);
    proxy.rule = ({ isList, path, query }) => {
      if (!isList || query.get('limit') !== '500') return undefined;
      const key = `${path}?${query.get('labelSelector') ?? ''}`;
      if (this.#at(path)?.mode !== 'stale' || this.#listsOfLife.has(key)) return undefined;
      const before = this.#lists.get(key);
      this.#listsOfLife.set(key, '');
      return {
        alter: (text) => {
          this.#listsOfLife.set(key, text);
          return before ?? text;
        },
      };
    };
  }

  /** The plurals of all kinds that are watched. */
  get plurals(): ReadonlySet<string> {
    return this.#plurals;
  }

  /** Another operation begins. */
  begin(): void {
    this.#met.clear();
  }

  /** The operator is dead: the next one gets the lists of this one. */
  next(): void {
    for (const [key, text] of this.#listsOfLife) if (text) this.#lists.set(key, text);
    this.#listsOfLife = new Map();
  }

  /** The namespaces and kinds of the operation with a late or a lost event. */
  met(): readonly string[] {
    return [...this.#met.keys()];
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
  }

  #at(path: string): Lateness | undefined {
    const lateness = this.of.get(namespaceOf({ path }));
    const plural = path.split('/').at(-1) ?? '';
    this.#plurals.add(plural);
    return lateness?.has(plural) ? lateness : undefined;
  }

  #lineFault(path: string): LineFault {
    const key = `${namespaceOf({ path })} ${path.split('/').at(-1) ?? ''}`;
    return (line) => {
      const lateness = this.#at(path);
      const isBookmark = line.includes('"type":"BOOKMARK"');
      if (!lateness || (isBookmark && !this.#isSilent(key))) return unchanged(line);
      const now = performance.now();
      if (!this.#met.has(key)) {
        this.#met.set(key, now + SILENT_MS);
        if (lateness.mode === 'unobserved') this.#endSilence(path);
      }
      return lateness.mode === 'unobserved' && this.#isSilent(key) ? [] : unchanged(line);
    };
  }

  #isSilent(key: string): boolean {
    return performance.now() < (this.#met.get(key) ?? 0);
  }

  /** Its version has expired: the next list has what was lost between. */
  #endSilence(path: string): void {
    const expire = (): void => {
      for (const watch of this.proxy.watches) if (watch.path === path) watch.expire();
    };
    this.#timers.push(setTimeout(expire, SILENT_MS));
  }
}
