import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startControlPlane, type ControlPlane } from '../controlplane/controlplane.js';
import { printProgress } from '../controlplane/progress.js';
import { applyCrds } from '../crds.js';
import { OperatorProcess } from '../operator-process.js';
import { projectRoot } from '../root.js';
import { treeOf } from './tree.js';

const NAMESPACE = 'default';
const TIMEOUT_MS = 120_000;

const { values } = parseArgs({ options: { exit: { type: 'boolean', default: false } } });
const ended = new Promise<'signal'>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      resolve('signal');
    });
  }
});

say('A Kubernetes control plane of its own, on this machine only; your clusters are not touched.');
const cp = await Promise.race([
  startControlPlane({ prepare: applyCrds, onProgress: printProgress }),
  ended,
]);
// Interrupted while it started: its supervisor cleans up as soon as this process is gone.
if (cp === 'signal') process.exit(130);
let operator: OperatorProcess | undefined;
try {
  const logFile = path.join(cp.dataDir, 'app-operator.log');
  operator = await OperatorProcess.start({ kubeconfig: cp.kubeconfig, logFile });
  say('The operator runs. It gets an AppBench and an AppSite:\n');
  say(await cp.kubectl(['apply', '-f', path.join(projectRoot(), 'examples', 'bench.yaml')]));
  say(await cp.kubectl(['apply', '-f', path.join(projectRoot(), 'examples', 'site.yaml')]));
  await Promise.race([showUntilReady(cp), operator.failed, cp.failed]);
  say(await treeOf(cp, NAMESPACE));
  if (!values.exit) {
    say(howToLookAround(cp, logFile));
    await Promise.race([ended, operator.failed, cp.failed]);
  }
} finally {
  await operator?.stop();
  await cp.stop();
  say('\nStopped, and nothing is left.');
}

/** Prints what `kubectl get` says whenever it says something new. */
async function showUntilReady(plane: ControlPlane): Promise<void> {
  const columns =
    'KIND:.kind,NAME:.metadata.name,PHASE:.status.phase,' +
    'MESSAGE:.status.conditions[?(@.type=="Ready")].message';
  const end = performance.now() + TIMEOUT_MS;
  let shown = '';
  while (performance.now() < end) {
    const now = await plane.kubectl([
      'get',
      'appbenchs,appsites',
      '-o',
      `custom-columns=${columns}`,
    ]);
    if (now !== shown) say(now);
    shown = now;
    const rows = now.trim().split('\n').slice(1);
    if (rows.length === 2 && rows.every((row) => /\sReady\s/.test(row))) return;
    await sleep(250);
  }
  throw new Error(`not Ready after ${TIMEOUT_MS / 1000} seconds`);
}

function howToLookAround(plane: ControlPlane, logFile: string): string {
  const kubectl = `${plane.binaries.kubectl ?? 'kubectl'} --kubeconfig ${plane.kubeconfig}`;
  return `
Both are Ready. The pods are simulated: no image runs here. Look around from another terminal:

  alias k='${kubectl}'
  k get appbenchs,appsites -o wide
  k patch appbench demo-bench --type merge -p '{"spec":{"componentReplicas":{"gunicorn":3}}}'
  k delete deployment demo-site-gunicorn       # and see it come back
  k delete appsite demo-site                   # its data stays, unless spec.deletionPolicy is Delete
  tail -f ${logFile}

Ctrl-C stops everything.`;
}

function say(text: string): void {
  process.stdout.write(`${text.trimEnd()}\n`);
}
