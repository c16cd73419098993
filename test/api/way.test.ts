import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { KINDS } from '../../constructs/registry.js';
import { createClient, type Client } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { parseConfig } from '../../runner/config/config.js';
import { Manager } from '../../runner/manager.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';
import { projectRoot } from '../../testbed/project-root.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSite } from '../cluster/support/builders.js';
import { CalledFiles } from '../support/called-files.js';

const PAGE = readFileSync(path.join(projectRoot(), 'docs/contributing/architecture.md'), 'utf8');
/** Folders of the runner that the page lists file by file. */
const LISTED = /^runner\/(apply|cache|controller|health|plan|queue|reconcile)\//;
/** Called by the clock, or where a call fails, a child changes, or a pod is slow. */
const SOMETIMES = [
  'runner/cache/discovery.ts',
  'runner/apply/foreign-owner.ts',
  'runner/apply/as-applied.ts',
  'runner/apply/mount-refresh.ts',
  'runner/apply/refusal.ts',
  'runner/apply/replica-handover.ts',
  'runner/health/owned-pods.ts',
  'runner/health/job-runs.ts',
  'runner/health/claim-diagnostics.ts',
];
/** The pods of this API server answer no HTTP check. */
const NOT_TRACED = /^jobs\/|^runner\/health\/probe-manager\.ts$/;

/** The files in the table of a section of the page. */
function filesOf(title: string): readonly string[] {
  const [, section = ''] = PAGE.split(new RegExp(`^#+ ${title}$`, 'm'));
  const [text = ''] = section.split(/^#+ /m);
  return [...text.matchAll(/^\|.*\]\(\.\.\/\.\.\/([^)]+)\)/gm)].map(([, file = '']) => file);
}

const CREATION = filesOf('The way of one AppSite from event to Ready');
const DELETION = filesOf('Deletion');
const HELPERS = filesOf('What these files call');

function exists(file: string): boolean {
  return existsSync(path.join(projectRoot(), file));
}

describe('the ways of the architecture page', () => {
  let cluster: Cluster;
  let client: Client;
  let manager: Manager;
  let called: CalledFiles;
  let created: readonly string[];
  let deleted: readonly string[];

  before(async () => {
    cluster = await startCluster();
    const namespace = await cluster.namespace();
    const file = await cluster.controlPlane.userKubeconfig('operator-way', ['system:masters']);
    client = createClient({ credentials: await loadCredentials(file, {}) });
    manager = new Manager({
      config: parseConfig(['--site-check=false', `--watch-namespaces=${namespace}`], {}),
      client,
      metrics: new OperatorMetrics(KINDS.map(({ definition }) => definition.kind)),
      log: createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough()),
      batches: [],
    });
    await manager.sync();
    manager.start();
    await cluster.apply(namespace, aBench('b'));
    await cluster.ready('AppBench', namespace, 'b');
    for (let quiet = 0; quiet < 20; quiet = manager.busy ? 0 : quiet + 1) await sleep(50);
    called = await CalledFiles.start();
    await cluster.apply(namespace, aSite('s', { bench: 'b', deletionPolicy: 'Delete' }));
    await cluster.ready('AppSite', namespace, 's');
    created = await called.take();
    await cluster.delete('AppSite', namespace, 's');
    await cluster.deleted('AppSite', namespace, 's');
    deleted = await called.take();
  });
  after(async () => {
    called.stop();
    await manager.stop();
    await client.close();
    await cluster.stop();
  });

  test('have at most 20 and 18 files', () => {
    assert.ok(CREATION.length > 0 && CREATION.length <= 20, `${CREATION.length} files`);
    assert.ok(DELETION.length > 0 && DELETION.length <= 18, `${DELETION.length} files`);
  });

  for (const [what, way, calls] of [
    ['the creation', CREATION, () => created],
    ['the deletion', DELETION, () => deleted],
  ] as const) {
    test(`name files that ${what} of an AppSite calls`, () => {
      const traced = way.filter((file) => !NOT_TRACED.test(file));
      assert.deepEqual(
        traced.filter((file) => !calls().includes(file)),
        [],
      );
    });

    test(`name each file of the runner that ${what} calls`, () => {
      const named = new Set([...CREATION, ...DELETION, ...HELPERS, ...SOMETIMES]);
      const missing = calls().filter((file) => LISTED.test(file) && !named.has(file));
      assert.deepEqual(missing, []);
    });
  }

  test('name how many files the creation calls in all, within a tenth', () => {
    const text = PAGE.replaceAll('\n', ' ');
    const [, ...figures] = /(\d+) files of the runner and (\d+) of `constructs\/`/.exec(text) ?? [];
    assert.equal(figures.length, 2);
    for (const [index, folder] of ['runner/', 'constructs/'].entries()) {
      const count = created.filter((file) => file.startsWith(folder)).length;
      const ratio = count / Number(figures[index]);
      assert.ok(ratio > 0.9 && ratio < 1.1, `${count} files of ${folder} are called`);
    }
  });

  test('leave out files that exist', () => {
    assert.deepEqual(
      SOMETIMES.filter((file) => !exists(file)),
      [],
    );
  });

  test('name no helper that is called by neither', () => {
    const calls = new Set([...created, ...deleted]);
    const unused = HELPERS.filter((file) => !calls.has(file));
    assert.deepEqual(unused, []);
  });
});
