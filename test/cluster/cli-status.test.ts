import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { promisify, stripVTControlCharacters } from 'node:util';
import { after, before, describe, test } from 'node:test';

import type { StatusReport } from '../../cli/commands/status/reporter.js';
import { allOf, type Node } from '../../cli/commands/status/tree-node.js';
import { writePodLogs } from '../../testbed/controlplane/pod-logs.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSite, aUser } from './support/builders.js';
import { CommandLine, MAIN } from './support/command-line.js';
import { failJob, holdPods, release } from './support/interference.js';

let cluster: Cluster;
let admin: CommandLine;
before(async () => {
  cluster = await startCluster();
  await cluster.operator();
  admin = new CommandLine(cluster.controlPlane.kubeconfig);
});
after(() => cluster.stop());

/** The report of `status -o json`. */
async function statusOf(namespace: string, ...args: string[]): Promise<StatusReport> {
  const { code, out, err } = await admin.run(['status', ...args, '-n', namespace, '-o', 'json']);
  assert.deepEqual([code, err], [0, '']);
  return JSON.parse(out) as StatusReport;
}

function nodeNamed({ resources }: StatusReport, kind: string, name: string): Node {
  const found = resources.flatMap(allOf).find((node) => node.kind === kind && node.name === name);
  assert.ok(found, `${kind}/${name} is in the tree`);
  return found;
}

