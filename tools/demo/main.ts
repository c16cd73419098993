import '../../runner/kit/require-node.js';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { allOf } from '../../cli/commands/status/tree-node.js';
import { renderTrees } from '../../cli/commands/status/render-tree.js';
import {
  statusNow,
  type StatusProps,
  type StatusReport,
} from '../../cli/commands/status/reporter.js';
import { kindNamed } from '../../cli/kube/kinds.js';
import { DEFAULT_API_GROUP, objectKind } from '../../constructs/kit/definition.js';
import { createClient } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import type { KubernetesObject } from '../../testbed/controlplane/admin-client.js';
import { startControlPlane, type ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { printProgress } from '../../testbed/controlplane/progress.js';
import { applyCrds } from '../../testbed/crds.js';
import { OperatorProcess } from '../../testbed/operator-process.js';
import { projectRoot } from '../../testbed/project-root.js';
import {
  DEMO_FILES,
  MISSING_SECRET,
  statusFile,
  statusPicture,
  WAITING_FILE,
} from '../pictures/status.js';

const NAMESPACE = 'default';
const TIMEOUT_MS = 600_000;
const RESOURCES = 2;
const REFRESH_MS = 1_000;

const { values } = parseArgs({
  options: {
    exit: { type: 'boolean', default: false },
    // For `npm run pictures`.
    picture: { type: 'boolean', default: false },
  },
});
const { stdout, env } = process;
const interrupted = new AbortController();
const ended = new Promise<'signal'>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted.abort();
      resolve('signal');
    });
  }
});

say('Starting a Kubernetes control plane on this machine. Your clusters are not changed.');
const cp = await Promise.race([
  startControlPlane({ prepare: applyCrds, kubectl: false, onProgress: printProgress }),
  ended,
]);
// Interrupted while starting: the supervisor cleans up when this process exits.
if (cp === 'signal') process.exit(130);
const client = createClient({ credentials: await loadCredentials(cp.kubeconfig, {}) });
const shown: StatusProps = {
  client,
  apiGroup: DEFAULT_API_GROUP,
  namespace: NAMESPACE,
  selection: {},
};
let operator: OperatorProcess | undefined;
try {
  const logFile = path.join(cp.dataDir, 'app-operator.log');
  operator = await OperatorProcess.start({ kubeconfig: cp.kubeconfig, logFile });
  say('app-operator: started\n');
  for (const file of DEMO_FILES) await applyExample(cp, file);
  say('');
  await Promise.race([showUntilReady(), operator.failed, cp.failed]);
  if (!stdout.isTTY) say(linesOf(await statusNow(shown)));
  if (values.picture) await drawPicture(cp);
  if (!values.exit) {
    say(nextCommands(cp, logFile));
    const changes = show(interrupted.signal, () => false);
    await Promise.race([changes, ended, operator.failed, cp.failed]);
  }
} finally {
  interrupted.abort();
  await client.close();
  await operator?.stop();
  await cp.stop();
  say('\nControl plane, operator and data deleted.');
}

/** Shows the tree as it grows, until the bench and the site are Ready. */
async function showUntilReady(): Promise<void> {
  const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  await show(signal, ({ resources }) => {
    const ours = resources.flatMap(allOf).filter(({ kind }) => kind.startsWith('App'));
    return ours.length === RESOURCES && ours.every(({ state }) => state === 'Ready');
  });
  // An interruption ends it too.
  if (signal.aborted && !interrupted.signal.aborted)
    throw new Error(
      `AppBench and AppSite: timed out after ${TIMEOUT_MS / 1000} s waiting for Ready`,
    );
}

/** Shows the tree on a terminal, again and again in place, until the signal or the wanted report. */
async function show(signal: AbortSignal, isWanted: (report: StatusReport) => boolean) {
  let height = 0;
  while (!signal.aborted) {
    const report = await statusNow(shown);
    if (stdout.isTTY) {
      const text = linesOf(report);
      stdout.write(`${height > 0 ? `\x1b[${height}A` : ''}\r\x1b[J${text}\n`);
      height = text.split('\n').length;
    }
    if (isWanted(report)) return;
    await sleep(REFRESH_MS);
  }
}

/** Draws the tree, with a site that waits for a Secret, as the README shows it. */
async function drawPicture(plane: ControlPlane): Promise<void> {
  await applyExample(plane, WAITING_FILE);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  await show(signal, ({ resources }) =>
    resources
      .flatMap(allOf)
      .some(({ kind, message }) => kind === 'AppSite' && message.includes(MISSING_SECRET)),
  );
  const { resources } = await statusNow(shown);
  await writeFile(statusFile(), statusPicture({ now: Date.now(), resources }));
}

/** Applies the bench or the site of a file. */
async function applyExample({ api }: ControlPlane, file: string): Promise<void> {
  const text = await readFile(path.join(projectRoot(), 'examples', file), 'utf8');
  const documents = parseAllDocuments(text).map((each) => each.toJS() as KubernetesObject);
  const example = documents.find(({ kind }) => kind.startsWith('App'));
  if (!example) throw new Error(`examples/${file}: no bench and no site`);
  const { kind, metadata } = example;
  const known = kindNamed(kind);
  if (!known) throw new Error(`examples/${file}: unknown kind: "${kind}"`);
  await api.apply(resourcePath(objectKind(known.definition), NAMESPACE), example);
  say(`${kind}/${metadata.name}: created`);
}

function linesOf({ resources }: StatusReport): string {
  const colours = stdout.isTTY && !env['NO_COLOR'];
  const columns = stdout.isTTY ? stdout.columns : undefined;
  return renderTrees(resources, { colours, columns, now: Date.now() }).join('\n');
}

function nextCommands(plane: ControlPlane, logFile: string): string {
  const kubectl = `kubectl --kubeconfig ${plane.kubeconfig}`;
  return `
AppBench and AppSite are Ready. The pods are simulated: no container runs. Try from another terminal:

  alias k='${kubectl}'
  k get appbenchs,appsites -o wide
  k patch appbench demo-bench --type merge -p '{"spec":{"componentReplicas":{"gunicorn":3}}}'
  k delete deployment demo-site-gunicorn       # the operator creates it again
  k delete appsite demo-site                   # its data is retained unless spec.deletionPolicy is Delete
  tail -f ${logFile}

Changes are shown below. Press Ctrl-C to stop.
`;
}

function say(text: string): void {
  stdout.write(`${text.trimEnd()}\n`);
}
