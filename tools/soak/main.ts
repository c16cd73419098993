/**
 * Random changes of sites under faults, and what is left after them:
 * `npm run soak -- --minutes 30 --sites 300 --seed 1`. A seed repeats the order of changes, not their times.
 */
import '../../runner/require-node.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createClient, type Client } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { startControlPlane } from '../../testbed/controlplane/controlplane.js';
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

const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface Rest {
  readonly calls: readonly string[];
  /** In MiB. */
  readonly memory: number;
}

/** A minute without changes: the calls in it, and the least memory. */
async function rest(replicas: Replicas): Promise<Rest> {
  replicas.takeCalls();
  let memory = Infinity;
  for (let passed = 0; passed < QUIET_MS; passed += 5_000) {
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
  await tenant.createAll();
  await settled(() => stuck(client), timeoutMs);
  await replicas.renew();
  await sleep(30_000);
  say('created; a minute at rest');
  const before = await rest(replicas);
  say(`${minutes} minutes of changes, kills and cuts`);
  const end = performance.now() + minutes * 60_000;
  const isOver = (): boolean => performance.now() > end;
  const disturbing = (async () => {
    while (!isOver()) {
      await sleep(3_000 + faults.below(7_000));
      await replicas.disturb(faults);
    }
  })();
  while (!isOver()) {
    await tenant.change();
    await sleep(50 + faults.below(400));
  }
  await disturbing;
  await replicas.heal();
  await tenant.fill();
  const stuckObjects = await settled(() => stuck(client), timeoutMs);
  const lost = await settled(() => orphans(client), 60_000);
  await sleep(15_000);
  say('a minute at rest');
  const after = await rest(replicas);
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
const cp = await startControlPlane({
  prepare: applyCrds,
  persistentVolumes: 50 + Math.ceil(sites / 20),
  onProgress: ({ message }) => process.stderr.write(`${message}\n`),
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
