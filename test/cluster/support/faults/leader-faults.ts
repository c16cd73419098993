import assert from 'node:assert/strict';

import type { Rule } from '../../../../testbed/fault-proxy/faults.js';
import { type Fault, nameOfWrite, WRITES_APART } from './fault.js';
import { restarted } from './stage.js';

/** What happens to a leader: it dies, its process stops, or its calls get no answer. */
type Harm = 'killed' | 'stopped' | 'cut off';

/** A leader that is harmed in front of one of its writes, behind a proxy. */
class HarmedLeader {
  /** Its writes, with the time at which they arrived at the proxy. */
  readonly writes: (readonly [at: number, what: string])[] = [];
  #isHarmed = false;
  readonly #repaired = Promise.withResolvers<undefined>();

  constructor(
    private readonly harm: Harm,
    private readonly number: number,
    private readonly signal: (name: NodeJS.Signals) => void,
  ) {}

  readonly rule: Rule = async (call) => {
    if (call.method === 'GET') return undefined;
    if (call.isWrite) {
      if (this.writes.length === this.number) this.begin();
      this.writes.push([performance.now(), nameOfWrite(call)]);
    }
    if (this.#isHarmed && this.harm === 'cut off') await this.#repaired.promise;
    return undefined;
  };

  begin(): void {
    if (this.#isHarmed) return;
    this.#isHarmed = true;
    if (this.harm === 'killed') this.signal('SIGKILL');
    if (this.harm === 'stopped') this.signal('SIGSTOP');
  }

  repair(): void {
    if (this.harm === 'stopped') this.signal('SIGCONT');
    this.#repaired.resolve(undefined);
  }
}

/** The second replica takes over from a leader in the middle of its work, and they never write both. */
function leader(harm: Harm): Fault {
  return {
    name: `the leader is ${harm}`,
    moments: 3,
    inject: async (stage, operation, moment) => {
      const flags = [
        '--leader-elect',
        '--leader-elect-lease-duration=10s',
        `--leader-election-namespace=${stage.namespace}`,
      ];
      await stage.end('SIGTERM');
      const old = await stage.start(stage.proxy, flags);
      await old.logged('elected');
      const proxy = await stage.operators.proxy();
      const next = await stage.start(proxy, flags);
      let firstWriteOfNext = Infinity;
      proxy.rule = ({ isWrite }) => {
        if (isWrite) firstWriteOfNext = Math.min(firstWriteOfNext, performance.now());
        return undefined;
      };
      const harmed = new HarmedLeader(harm, moment * WRITES_APART, (name) => old.kill(name));
      stage.proxy.rule = harmed.rule;
      const work = async (): Promise<void> => {
        await stage.lifecycle.begin(operation);
        // An operation with few writes may end before its leader is harmed.
        await Promise.race([next.logged('elected'), stage.lifecycle.done(operation)]);
        harmed.begin();
        await next.logged('elected');
        await stage.lifecycle.done(operation);
      };
      const last = await restarted(next, () => stage.start(proxy, flags), work());
      harmed.repair();
      const { code } = await old.exited;
      if (harm !== 'killed') assert.equal(code, 1, 'it ends, and its Deployment restarts it');
      const late = harmed.writes.filter(([at]) => at > firstWriteOfNext);
      assert.deepEqual(late, [], 'it writes nothing after the next one');
      await last.stop();
      stage.proxy.rule = undefined;
      await stage.start();
      return operation;
    },
  };
}

export const LEADER_FAULTS: readonly Fault[] = [
  leader('killed'),
  leader('stopped'),
  leader('cut off'),
];
