import '../../runner/kit/require-node.js';
import { parseArgs } from 'node:util';
import { createClient, type Client } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { startControlPlane, type ControlPlane } from '../../testbed/controlplane/controlplane.js';
import { numberedSteps, printProgress } from '../../testbed/controlplane/progress.js';
import { exitOnSignal } from '../../testbed/controlplane/signal.js';
import { applyCrds } from '../../testbed/crds.js';
import { type AdmissionFigure, measureAdmission } from './admission.js';
import { type DocumentFigures, measureDocuments } from './documents.js';
import { comparedOf, deviations, readExpected, writeExpected } from './expected.js';
import { type FairnessFigures, measureFairness } from './fairness.js';
import { cpuPerObject, rowsOf } from './figures.js';
import { fleetPlot, fleetTable } from './fleet/figures.js';
import { FLEET_STEPS, type FleetMeasurement, measureFleet } from './fleet/measure.js';
import { openFleet } from './fleet/seed.js';
import { type HostileFigure, measureHostile } from './hostile.js';
import { foldProfile, readProfile } from './profile.js';
import { measureFloor, measureSites, profileSites, type SitesOptions, STEPS } from './sites.js';
import { synthTime } from './workload.js';

const { values } = parseArgs({
  options: {
    sites: { type: 'string', default: '100' },
    quiet: { type: 'string', default: '60' },
    samples: { type: 'string', default: '100' },
    'skip-floor': { type: 'boolean', default: false },
    /** The floor applies the Deployments of a site when its Job has succeeded. */
    'floor-in-order': { type: 'boolean', default: false },
    /** A folder: writes a CPU profile of the operator, and prints where the time went. */
    profile: { type: 'string' },
    /** Flags of Node.js for the operator, to compare. */
    'node-flags': { type: 'string', default: '' },
    users: { type: 'string', default: '500' },
    crowd: { type: 'string', default: '0' },
    hostile: { type: 'string', default: '0' },
    admission: { type: 'boolean', default: false },
    /** Numbers of sites, separated by commas: a fleet at rest of each. */
    fleet: { type: 'string' },
    benches: { type: 'string', default: '50' },
    /** A quick run that fails where a figure is not the expected one. */
    check: { type: 'boolean', default: false },
    /** A quick run that writes the expected figures. */
    update: { type: 'boolean', default: false },
  },
});
/** Small enough for each run of CI, and large enough that a site's own share counts. */
const QUICK = { sites: 50, quietSeconds: 10, samples: 10, settleSeconds: 6 };
const isQuick = values.check || values.update;
const sites = isQuick ? QUICK.sites : Number(values.sites);
const isFloorMeasured = !isQuick && !values['skip-floor'];
const options: SitesOptions = {
  ...{ quietSeconds: Number(values.quiet), samples: Number(values.samples), settleSeconds: 10 },
  ...(isQuick ? QUICK : {}),
  sites,
  quick: isQuick,
  floorInOrder: values['floor-in-order'],
  profile: values.profile,
  nodeFlags: values['node-flags'].split(' ').filter(Boolean),
  step: numberedSteps(stepCount(), printProgress),
};

exitOnSignal();

if (values.fleet !== undefined) {
  await printFleet(values.fleet);
  process.exit();
}
if (values.profile !== undefined) await printProfile(values.profile);
else if (sites > 0) await printSites();
if (isQuick) process.exit();

/** Measures one fleet after the other: each begins with the objects of the one before it. */
async function printFleet(list: string): Promise<void> {
  const sizes = list.split(',').map(Number);
  const step = numberedSteps(sizes.length * (FLEET_STEPS + 1), printProgress);
  const measured: FleetMeasurement[] = [];
  for (const size of sizes) {
    const at = { benches: Number(values.benches), sites: size };
    const fleet = await step(`creating ${size} sites`, (advance) => openFleet({ ...at, advance }));
    try {
      const { quietSeconds, samples, nodeFlags = [] } = options;
      measured.push(await measureFleet(fleet, { ...at, quietSeconds, samples, nodeFlags, step }));
    } finally {
      await fleet.stop();
    }
    const [head = [], ...rows] = fleetTable(measured);
    printTable(rows, head);
  }
  process.stdout.write(`${fleetPlot(measured).join('\n')}\n`);
}

function stepCount(): number {
  if (values.profile !== undefined) return STEPS.profile;
  return STEPS.sites + (isFloorMeasured ? STEPS.floor : 0);
}

if (Number(values.users) > 0) {
  printDocuments(
    await onControlPlane((cp, client) =>
      measureDocuments(cp, client, Number(values.users), Number(values.quiet) * 1000),
    ),
  );
}

if (Number(values.crowd) > 0) {
  printFairness(
    await onControlPlane((cp, client) => measureFairness(cp, client, Number(values.crowd))),
  );
}

