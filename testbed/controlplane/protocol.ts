/** What the parent and its supervisor say to each other (see `supervisor.ts`). */

/** Given to the supervisor as its argument, as JSON. */
export interface AtEnd {
  /** Node.js module and its arguments, run first. */
  readonly program?: readonly [module: string, ...args: string[]];
  /** Folder that is removed. */
  readonly remove?: string;
}

export interface StartRequest {
  readonly type: 'start';
  readonly id: number;
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** File that standard output and error are appended to. */
  readonly log: string;
}

export interface StopRequest {
  readonly type: 'stop';
  readonly id: number;
  readonly name: string;
  readonly signal: 'SIGTERM' | 'SIGKILL';
  /** SIGKILL follows after this many milliseconds. */
  readonly graceMs: number;
}

export type Request = StartRequest | StopRequest;

export type Reply =
  | {
      readonly type: 'started';
      readonly id: number;
      readonly name: string;
      readonly pid: number;
      readonly log: string;
    }
  | { readonly type: 'stopped'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly message: string };

export interface Exited {
  readonly type: 'exited';
  readonly name: string;
  readonly pid: number;
  readonly log: string;
  /** Exit code or signal. */
  readonly status: number | string;
  /** Whether a stop request caused it. */
  readonly expected: boolean;
}

export type Message = Reply | Exited;
