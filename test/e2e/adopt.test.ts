/**
 * A release of frappe/helm, taken over and given back by the commands that `app-operator adopt` prints, each
 * run as it is printed. `FRAPPE_CHART=DIR` takes the chart itself instead of one that makes the same objects.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';

import { projectRoot } from '../../testbed/project-root.js';
import { startHelm } from '../chart/support.js';
import { MAIN } from '../cluster/support/command-line.js';
import { aSecret } from '../cluster/support/builders.js';
import { at, type Manifest } from '../cluster/support/objects.js';
import { type E2e, e2e, skip } from './harness.js';
import { lasting, newPassword, SiteUser } from './support/bench.js';
import { cleanUp } from './support/benches.js';
import { type FrappeReleaseProps, valuesOf, writeChart } from './support/frappe-release.js';
import { outsidePod } from './support/outside-pod.js';
import { outsideServer } from './support/outside-server.js';

const SITES = ['blog', 'shop'];
const HOSTS = SITES.map((site) => `${site}.example.com`);
const PROPS: FrappeReleaseProps = {
  hosts: HOSTS,
  adminPassword: newPassword(),
  database: { host: 'db', secret: 'db-root' },
  redis: { cache: 'redis://cache:6379', queue: 'redis://queue:6379' },
};
const STEPS = ['Before', 'Take over', 'The way back'] as const;

suite('a release of frappe/helm', { skip }, () => {
  let cluster: E2e;
  let namespace: string;
  let folder: string;
  /** Of the release's nginx, and of the bench's. */
  let old: readonly SiteUser[];
  let users: readonly SiteUser[];
  let printed: Readonly<Record<(typeof STEPS)[number], readonly string[]>>;
  let sites: string;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    // The chart's pods are not of the profile `restricted`.
    const labels = { 'pod-security.kubernetes.io/enforce': 'privileged' };
    await cluster.patch('Namespace', '', namespace, { metadata: { labels } });
    folder = mkdtempSync(path.join(cluster.node.folder, 'adopt-'));
    program('kubectl', cluster.node.controlPlane.binaries.kubectl ?? 'kubectl');
    program('app-operator', process.execPath, MAIN);
    await cluster.apply(
      namespace,
      ...outsideServer('db', newPassword()),
      ...redis('cache'),
      ...redis('queue'),
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'old-nginx' },
        spec: {
          selector: { 'app.kubernetes.io/instance': 'erp-nginx' },
          ports: [{ port: 8080 }],
        },
      },
      // What a test logs in with: Administrator keeps its password.
      ...SITES.map((site) => aSecret(`${site}-admin-password`, { password: PROPS.adminPassword })),
    );
    await install();
    old = SITES.map((site) => new SiteUser(cluster, { namespace, bench: 'old' }, site));
    users = SITES.map((site) => new SiteUser(cluster, { namespace, bench: 'erp-bench' }, site));
    for (const user of old) {
      await user.answers();
      await user.remember(`old row of ${user.site}`);
      for (const isPrivate of [true, false]) {
        const { status } = await user.upload(`kept-${isPrivate}.txt`, user.site, isPrivate);
        assert.equal(status, 200);
      }
    }
  });
  after(async () => {
    await cleanUp(cluster, namespace);
    await rm(folder, { recursive: true, force: true });
  });

  const program = (name: string, ...command: readonly string[]): void => {
    const file = path.join(folder, name);
    writeFileSync(file, `#!/bin/sh\nexec ${command.join(' ')} "$@"\n`);
    chmodSync(file, 0o755);
  };
  const redis = (name: string): readonly Manifest[] => [
    outsidePod(name),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { selector: { app: name }, ports: [{ port: 6379 }] },
    },
  ];

  async function install(): Promise<void> {
    const chart = process.env['FRAPPE_CHART'] ?? path.join(folder, 'erpnext');
    if (!process.env['FRAPPE_CHART']) writeChart(chart, PROPS);
    const values = path.join(folder, 'values.json');
    writeFileSync(values, JSON.stringify(valuesOf(PROPS)));
    const { helm, stop } = await startHelm(cluster.node.kubeconfig);
    try {
      const where = ['--namespace', namespace, '--values', values, '--timeout=10m'];
      await helm.run('install', 'erp', chart, ...where, '--wait', '--wait-for-jobs');
    } finally {
      await stop();
    }
  }

  /** Runs a line of a shell as a user would, and returns what it prints. */
  async function run(line: string): Promise<string> {
    const env = {
      ...process.env,
      PATH: `${folder}:${process.env['PATH'] ?? ''}`,
      KUBECONFIG: cluster.node.kubeconfig,
    };
    const { stdout } = await promisify(execFile)('bash', ['-c', `set -eo pipefail\n${line}`], {
      cwd: folder,
      env,
    });
    return stdout;
  }

  async function runAll(lines: readonly string[]): Promise<void> {
    for (const line of lines) {
      // The comment of the line names what is added to it.
      const isAdopt = line.includes('# with your --site');
      await run(isAdopt ? line.replace(' -o yaml', ` ${sites} -o yaml`) : line);
    }
  }

  /** No request to these may be lost meanwhile. */
  async function withoutLoss(
    what: string,
    asked: readonly SiteUser[],
    work: () => Promise<void>,
  ): Promise<void> {
    const running = work();
    const loads = await Promise.all(
      asked.map((user) => cluster.load(namespace, user.place.bench, user.host, () => running)),
    );
    for (const load of loads) cluster.requireNoneLost(what, load);
  }

  async function hasAll(user: SiteUser, texts: readonly string[]): Promise<void> {
    for (const text of texts) assert.equal(await user.remembers(`${text} ${user.site}`), 1, text);
    for (const file of ['/private/files/kept-true.txt', '/files/kept-false.txt']) {
      const { status, body } = await user.read(file);
      assert.deepEqual([file, status, body], [file, 200, user.site]);
    }
  }

  /** The pods of the release's Deployments. */
  const oldPods = async () =>
    lasting(await cluster.pods(namespace, 'app.kubernetes.io/instance,!app-operator.io/bench'));

  test('is read with its sites and their databases, and changed by nothing', async () => {
    const page = await readFile(path.join(projectRoot(), 'docs/move-here.md'), 'utf8');
    const line = /^ {3}sites=(\$\(.*\))$/m.exec(page)?.[1] ?? assert.fail('no line of the page');
    const inHere = line.replace('-n shop', `-n ${namespace}`);
    sites = (await run(`echo ${inHere}`)).trim();
    assert.match(sites, /^--site \w+\.example\.com=_\w{16} --site \w+\.example\.com=_\w{16}$/);
    const table = await run(`app-operator adopt --release erp -n ${namespace} ${sites}`);
    const partOf = (heading: string): readonly string[] => {
      const [, text = ''] = table.split(`\n${heading}:\n`);
      return (text.split('\n\n')[0] ?? '')
        .split('\n')
        .map((one) => one.trim())
        .filter(Boolean);
    };
    printed = {
      Before: partOf('Before'),
      'Take over': partOf('Take over'),
      'The way back': partOf('The way back'),
    };
    for (const step of STEPS) assert.ok(printed[step].length > 2, `${step} in ${table}`);
    assert.doesNotMatch(table, new RegExp(PROPS.adminPassword));
  });

  test('goes on with its data, and loses no request', async () => {
    await runAll(printed.Before);
    const lines = printed['Take over'];
    const ready = lines.findIndex((line) => line.includes(' wait '));
    await withoutLoss('taking a release over, at its own nginx', old, () =>
      runAll(lines.slice(0, ready + 1)),
    );
    await withoutLoss('taking a release over, at the bench', users, async () => {
      await runAll(lines.slice(ready + 1));
      await cluster.until('the old pods to end', async () => (await oldPods()).length === 0);
    });
    for (const user of users) {
      await hasAll(user, ['old row of']);
      await user.remember(`new row of ${user.site}`);
      assert.equal(await user.enqueue(`job of ${user.site}`), 200);
      await user.stored([`job of ${user.site}`]);
    }
  });

  test('is given back with what was written meanwhile, and comes again', async () => {
    const lines = printed['The way back'];
    await runAll(lines);
    await cluster.until('the pods of the bench to end', async () => {
      const pods = lasting(await cluster.pods(namespace, 'app-operator.io/bench=erp-bench'));
      return pods.every((pod) => at(pod, 'metadata.labels.app') === undefined);
    });
    const ingresses = await cluster.list('Ingress', namespace);
    assert.deepEqual(
      ingresses.map(({ metadata }) => metadata.name),
      ['erp-erpnext'],
    );
    for (const user of old) {
      await user.answers();
      await hasAll(user, ['old row of', 'new row of', 'job of']);
      await user.remember(`late row of ${user.site}`);
    }
    for (const name of [
      'appbench/erp-bench',
      ...SITES.map((site) => `appsite/${site}-example-com`),
    ]) {
      await run(`kubectl -n ${namespace} patch ${name} --type merge -p '{"spec":{"paused":null}}'`);
    }
    await runAll(printed['Take over']);
    for (const user of users) {
      await user.answers();
      await hasAll(user, ['old row of', 'new row of', 'job of', 'late row of']);
    }
    const [site] = await cluster.list('AppSite', namespace);
    assert.equal(at(site as never, 'spec.ingress.enabled'), true);
  });
});
