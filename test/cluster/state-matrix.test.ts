/**
 * Intermediate, stale and unobserved states during each operation. `npm run matrix` kills after each
 * write, and has a namespace for each kind and state; otherwise all kinds share one, and kills during
 * creation and deletion are left to crash.test.ts.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { DocumentScript, DOCUMENT_PODS } from '../../testbed/stand-in/document-script.js';
import type { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import { type Cluster, startCluster } from './harness.js';
import { holdPods } from './support/interference.js';
import { killAfterEachWrite, nameOfWrite, namespaceOf, Victim } from './support/kills.js';
import { type Lateness, LateKinds, MODES } from './support/late-kinds.js';
import type { Operator, OperatorOptions } from './support/operator.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import {
  type End,
  type Operation,
  OPERATIONS,
  Resources,
  SiteDocuments,
  World,
} from './support/world.js';

const EACH = process.env['STATE_MATRIX'] === 'each';
/** Namespaces of a state, among which the kinds are divided. */
const SHARES = 1;
/** The operator is killed during these. */
const KILLED: readonly Operation[] = EACH ? OPERATIONS : ['change', 'upgrade'];
/** After each write, or after each so many of them. */
const KILLS_AFTER = EACH ? 1 : 6;
/** An operator is killed so long after the begin of each operation, where kinds are stale. */
const KILLED_AFTER_MS = 5_000;

let cluster: Cluster;
let operators: ProxiedOperators;
let script: DocumentScript;
let resources: Resources;
const siteDocuments = new SiteDocuments();

/** The undisturbed worlds: one is upgraded after a change, and one before any. */
const ends = new Map<Operation | 'upgrade at once', End>();
const writes = new Map<Operation | 'upgrade at once', ReadonlySet<string>>();
const jobs = new Map<Operation | 'upgrade at once', () => Readonly<Record<string, number>>>();
let watched: readonly string[] = [];
/** Of the worlds of which each is disturbed during one operation. */
const victims = new Map<Operation, World>();
let victimsProxy: FaultProxy;

async function world(): Promise<World> {
  return new World(cluster, await cluster.namespace(), resources, siteDocuments);
}

const namesOf = (worlds: Iterable<World>): readonly string[] =>
  [...worlds].map(({ namespace }) => namespace);

function start(proxy: FaultProxy, options: OperatorOptions): Promise<Operator> {
  return operators.start(proxy, { wait: false, ...options });
}

/** Carries out operations without faults, and keeps the ends and the writes. */
async function undisturbed(proxy: FaultProxy): Promise<void> {
  const [all, atOnce] = [await world(), await world()];
  const seen = new Map<string, Set<string>>();
  const takeWrites = ({ namespace }: World): ReadonlySet<string> => {
    const names = seen.get(namespace) ?? new Set();
    seen.delete(namespace);
    return names;
  };
  proxy.rule = (call) => {
    const namespace = namespaceOf(call);
    if (!call.isWrite) return undefined;
    seen.set(namespace, (seen.get(namespace) ?? new Set()).add(nameOfWrite(call)));
    return undefined;
  };
  const operator = await start(proxy, { namespaces: namesOf([all, atOnce]) });
  const upgradesAtOnce = (async () => {
    for (const operation of ['create', 'upgrade'] as const) {
      takeWrites(atOnce);
      await atOnce.begin(operation);
      await atOnce.done(operation);
    }
    ends.set('upgrade at once', await settledEnd(atOnce));
    writes.set('upgrade at once', takeWrites(atOnce));
  })();
  for (const operation of OPERATIONS) {
    takeWrites(all);
    await all.begin(operation);
    await all.done(operation);
    ends.set(operation, await settledEnd(all));
    writes.set(operation, takeWrites(all));
    jobs.set(operation, () => all.jobs(calls, operation));
  }
  await upgradesAtOnce;
  jobs.set('upgrade at once', () => atOnce.jobs(calls, 'upgrade'));
  const watches = proxy.calls.filter(
    (call) => call.startsWith('WATCH ') && call.includes(`/${all.namespace}/`),
  );
  watched = [...new Set(watches.map((call) => call.split('/').at(-1) ?? ''))];
  await operator.stop();
}

