import { setTimeout as sleep } from 'node:timers/promises';

import type { Call } from '../../../testbed/fault-proxy/call.js';
import type { FaultProxy } from '../../../testbed/fault-proxy/fault-proxy.js';
import type { Fault } from '../../../testbed/fault-proxy/faults.js';
import type { Operator } from './operator.js';

/** After the first of these writes of a life, the other namespaces have so long for theirs. */
const OTHERS_MS = 700;
/** How long an operator lives when all operations have ended. */
const QUIET_MS = 3_000;

/** A write in a few words; each phase of a status is one of its own, and the record of a run. */
export function nameOfWrite({ method, path, body }: Call): string {
  const [, phase = ''] = /"phase":"(\w+)"/.exec(body) ?? [];
  const [, created = ''] = method === 'POST' ? (/"name":"([^"]+)"/.exec(body) ?? []) : [];
  const place = path.replace(/^.*\/namespaces\/[^/]+\//, '');
  const more = path.endsWith('/status') ? phase : body.includes('completed-runs') ? 'run' : '';
  return [method, place, created, more].filter(Boolean).join(' ');
}

/** The namespace of a call; empty where it has none. */
export function namespaceOf({ path }: Pick<Call, 'path'>): string {
  return /\/namespaces\/([^/]+)\/./.exec(path)?.[1] ?? '';
}

/** A namespace some of whose writes are each followed by the end of the operator. */
export class Victim {
  /** The writes after each of which the operator was killed. */
  readonly killedAfter: string[] = [];
  readonly #left: Set<string>;
  /** The write of this life after which the operator is killed. */
  #sent: string | undefined;
  #written = false;

  constructor(
    readonly namespace: string,
    kills: Iterable<string>,
  ) {
    this.#left = new Set(kills);
  }

  get written(): boolean {
    return this.#written;
  }

  /** The writes that have not come. */
  get left(): readonly string[] {
    return [...this.#left];
  }

  /** What happens to a write: none is carried out after the one that ends this life. */
  pass(call: Call, life: Life): Fault | undefined | Promise<Fault> {
    if (this.#sent !== undefined) return life.ended.then(() => 'drop' as const);
    const name = nameOfWrite(call);
    if (!this.#left.delete(name)) return undefined;
    this.#sent = name;
    life.sent();
    return {
      alter: (text) => {
        this.#written = true;
        life.wrote();
        return text;
      },
    };
  }

  /** Another life of the operator begins. */
  next(): void {
    if (this.#sent !== undefined) {
      // A write without an answer may not have been carried out.
      if (this.#written) this.killedAfter.push(this.#sent);
      else this.#left.add(this.#sent);
    }
    this.#sent = undefined;
    this.#written = false;
  }
}

/** The life of one operator: until each namespace has its write, or for a while after the first. */
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

  /** A write after which the operator is killed is on its way. */
  sent(): void {
    this.#timer ??= setTimeout(() => this.#over.resolve(undefined), OTHERS_MS);
  }

  wrote(): void {
    if (!this.victims().every(({ written }) => written)) return;
    setImmediate(() => this.#over.resolve(undefined));
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
