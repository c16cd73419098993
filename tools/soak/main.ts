/**
 * Random changes of sites under faults, and what is left after them:
 * `npm run soak -- --minutes 30 --sites 300 --seed 1`. A seed repeats the order of changes, not their times.
 */
import '../../runner/kit/require-node.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createClient, type Client } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { startControlPlane } from '../../testbed/controlplane/controlplane.js';
import { numberedSteps, type Portion, printProgress } from '../../testbed/controlplane/progress.js';
import { exitOnSignal } from '../../testbed/controlplane/signal.js';
import { applyCrds } from '../../testbed/crds.js';
import { orphans, stuck } from './checks.js';
import { randomChoice } from './random-choice.js';
import { Replicas } from './replicas.js';
import { Tenant } from './tenant.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    sites: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    log: { type: 'string' },
  },
});
const minutes = Number(values.minutes);
const sites = Number(values.sites);
const seed = Number(values.seed);
/** The memory may be so much more than before. */
const GROWTH = 1.1;
const QUIET_MS = 60_000;

const step = numberedSteps(5, printProgress);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface Rest {
  readonly calls: readonly string[];
  /** In MiB. */
  readonly memory: number;
}

/** A minute without changes: the calls in it, and the least memory. */
async function rest(replicas: Replicas, advance: (portion: Portion) => void): Promise<Rest> {
  replicas.takeCalls();
  let memory = Infinity;
  for (let passed = 0; passed < QUIET_MS; passed += 5_000) {
    advance({ done: passed / 1000, total: QUIET_MS / 1000, unit: 'seconds' });
    await sleep(5_000);
    memory = Math.min(memory, await replicas.memory());
  }
  return { calls: replicas.takeCalls(), memory };
}

/** Waits until a check finds nothing, and returns what it finds after the time. */
async function settled(
  check: () => Promise<readonly string[]>,
  timeoutMs: number,
): Promise<readonly string[]> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const found = await check();
    if (found.length === 0 || performance.now() > end) return found;
    await sleep(2_000);
  }
}

async function soak(client: Client, replicas: Replicas): Promise<boolean> {
  const tenant = new Tenant(client, randomChoice(seed), sites);
  const faults = randomChoice(seed + 1);
  const timeoutMs = 120_000 + sites * 3_000;
  await step(`creating ${sites} sites`, async () => {
    await tenant.createAll();
    await settled(() => stuck(client), timeoutMs);
    await replicas.renew();
    await sleep(30_000);
  });
  const before = await step('a minute at rest', (advance) => rest(replicas, advance));
  await step('changes, kills and cuts', async (advance) => {
    const start = performance.now();
    const isOver = (): boolean => performance.now() > start + minutes * 60_000;
    const disturbing = (async () => {
      while (!isOver()) {
        await sleep(3_000 + faults.below(7_000));
        await replicas.disturb(faults);
      }
    })();
    while (!isOver()) {
      const done = Math.floor((performance.now() - start) / 60_000);
      advance({ done, total: minutes, unit: 'minutes' });
      await tenant.change();
      await sleep(50 + faults.below(400));
    }
    await disturbing;
  });
  const { stuckObjects, lost } = await step('waiting until nothing changes', async () => {
    await replicas.heal();
    await tenant.fill();
    const found = await settled(() => stuck(client), timeoutMs);
    const left = await settled(() => orphans(client), 60_000);
    await sleep(15_000);
    return { stuckObjects: found, lost: left };
  });
  const after = await step('a minute at rest', (advance) => rest(replicas, advance));
  say(`changes: ${tenant.changes}, kills: ${replicas.kills}, cuts: ${replicas.cuts}`);
  const isWell = [
    result('orphans', lost),
    result('stuck objects', stuckObjects),
    result('calls in a quiet minute', after.calls),
  ].every(Boolean);
  const share = after.memory / before.memory;
  say(`memory: ${before.memory.toFixed(0)} MiB before, ${after.memory.toFixed(0)} MiB after`);
  return isWell && share <= GROWTH;
}

/** Prints a result, and whether it is none. */
function result(what: string, found: readonly string[]): boolean {
  say(`${what}: ${found.length}`);
  for (const one of found.slice(0, 20)) say(`  ${one}`);
  return found.length === 0;
}

say(`seed: ${seed}, sites: ${sites}`);
exitOnSignal();
const cp = await startControlPlane({
  prepare: applyCrds,
  persistentVolumes: 50 + Math.ceil(sites / 20),
  onProgress: printProgress,
});
const client = createClient({ credentials: await loadCredentials(cp.kubeconfig, process.env) });
let isWell: boolean;
try {
  const replicas = await Replicas.start(cp, values.log);
  try {
    isWell = await soak(client, replicas);
  } finally {
    await replicas.stop();
  }
} finally {
  await client.close();
  await cp.stop();
}
say(isWell ? `passed (seed ${seed})` : `failed (seed ${seed})`);
process.exit(isWell ? 0 : 1);