/** The end of a world when it no longer changes. */
async function settledEnd(one: World): Promise<End> {
  let last: End | undefined;
  return cluster.until('nothing to change any more', async () => {
    await sleep(1_000);
    const now = await one.end();
    const same = JSON.stringify([...now.objects]) === JSON.stringify([...(last?.objects ?? [])]);
    last = now;
    return same && now;
  });
}

/** The calls of all operators, read once. */
let calls: Awaited<ReturnType<Cluster['calls']>> = [];

before(async () => {
  cluster = await startCluster({ audit: true, persistentVolumes: 250 });
  operators = new ProxiedOperators(cluster);
  resources = new Resources(cluster);
  await holdPods(cluster, DOCUMENT_PODS);
  const noTime = (): number => 0;
  script = new DocumentScript(cluster.controlPlane.api, siteDocuments.answer, noTime, 250);
  victimsProxy = await operators.proxy();
  for (const operation of KILLED) victims.set(operation, await world());
  // All but one of the worlds exist before their operation.
  const ready = async (): Promise<void> => {
    const namespaces = namesOf(victims.values());
    const operator = await start(victimsProxy, { namespaces });
    const created = [...victims].filter(([operation]) => operation !== 'create');
    for (const [, one] of created) await one.begin('create');
    await Promise.all(created.map(([, one]) => one.done('create')));
    await operator.stop();
  };
  await Promise.all([undisturbed(await operators.proxy()), ready()]);
});
after(async () => {
  await operators.stop();
  await script.stop();
  await cluster.stop();
});

/** Secrets of a namespace, by name: none of them may ever change. */
async function secretsOf({ namespace }: World): Promise<ReadonlyMap<string, string>> {
  const secrets = await cluster.list('Secret', namespace);
  return new Map(secrets.map(({ metadata, data }) => [metadata.name, JSON.stringify(data)]));
}

/** Notes the Secrets of worlds, and compares them with what was noted before. */
function secretsStay(worlds: readonly World[]): () => Promise<void> {
  const known = new Map<World, ReadonlyMap<string, string>>();
  return async () => {
    for (const one of worlds) {
      const now = await secretsOf(one);
      for (const [name, data] of known.get(one) ?? []) {
        assert.equal(now.get(name) ?? data, data, `Secret ${name} of ${one.namespace}`);
      }
      known.set(one, now);
    }
  };
}

/** The undisturbed operation that one is compared with: a victim is upgraded before any change. */
const pattern = (operation: Operation): Operation | 'upgrade at once' =>
  operation === 'upgrade' ? 'upgrade at once' : operation;

/** The end of a victim's operation is the undisturbed one, and it had its kills. */
async function endsWell(operation: Operation, one: World, victim: Victim): Promise<void> {
  const expected = ends.get(pattern(operation));
  assert.ok(expected);
  await one.becomes(expected, `${operation}, killed after ${victim.killedAfter.join(', ')}`);
  // How many phases a status reports depends on how fast pods are; others also delete.
  const missed = victim.left.filter(
    (write) => operation !== 'delete' && !/\/status|documents/.test(write),
  );
  assert.deepEqual(missed, [], `${operation}: never killed after these`);
}

