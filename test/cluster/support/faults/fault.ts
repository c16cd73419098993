import type { Call } from '../../../../testbed/fault-proxy/call.js';
import type { Operation } from '../lifecycle.js';
import type { Stage } from './stage.js';

/** What goes wrong during an operation of a namespace. */
export interface Fault {
  readonly name: string;
  /** How many moments it has: which of the writes, of the kinds or of the paths it meets. */
  readonly moments: number;
  /** Operations during which it makes a difference. @default all */
  readonly operations?: readonly Operation[];
  /** Whether another number of Jobs may run than without it. @default false */
  readonly otherJobs?: boolean;
  /** Carries out the operation with the fault, and resolves with the one that has ended. */
  readonly inject: (stage: Stage, operation: Operation, moment: number) => Promise<Operation>;
}

/** Faults that begin with a write begin with one of so many. */
export const WRITES_APART = 4;

/** Calls something in front of the first, the fifth or the ninth write, and so on. The write waits for it. */
export function atWrite(
  stage: Stage,
  moment: number,
  work: (call: Call) => Promise<unknown> | undefined,
): void {
  let writes = 0;
  stage.proxy.rule = async (call) => {
    if (call.isWrite && writes++ === moment * WRITES_APART) await work(call);
    return undefined;
  };
}

/** A write in a few words; each phase of a status is one of its own, and the record of a run. */
export function nameOfWrite({ method, path, body }: Call): string {
  const [, phase = ''] = /"phase":"(\w+)"/.exec(body) ?? [];
  const [, created = ''] = method === 'POST' ? (/"name":"([^"]+)"/.exec(body) ?? []) : [];
  const place = path.replace(/^.*\/namespaces\/[^/]+\//, '');
  const more = path.endsWith('/status') ? phase : body.includes('completed-runs') ? 'run' : '';
  return [method, place, created, more].filter(Boolean).join(' ');
}