describe('app-operator status', { concurrency: 4 }, () => {
  test('shows a healthy bench with its components, its pods and its sites', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(namespace, aBench('b'), aSite('s', { bench: 'b' }));
    await cluster.ready('AppSite', namespace, 's');
    await cluster.ready('AppBench', namespace, 'b');
    const { code, out, err } = await admin.run(['status', '-n', namespace]);
    assert.deepEqual([code, err], [0, '']);
    assert.match(out, /^✔ AppBench b {2}Ready {2}version-15 {2}1 site/);
    assert.match(out, /^├─ ✔ Deployment b-gunicorn {2}1\/1/m);
    assert.match(out, /^├─ ✔ AppSite s {2}Ready {2}http:\/\/s\.example\.com/m);
    assert.match(out, /^└─ ✔ \d+ more: 2 ConfigMap, .*Secret/m);
    assert.match(out, /^2 resources, all Ready\.$/m);

    const report = await statusOf(namespace);
    assert.deepEqual(Object.keys(report).sort(), ['namespace', 'omitted', 'resources', 'version']);
    assert.equal(report.version, 1);
    for (const node of report.resources.flatMap(allOf)) {
      assert.equal(node.state, 'Ready', node.name);
      assert.ok(Date.parse(node.since ?? '') > 0, `${node.name} has a time`);
    }
    const redis = nodeNamed(report, 'StatefulSet', 'b-redis');
    assert.deepEqual(redis.details.replicas, { ready: 1, desired: 1 });
    assert.deepEqual(
      redis.children.map(({ kind }) => kind),
      ['Pod'],
    );
    assert.equal(nodeNamed(report, 'Deployment', 's-gunicorn').children.length, 1);
    const yaml = await admin.run(['status', 'site/s', '-n', namespace, '-o', 'yaml']);
    assert.match(yaml.out, /^version: 1\n/);
  });

  test('shows what a resource waits for', async () => {
    const namespace = await cluster.namespace();
    const heldPods = await holdPods(cluster, { app: 'slow-db' });
    await cluster.apply(namespace, aBench('slow'), aSite('lost', { bench: 'nowhere' }));
    const message = await cluster.until('the bench waits', async () => {
      const { state, message } = nodeNamed(await statusOf(namespace), 'StatefulSet', 'slow-db');
      return state === 'InProgress' && message;
    });
    assert.equal(message, '0 of 1 replicas available');
    await cluster.until('all is shown', async () => {
      const { out } = await admin.run(['status', '-n', namespace]);
      assert.match(out, /^◌ AppBench slow {2}Provisioning/m);
      assert.match(out, /◌ Pod slow-db-0/);
      assert.match(out, /^◌ AppSite lost .*\n.*there is no AppBench "nowhere"/m);
      return true;
    });
    await release(cluster, heldPods);
  });

  test('shows the pod of an init Job that failed, with the last lines of its log', async () => {
    const namespace = await cluster.namespace();
    const fault = await failJob(cluster, namespace, 'broken-init', 'app-operator: no database\n');
    await cluster.apply(namespace, aBench('broken'));
    await cluster.becomes('AppBench', namespace, 'broken', {
      what: 'is Failed',
      check: ({ status }) => status?.['phase'] === 'Failed',
    });
    // A paused bench does not retry the Job.
    await cluster.patch('AppBench', namespace, 'broken', { spec: { paused: true } });
    const log = 'one\ntwo\nthree\nfour\nTraceback\nmysql://root:hunter22@db refused\n';
    await writePodLogs(cluster.controlPlane, { 'job-name': 'broken-init' }, log);
    const report = await statusOf(namespace, 'bench/broken');
    const job = nodeNamed(report, 'Job', 'broken-init');
    assert.equal(job.state, 'Failed');
    const [pod] = job.children;
    assert.equal(pod?.state, 'Failed');
    assert.equal(pod.message, 'no database');
    const lines = ['two', 'three', 'four', 'Traceback', 'mysql://root:[redacted]@db refused'];
    assert.deepEqual(pod.log, { container: 'init', previous: false, lines });
    const { out } = await admin.run(['status', '-n', namespace]);
    assert.match(out, /log of init:\n.*two\n/);
    await release(cluster, fault);
  });

  test('works with read permission, and lists what it could not read', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(namespace, aBench('b'));
    await cluster.ready('AppBench', namespace, 'b');
    const api = cluster.controlPlane.api;
    await api.request('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`, {
      metadata: { name: 'reader' },
      rules: [
        { apiGroups: ['app-operator.io'], resources: ['*'], verbs: ['get', 'list'] },
        { apiGroups: ['apps', 'batch'], resources: ['*'], verbs: ['get', 'list'] },
      ],
    });
    await api.request(
      'POST',
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
      {
        metadata: { name: 'reader' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
        subjects: [{ kind: 'User', name: 'ann', apiGroup: 'rbac.authorization.k8s.io' }],
      },
    );
    const ann = new CommandLine(await cluster.controlPlane.userKubeconfig('ann', []));
    const { code, out } = await ann.run(['status', '-n', namespace, '-o', 'json']);
    assert.equal(code, 0);
    const report = JSON.parse(out) as StatusReport;
    assert.equal(nodeNamed(report, 'Deployment', 'b-gunicorn').state, 'Ready');
    const omitted = report.omitted.map(({ what }) => what);
    for (const what of ['secrets', 'pods', 'ingresses.networking.k8s.io'])
      assert.ok(omitted.includes(what), what);
    // The cluster does not serve them.
    assert.ok(!omitted.includes('scaledobjects.keda.sh'));
    assert.ok(report.omitted.some(({ why }) => why === 'forbidden: get services/proxy'));
    const tree = await ann.run(['status', '-n', namespace]);
    assert.match(tree.out, /^Not shown: .*secrets.* \(forbidden: list\)\.$/m);

    const bob = new CommandLine(await cluster.controlPlane.userKubeconfig('bob', []));
    const none = await bob.run(['status', '-n', namespace]);
    assert.deepEqual([none.code, none.out], [1, '']);
    assert.match(
      none.err,
      /^app-operator: forbidden: cannot list any resource of app-operator\.io in namespace /,
    );
    const everywhere = await ann.run(['status', '-A']);
    assert.equal(everywhere.code, 1);
    assert.match(everywhere.err, /or use -n NAMESPACE/);
  });

  test('reports an empty namespace, and a resource that is not found', async () => {
    const namespace = await cluster.namespace();
    const nothing = await admin.run(['status', '-n', namespace]);
    assert.deepEqual(nothing, {
      code: 0,
      out: `No resources found in namespace ${namespace}.\n`,
      err: '',
    });
    const missing = await admin.run(['status', 'site/shop', '-n', namespace]);
    assert.deepEqual([missing.code, missing.out], [1, '']);
    assert.equal(missing.err, `app-operator: AppSite "shop" not found in namespace ${namespace}\n`);
    const context = await admin.run(['status', '--context', 'elsewhere']);
    assert.equal(context.code, 1);
    assert.match(context.err, /context "elsewhere" not found; available: /);
    const kubeconfig = await admin.run(['status', '--kubeconfig', '/nowhere/config']);
    assert.equal(kubeconfig.code, 1);
    assert.match(kubeconfig.err, /^app-operator: \/nowhere\/config: no such file/);
  });

  test('shows the queue lengths of the exporter of a bench', async (t) => {
    const address = Object.values(networkInterfaces())
      .flat()
      .find((one) => one && !one.internal && one.family === 'IPv4')?.address;
    if (address === undefined) {
      t.skip('this machine has no address that an Endpoints object may name');
      return;
    }
    const namespace = await cluster.namespace();
    const exporter: Server = createServer((_request, response) => {
      response.end('app_worker_queue_length{namespace="x",bench="b",site="",queue="long"} 42\n');
    });
    exporter.listen(0, address);
    await once(exporter, 'listening');
    t.after(() => exporter.close());
    const { port } = exporter.address() as { port: number };
    const api = cluster.controlPlane.api;
    const ports = [{ name: 'metrics', port }];
    await cluster.apply(namespace, aBench('b', { paused: true }));
    // The API server forwards requests to pods only, so a simulated pod gets the address of the exporter.
    const spec = { containers: [{ name: 'exporter', image: 'exporter' }] };
    await api.request('POST', `/api/v1/namespaces/${namespace}/pods`, {
      metadata: { name: 'exporter' },
      spec,
    });
    await cluster.until('the pod runs', async () => {
      const pod = await cluster.the('Pod', namespace, 'exporter');
      return pod.status?.['phase'] === 'Running';
    });
    const status = { podIP: address, podIPs: [{ ip: address }] };
    await cluster.patchStatus('Pod', namespace, 'exporter', { status });
    const metadata = { name: 'b-metrics' };
    await api.request('POST', `/api/v1/namespaces/${namespace}/services`, {
      metadata,
      spec: { ports },
    });
    const targetRef = { kind: 'Pod', namespace, name: 'exporter' };
    await api.request('POST', `/api/v1/namespaces/${namespace}/endpoints`, {
      metadata,
      subsets: [{ addresses: [{ ip: address, targetRef }], ports }],
    });
    await cluster.create(namespace, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {
        name: 'b-worker-long',
        labels: {
          'app-operator.io/owner': 'AppBench.b',
          'app.kubernetes.io/managed-by': 'app-operator',
        },
      },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'b-worker-long' } },
        template: { metadata: { labels: { app: 'b-worker-long' } }, spec },
      },
    });
    await cluster.until('the answer of the exporter', async () => {
      const worker = nodeNamed(await statusOf(namespace), 'Deployment', 'b-worker-long');
      return worker.details.queueLength === 42;
    });
  });

  test('ends for a resource that is not found', async () => {
    const namespace = await cluster.namespace();
    const { code, out, err } = await admin.run(['status', 'site/shop', '-n', namespace]);
    const message = `app-operator: AppSite "shop" not found in namespace ${namespace}\n`;
    assert.deepEqual([code, out, err], [1, '', message]);
  });

  test('uses colours on a terminal only, fits its width, and uses none with NO_COLOR', async (t) => {
    const namespace = await cluster.namespace();
    await cluster.apply(namespace, aSite('lost', { bench: 'nowhere' }));
    const onTerminal = (env: NodeJS.ProcessEnv): Promise<string> => {
      const command = `stty cols 50; '${process.execPath}' '${MAIN}' status -n ${namespace}`;
      const { NO_COLOR: _, ...others } = process.env;
      const all = { ...others, TERM: 'xterm', ...env, KUBECONFIG: cluster.controlPlane.kubeconfig };
      return promisify(execFile)('script', ['-qec', command, '/dev/null'], { env: all }).then(
        ({ stdout }) => stdout,
      );
    };
    await cluster.becomes('AppSite', namespace, 'lost', {
      what: 'waits',
      check: ({ status }) => status?.['phase'] === 'Pending',
    });
    let painted: string;
    try {
      painted = await onTerminal({});
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      t.skip('script, of util-linux, is not installed');
      return;
    }
    assert.ok(painted.includes('\u001b[33m'), painted);
    const plain = await onTerminal({ NO_COLOR: '1' });
    assert.ok(!plain.includes('\u001b'), plain);
    const ageless = (text: string): string => text.replaceAll(/\b\d+[smh]\b/g, 'AGE');
    assert.equal(ageless(stripVTControlCharacters(painted)), ageless(plain));
    const tree = plain.split(/\r?\n/).slice(0, -3);
    assert.ok(tree.length >= 3 && tree.every((line) => line.length <= 50), plain);
  });

  test('shows the resources of a site below it', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(namespace, aBench('b'), aSite('shop', { bench: 'b' }), aUser('ann'));
    const site = nodeNamed(await statusOf(namespace), 'AppSite', 'shop');
    assert.ok(site.children.some(({ kind, name }) => kind === 'SiteUser' && name === 'ann'));
    const all = await admin.run(['status', '-A', '-o', 'json']);
    assert.equal((JSON.parse(all.out) as StatusReport).namespace, null);
  });
});