describe('an operator reaches the same end as without faults', { concurrency: true }, () => {
  test('killed after its writes, one by one', async (t) => {
    const running = new Map<Victim, Promise<void>>();
    const victimOf = new Map<Operation, Victim>();
    for (const [operation, one] of victims) {
      const all = [...(writes.get(pattern(operation)) ?? [])];
      const kills = all.filter((_, index) => index % KILLS_AFTER === 0);
      const victim = new Victim(one.namespace, kills);
      victimOf.set(operation, victim);
      await one.begin(operation);
      running.set(victim, one.done(operation));
    }
    const worlds = [...victims.values()];
    const namespaces = namesOf(worlds);
    const { operator, lives } = await killAfterEachWrite({
      proxy: victimsProxy,
      start: () => start(victimsProxy, { namespaces }),
      victims: running,
      between: secretsStay(worlds),
    });
    let cases = 0;
    for (const [operation, one] of victims) {
      const victim = victimOf.get(operation);
      assert.ok(victim);
      await endsWell(operation, one, victim);
      const { killedAfter } = victim;
      t.diagnostic(
        `${operation}: killed after ${killedAfter.length} writes: ${killedAfter.join(', ')}`,
      );
      cases += killedAfter.length;
    }
    await operator.stop();
    const before = victimsProxy.calls.length;
    const successor = await operators.start(victimsProxy, { namespaces });
    await sleep(3_000);
    const written = victimsProxy.calls
      .slice(before)
      .filter((call) => !/^(GET|WATCH|GET-ONE) |\/(events|leases)/.test(call));
    assert.deepEqual(written, [], 'nothing is left to do for the next operator');
    await successor.stop();
    calls = await cluster.calls();
    for (const [operation, one] of victims) {
      const expected = jobs.get(pattern(operation));
      assert.deepEqual(one.jobs(calls, operation), expected?.(), `${operation}: Jobs made`);
    }
    console.log(
      `killed after writes: cases tried ${cases}, passed ${cases}; ${lives} lives of an operator`,
    );
  });

  test('while a kind is stale or unobserved', async (t) => {
    const shares = EACH ? watched.length : SHARES;
    const worlds = new Map<World, Lateness>();
    for (const mode of MODES) {
      for (let share = 0; share < shares; share++) {
        const late = new Set(watched.filter((_, index) => index % shares === share));
        worlds.set(await world(), { mode, has: (plural) => late.has(plural) });
      }
    }
    const proxy = await operators.proxy();
    const late = new LateKinds(
      proxy,
      new Map([...worlds].map(([{ namespace }, lateness]) => [namespace, lateness])),
    );
    const namespaces = namesOf(worlds.keys());
    const stay = secretsStay([...worlds.keys()]);
    let operator = await start(proxy, { namespaces });
    await operator.logged('caches are filled');
    let cases = 0;
    const failed: string[] = [];
    for (const operation of OPERATIONS) {
      late.begin();
      await Promise.all([...worlds.keys()].map((one) => one.begin(operation)));
      const done = [...worlds.keys()].map((one) => one.done(operation));
      await sleep(KILLED_AFTER_MS);
      operator.kill('SIGKILL');
      await operator.exited;
      late.next();
      operator = await start(proxy, { namespaces });
      const expected = ends.get(operation);
      assert.ok(expected);
      for (const [index, [one, { mode }]] of [...worlds].entries()) {
        const kinds = late
          .met()
          .filter((met) => met.startsWith(`${one.namespace} `))
          .map((met) => met.split(' ')[1] ?? '');
        const what = `${operation} with ${kinds.join(', ')} ${mode}`;
        try {
          await done[index];
          await one.becomes(expected, what);
        } catch (error) {
          failed.push(`${what}: ${String(error)}`);
        }
      }
      if (operation !== 'delete') await stay();
      const met = late.met().map((key) => key.split(' ') as [string, string]);
      for (const mode of MODES) {
        const kinds = met
          .filter(([name]) =>
            [...worlds].some(([one, is]) => one.namespace === name && is.mode === mode),
          )
          .map(([, plural]) => plural);
        cases += kinds.length;
        t.diagnostic(`${operation}: ${kinds.length} kinds ${mode}: ${kinds.sort().join(', ')}`);
      }
    }
    late.stop();
    await operator.stop();
    assert.deepEqual(failed, []);
    const made = await cluster.calls();
    for (const one of worlds.keys()) {
      for (const operation of OPERATIONS) {
        calls = made;
        assert.deepEqual(
          one.jobs(made, operation),
          jobs.get(operation)?.(),
          `${one.namespace} ${operation}`,
        );
      }
    }
    console.log(`stale and unobserved kinds: cases tried ${cases}, passed ${cases}`);
  });
});
