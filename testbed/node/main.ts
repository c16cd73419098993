import '../../runner/kit/require-node.js';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { messageOf } from '../../constructs/kit/errors.js';
import { cacheRoot } from '../controlplane/binaries.js';
import { isAlive } from '../controlplane/lock.js';
import { printProgress } from '../controlplane/progress.js';
import { signalToEnd } from '../controlplane/signal.js';
import { type RealNode, startNode } from './node.js';

const USAGE = `Usage: node up|down|status [image.tar …]

Runs a Kubernetes of one real node on this machine, as root.

  up [image.tar …]  builds what is missing, starts it, loads images, and runs until Ctrl-C or 'down'
  down              ends it, from another terminal
  status            says whether it runs, and where
`;

/** What `down` and `status` know of the node that `up` runs. */
interface Running {
  readonly pid: number;
  readonly folder: string;
  readonly kubeconfig: string;
}

const STATE = path.join(cacheRoot(), 'node-up.json');

async function main([verb, ...images]: readonly string[]): Promise<void> {
  if (verb === 'up') await up(images);
  else if (verb === 'down') await down();
  else if (verb === 'status') process.stdout.write(`${describe(await running())}\n`);
  else throw new Error(`\n${USAGE}`);
}

async function up(images: readonly string[]): Promise<void> {
  const other = await running();
  if (other) throw new Error(`one is up already:\n${describe(other)}`);
  const signalled = signalToEnd();
  const node = await Promise.race([startNode({ onProgress: printProgress }), signalled]);
  // Interrupted while starting: the supervisor cleans up when this process exits.
  if (typeof node === 'string') process.exit(130);
  try {
    for (const image of images) await node.loadImage(image);
    const state = stateOf(node);
    await writeFile(STATE, JSON.stringify(state));
    process.stdout.write(`${describe(state)}\nCtrl-C stops it.\n`);
    await Promise.race([signalled, node.failed]);
  } finally {
    await rm(STATE, { force: true });
    await node.stop();
  }
}

async function down(): Promise<void> {
  const state = await running();
  if (!state) {
    process.stdout.write('no node is up\n');
    return;
  }
  process.kill(state.pid, 'SIGTERM');
  while (isAlive(state.pid) || existsSync(state.folder)) await sleep(100);
}

function stateOf({ folder, kubeconfig }: RealNode): Running {
  return { pid: process.pid, folder, kubeconfig };
}

async function running(): Promise<Running | undefined> {
  const text = await readFile(STATE, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const state = JSON.parse(text) as Running;
  return isAlive(state.pid) && existsSync(state.folder) ? state : undefined;
}

function describe(state: Running | undefined): string {
  if (!state) return 'no node is up';
  return `a node is up (process ${state.pid})\n\n  export KUBECONFIG=${state.kubeconfig}\n\nLogs: ${state.folder}/logs`;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`node: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
