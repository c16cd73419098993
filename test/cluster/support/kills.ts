import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Call } from '../../../testbed/fault-proxy/call.js';
import type { FaultProxy } from '../../../testbed/fault-proxy/fault-proxy.js';
import type { Fault } from '../../../testbed/fault-proxy/faults.js';
import type { Operator } from './operator.js';

/** After the first new write of a life, the other namespaces have so long for theirs. */
const OTHERS_MS = 500;
/** Without a new write for so long, nothing is left to be written. */
const QUIET_MS = 3_000;

/** A write in a few words; of a status, each phase is one of its own. */
export function nameOfWrite({ method, path, body }: Call): string {
  const [, phase = ''] = /"phase":"(\w+)"/.exec(body) ?? [];
  const [, created = ''] = method === 'POST' ? (/"name":"([^"]+)"/.exec(body) ?? []) : [];
  const place = path.replace(/^.*\/namespaces\/[^/]+\//, '');
  return [method, place, created, path.endsWith('/status') ? phase : ''].filter(Boolean).join(' ');
}

/** The namespace of a call; empty where it has none. */
export function namespaceOf({ path }: Pick<Call, 'path'>): string {
  return /\/namespaces\/([^/]+)\/./.exec(path)?.[1] ?? '';
}

/** A namespace whose writes are each followed by the end of the operator. */
export class Victim {
  /** The writes after each of which the operator was killed. */
  readonly killedAfter: string[] = [];
  readonly #seen = new Set<string>();
  /** The new write of this life. */
  #written: string | undefined;
  #sent = false;

  constructor(readonly namespace: string) {}

  get written(): boolean {
    return this.#written !== undefined;
  }

  /** What happens to a write: those of earlier lives are carried out, and one new one. */
  pass(call: Call, life: Life): Fault | undefined | Promise<Fault> {
    const name = nameOfWrite(call);
    const digest = createHash('sha256').update(call.body).digest('hex');
    const key = call.path.endsWith('/status') ? name : `${name} ${digest}`;
    if (this.#seen.has(key)) return undefined;
    if (this.#sent) return life.ended.then(() => 'drop' as const);
    this.#sent = true;
    this.#seen.add(key);
    return {
      alter: (text) => {
        this.#written = name;
        life.wrote();
        return text;
      },
    };
  }

  /** Another life of the operator begins. */
  next(): void {
    if (this.#written !== undefined) this.killedAfter.push(this.#written);
    this.#written = undefined;
    this.#sent = false;
  }
}

/** The life of one operator: until each namespace has a new write, or for a while after the first. */
class Life {
  /** Settles when the operator is to be killed. */
  readonly over: Promise<unknown>;
  /** Settles when it is dead. */
  readonly ended: Promise<unknown>;
  readonly #over = Promise.withResolvers<undefined>();
  readonly #ended = Promise.withResolvers<undefined>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly victims: () => readonly Victim[]) {
    this.over = this.#over.promise;
    this.ended = this.#ended.promise;
  }

  wrote(): void {
    const end = (): void => this.#over.resolve(undefined);
    if (this.victims().every(({ written }) => written)) setImmediate(end);
    else this.#timer ??= setTimeout(end, OTHERS_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#ended.resolve(undefined);
  }
}

export interface KillsProps {
  readonly proxy: FaultProxy;
  readonly start: () => Promise<Operator>;
  /** Each with the promise of the end of its operation. */
  readonly victims: ReadonlyMap<Victim, Promise<void>>;
  /** Called when an operator is dead, before the next one. */
  readonly between: () => Promise<void>;
}

/**
 * Lets operators live one after the other until all operations have ended. Each is killed after at
 * most one new write in each namespace. Resolves with the last operator, which writes nothing.
 */
export async function killAfterEachWrite({
  proxy,
  start,
  victims,
  between,
}: KillsProps): Promise<{ readonly operator: Operator; readonly lives: number }> {
  const active = new Set(victims.keys());
  for (const [victim, ended] of victims)
    void ended.then(
      () => active.delete(victim),
      () => 0,
    );
  const all = Promise.all(victims.values());
  const quiet = async (): Promise<true> => {
    await all;
    await sleep(QUIET_MS);
    return true;
  };
  for (let lives = 1; ; lives++) {
    const life = new Life(() => [...active]);
    const byNamespace = new Map([...victims.keys()].map((one) => [one.namespace, one]));
    proxy.rule = (call) =>
      call.isWrite ? byNamespace.get(namespaceOf(call))?.pass(call, life) : undefined;
    const operator = await start();
    const isQuiet = await Promise.race([life.over.then(() => false), quiet()]);
    if (isQuiet) {
      proxy.rule = undefined;
      life.end();
      return { operator, lives };
    }
    proxy.rule = ({ isWrite }) => (isWrite ? 'drop' : undefined);
    operator.kill('SIGKILL');
    await operator.exited;
    life.end();
    for (const victim of victims.keys()) victim.next();
    await between();
  }
}
