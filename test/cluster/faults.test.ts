/**
 * After a fault during an operation the namespace equals the undisturbed one: objects, conditions, documents,
 * and how often each Job has run. Some samples of operation, fault and moment, of a seed that is printed;
 * `npm run matrix` has all. `FAULTS=SEED:NUMBER` repeats one namespace, as a failure says.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { messageOf } from '../../constructs/kit/errors.js';
import { DocumentScript, DOCUMENT_PODS } from '../../testbed/stand-in/document-script.js';
import { type Cluster, startCluster } from './harness.js';
import { FAULTS, NONE } from './support/faults/faults.js';
import {
  allCourses,
  type Course,
  nameOf,
  type Sample,
  someCourses,
} from './support/faults/samples.js';
import { Stage } from './support/faults/stage.js';
import { holdPods } from './support/interference.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import { assertNoOrphans } from './support/snapshot.js';
import {
  type End,
  type Operation,
  OPERATIONS,
  Resources,
  SiteDocuments,
  Lifecycle,
} from './support/lifecycle.js';

/** Namespaces of a run, with a sample for each operation. */
const NAMESPACES = 10;
/** Namespaces that go through their operations side by side. */
const CONCURRENCY = 4;
/** Longer than a change of a status that is not urgent is postponed. */
const QUIET_MS = 7_000;

const given = process.env['FAULTS'] ?? '';
const [seedText = '', onlyText] = given === 'each' ? [] : given.split(':');
const seed = seedText === '' ? Math.floor(Math.random() * 1_000_000) : Number(seedText);

/** What an undisturbed namespace has after an operation. */
interface Expected {
  readonly end: End;
  readonly jobs: Readonly<Record<string, number>>;
}

let cluster: Cluster;
let operators: ProxiedOperators;
let script: DocumentScript;
let resources: Resources;
const siteDocuments = new SiteDocuments();
const expected = new Map<Operation, Expected>();

async function stage(): Promise<Stage> {
  const lifecycle = new Lifecycle(cluster, await cluster.namespace(), resources, siteDocuments);
  const one = new Stage(cluster, operators, await operators.proxy(), lifecycle);
  await one.start();
  return one;
}

/** The end of a namespace when it no longer changes. */
async function settledEnd(lifecycle: Lifecycle): Promise<End> {
  let last: End | undefined;
  return cluster.until('nothing to change any more', async () => {
    await sleep(1_000);
    const now = await lifecycle.end();
    const same = JSON.stringify([...now.objects]) === JSON.stringify([...(last?.objects ?? [])]);
    last = now;
    return same && now;
  });
}

before(async () => {
  cluster = await startCluster({ audit: true, persistentVolumes: 250 });
  operators = new ProxiedOperators(cluster);
  resources = new Resources(cluster);
  await holdPods(cluster, DOCUMENT_PODS);
  script = new DocumentScript(cluster.controlPlane.api, siteDocuments.answer, () => 0, 250);
  const undisturbed = await stage();
  const { lifecycle } = undisturbed;
  for (const operation of OPERATIONS) {
    await NONE.inject(undisturbed, operation, 0);
    const end = await settledEnd(lifecycle);
    const jobs = lifecycle.jobs(await cluster.calls({ namespace: lifecycle.namespace }), operation);
    expected.set(operation, { end, jobs });
  }
  await undisturbed.end('SIGTERM');
});
after(async () => {
  await operators.stop();
  await script.stop();
  await cluster.stop();
});

/** Carries out one operation with its fault, and compares its end. Resolves with the operation that has ended. */
async function tryOne(one: Stage, sample: Sample): Promise<Operation> {
  const { lifecycle, namespace } = one;
  const operation = await sample.fault.inject(one, sample.operation, sample.moment);
  one.calm();
  const wanted = expected.get(operation);
  assert.ok(wanted);
  await lifecycle.becomes(wanted.end, nameOf(sample));
  await one.secretsStay();
  await assertNoOrphans(cluster, namespace);
  if (sample.fault.otherJobs !== true) {
    const jobs = lifecycle.jobs(await cluster.calls({ namespace }), operation);
    assert.deepEqual(jobs, wanted.jobs, `${nameOf(sample)}: how often Jobs were made`);
  }
  return operation;
}

/** The writes that have arrived at the proxy of a stage. */
function writesOf({ proxy }: Stage): readonly string[] {
  return proxy.calls.filter((call) => !/^(GET|WATCH|GET-ONE) |\/(events|leases)/.test(call));
}

/** Waits until there is no write for longer than one of a status may be postponed. */
async function untilQuiet(one: Stage): Promise<void> {
  let before = { count: writesOf(one).length, at: performance.now() };
  await cluster.until('no writes for a while', () => {
    const count = writesOf(one).length;
    if (count !== before.count) before = { count, at: performance.now() };
    return Promise.resolve(performance.now() - before.at > QUIET_MS);
  });
}

/** An operator that starts has nothing to do. */
async function isAtRest(one: Stage): Promise<void> {
  await untilQuiet(one);
  await one.end('SIGTERM');
  const before = writesOf(one).length;
  await (await one.start()).logged('caches are filled');
  await sleep(3_000);
  const written = writesOf(one).slice(before);
  assert.deepEqual(written, [], 'nothing is left to do for the next operator');
}

async function tryAll(course: Course, tried: (sample: Sample) => void): Promise<void> {
  const one = await stage();
  let last: Operation | undefined;
  for (const operation of OPERATIONS) {
    // An operation that has begun during the one before it has ended with it.
    if (last !== undefined && OPERATIONS.indexOf(operation) <= OPERATIONS.indexOf(last)) continue;
    const sample = course.find((each) => each.operation === operation) ?? {
      operation,
      fault: NONE,
      moment: 0,
    };
    last = await tryOne(one, sample);
    tried(sample);
    if (last === 'upgrade') await isAtRest(one);
  }
  await one.end('SIGTERM');
}

const courses = given === 'each' ? allCourses(FAULTS) : someCourses(FAULTS, NAMESPACES, seed);
describe('after a fault the namespace is as without it', { concurrency: CONCURRENCY }, () => {
  let samples = 0;
  for (const [index, course] of courses.entries()) {
    if (onlyText !== undefined && Number(onlyText) !== index) continue;
    test(course.map(nameOf).join('; '), async () => {
      const again = `FAULTS=${seed}:${index} npm run test:run -- cluster/faults`;
      const work = tryAll(course, ({ fault }) => {
        if (fault !== NONE) samples += 1;
      });
      const hint = given === 'each' ? '' : `\nrepeat it: ${again}`;
      // Not as its cause, which would print whole objects.
      await work.catch((error: unknown) => assert.fail(`${messageOf(error)}${hint}`));
    });
  }
  after(() => {
    const origin = given === 'each' ? 'all' : `seed ${seed}`;
    console.log(`faults, ${origin}: ${samples} samples passed`);
  });
});