function printFairness({
  crowd,
  quiet,
  during,
  unwatched,
  restarted,
  creation,
}: FairnessFigures): void {
  const seconds = (times: readonly number[]): string =>
    times.map((time) => time.toFixed(1)).join(', ');
  const rows = [
    ['crowd, created in', `${crowd}, ${creation.toFixed(1)} s`],
    ['new site Ready, quiet', `${seconds(quiet)} s`],
    ['new site Ready, while the crowd is created', `${seconds(during)} s`],
    ['the same, the crowd is not watched', `${seconds(unwatched)} s`],
    ['new site Ready, after a restart', `${seconds(restarted)} s`],
  ];
  for (const [what = '', value = ''] of rows) process.stdout.write(`${what.padEnd(45)}${value}\n`);
}

if (Number(values.hostile) > 0) {
  printHostile(
    await onControlPlane((cp, client) => measureHostile(cp, client, Number(values.hostile))),
  );
}

function printHostile(figures: readonly HostileFigure[]): void {
  process.stdout.write(`${values.hostile} sites of a tenant whose server …\n`);
  for (const { behaviour, checks, ready, memory } of figures) {
    const times = ready.map((seconds) => seconds.toFixed(1)).join(', ');
    process.stdout.write(
      `${behaviour.padEnd(24)}${checks} checks, new site Ready ${times} s, memory ${memory.toFixed(0)} MiB\n`,
    );
  }
}

if (values.admission) printAdmission(await measureAdmission());

function printAdmission(figures: readonly AdmissionFigure[]): void {
  for (const { what, bytes, median, longest, others, grown } of figures) {
    const size = `${(bytes / 1024).toFixed(0)} KiB`.padEnd(10);
    const times = `${median.toFixed(0)} ms, longest ${longest.toFixed(0)} ms`.padEnd(28);
    const rest = `others ${others.toFixed(0)} ms, memory ${grown.toFixed(1)} MiB`;
    process.stdout.write(`${what.padEnd(24)}${size}${times}${rest}\n`);
  }
}

async function onControlPlane<T>(
  measure: (cp: ControlPlane, client: Client) => Promise<T>,
): Promise<T> {
  const cp = await startControlPlane({
    prepare: applyCrds,
    onProgress: printProgress,
  });
  const client = createClient({ credentials: await loadCredentials(cp.kubeconfig, process.env) });
  try {
    return await measure(cp, client);
  } finally {
    await client.close();
    await cp.stop();
  }
}

async function printSites(): Promise<void> {
  const floor = isFloorMeasured
    ? await onControlPlane((cp, client) => measureFloor(cp, client, options))
    : undefined;
  const sitesMeasured = await onControlPlane((cp, client) => measureSites(cp, client, options));
  const measured = { ...sitesMeasured, floor, synth: synthTime() };
  printTable(rowsOf(measured));
  if (values.update) await writeExpected(measured);
  if (!values.check) return;
  const found = deviations(comparedOf(measured), await readExpected());
  for (const deviation of found) process.stdout.write(`${deviation}\n`);
  if (found.length > 0) process.exitCode = 1;
}

async function printProfile(profile: string): Promise<void> {
  const creation = await onControlPlane((cp, client) =>
    profileSites(cp, client, { ...options, profile }),
  );
  const areas = foldProfile(await readProfile(profile));
  const total = [...areas.values()].reduce((sum, ms) => sum + ms, 0);
  const objects = creation.sites * creation.children;
  printTable(
    [...areas].map(([area, ms]) => [
      area,
      `${((100 * ms) / total).toFixed(1)} %`,
      `${(ms / objects).toFixed(3)} ms`,
    ]),
    ['area', 'share', 'per applied object'],
  );
  process.stdout.write(`CPU per applied object: ${cpuPerObject(creation).toFixed(2)} ms\n`);
}

function printDocuments({ users, jobs, ready, batch, changed, quietCalls }: DocumentFigures): void {
  printTable([
    ['users of one site, Jobs', `${users}, ${jobs.all}`, '≤ 10 Jobs'],
    [
      'create → all Ready',
      `${ready.toFixed(1)} s = ${(ready / batch).toFixed(2)} × one batch`,
      '≤ 3 ×',
    ],
    ['one changed field: Jobs, time', `${jobs.changed}, ${changed.toFixed(1)} s`, '1 Job'],
    [`calls in ${values.quiet} quiet seconds`, String(quietCalls), '0'],
  ]);
}

function printTable(
  rows: readonly (readonly string[])[],
  head: readonly string[] = ['what', 'measured', 'aim'],
): void {
  for (const row of [head, head.map(() => '---'), ...rows]) {
    process.stdout.write(`| ${row.join(' | ')} |\n`);
  }
}
