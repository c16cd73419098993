import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Manifest } from '../cluster/support/objects.js';
import { type E2e, e2e, skip } from './harness.js';

const NODE = new URL('../../testbed/node/node.js', import.meta.url).href;
const IMAGE = 'redis:7.2-alpine';

suite('the node runs real pods', { skip }, () => {
  let cluster: E2e;
  let namespace: string;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
  });

  test('pods reach Services by name, and this machine by its address', async () => {
    await run('client', ['sleep', '1000']);
    const address = await shell('client', 'getent hosts kubernetes.default.svc.cluster.local');
    assert.ok(address.startsWith(cluster.node.network.serviceAddress), address);
    const server = createServer((_, response) => response.end('hello'));
    server.listen(0, cluster.node.hostAddress);
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const script = `exec 3<>/dev/tcp/${cluster.node.hostAddress}/${port}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`;
    assert.match(await shell('client', script), /hello$/);
    server.close();
  });

  test('a full volume refuses writes, grows while in use, and is deleted with its PersistentVolumeClaim', async () => {
    await cluster.apply(namespace, aClaim('small', '8Mi'));
    await run('writer', ['sleep', '1000'], 'small');
    const write = (megabytes: number): Promise<string> =>
      shell('writer', `head -c ${megabytes}M /dev/zero >/data/file`);
    await assert.rejects(write(12), /No space left on device/);
    await cluster.patch('PersistentVolumeClaim', namespace, 'small', {
      spec: { resources: { requests: { storage: '32Mi' } } },
    });
    await cluster.becomes('PersistentVolumeClaim', namespace, 'small', {
      what: 'has grown',
      check: (object) => {
        const capacity = object.status?.['capacity'] as { storage?: string } | undefined;
        return capacity?.storage === '32Mi';
      },
    });
    await write(12);
    const { spec } = await cluster.the('PersistentVolumeClaim', namespace, 'small');
    const directory = cluster.node.volumeDirectory(String(spec?.['volumeName']));
    assert.deepEqual(readdirSync(directory), ['file']);
    await cluster.delete('Pod', namespace, 'writer');
    await cluster.delete('PersistentVolumeClaim', namespace, 'small');
    await cluster.until('the files to be deleted', async () => !existsSync(directory), 180_000);
  });

  test('containers run on while the kubelet is away', async () => {
    await run('server', ['redis-server', '--port', '6379', '--protected-mode', 'no']);
    const pod = await cluster.the('Pod', namespace, 'server');
    const ping = (): Promise<string> =>
      sendAndReceive(String(pod.status?.['podIP']), 6379, 'PING\r\n');
    await cluster.until('the server to answer', async () => (await ping()) === '+PONG\r\n');
    await cluster.node.stopKubelet();
    assert.equal(await ping(), '+PONG\r\n');
    await cluster.node.startKubelet();
    const after = await cluster.the('Pod', namespace, 'server');
    assert.equal(after.metadata.uid, pod.metadata.uid);
  });

  test('a Service answers or refuses every connection while its endpoints are added and removed', async () => {
    await run('back', ['redis-server', '--port', '6379', '--protected-mode', 'no']);
    const pod = await cluster.the('Pod', namespace, 'back');
    await cluster.apply(namespace, ...serviceOf(String(pod.status?.['podIP'])));
    const address = await cluster.addressOf(namespace, 'front');
    const ping = async (): Promise<boolean> =>
      (await sendAndReceive(address, 6379, 'PING\r\n')) === '+PONG\r\n';
    await cluster.until('the Service to answer', ping);

    const outcomes: Promise<string>[] = [];
    const knocking = setInterval(() => outcomes.push(knock(address, 6379)), 5);
    const become = (ready: boolean): Promise<unknown> =>
      cluster.patch('EndpointSlice', namespace, 'front', {
        endpoints: [{ addresses: [String(pod.status?.['podIP'])], conditions: { ready } }],
      });
    try {
      for (let times = 0; times < 6; times++) {
        for (const ready of [false, true]) {
          await become(ready);
          // kube-proxy puts together what changes within a tenth of a second, and has its time for
          // each.
          await sleep(1_200);
        }
      }
    } finally {
      clearInterval(knocking);
    }
    const counts: Record<string, number> = {};
    for (const outcome of await Promise.all(outcomes)) {
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
    assert.ok((counts['ECONNREFUSED'] ?? 0) > 0, JSON.stringify(counts));
    assert.equal(counts['no answer'] ?? 0, 0, JSON.stringify(counts));
  });

  test(
    'no process, mount or folder remains when the process of a node is killed',
    { timeout: 300_000 },
    async () => {
      const script = `
      const { startNode } = await import('${NODE}');
      const node = await startNode();
      const { folder, network, controlPlane } = node;
      await node.kubectl(['run', 'pod', '--image=registry.k8s.io/pause:3.10']);
      await node.kubectl(['wait', 'pod/pod', '--for=condition=Ready', '--timeout=120s']);
      console.log(JSON.stringify({ folder, network, group: controlPlane.processGroup }));
      setInterval(() => {}, 1_000);`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const { folder, network, group } = JSON.parse(await firstLine(child)) as {
        readonly folder: string;
        readonly network: { readonly namespace: string; readonly link: string };
        readonly group: number;
      };
      assert.ok(existsSync(`/run/netns/${network.namespace}`));
      const containers = processesOfContainers(folder);
      assert.equal(containers.length, 2, 'the sandbox and its container');
      child.kill('SIGKILL');
      const left = (): string[] => [
        ...(existsSync(folder) ? [folder] : []),
        ...(existsSync(`/run/netns/${network.namespace}`) ? [network.namespace] : []),
        ...(existsSync(`/sys/class/net/${network.link}`) ? [network.link] : []),
        ...readFileSync('/proc/self/mounts', 'utf8')
          .split('\n')
          .filter((line) => line.includes(folder)),
        ...containers.filter((pid) => existsSync(`/proc/${pid}`)),
        ...(spawnSync('pgrep', ['-g', String(group)]).status === 0 ? ['processes'] : []),
      ];
      const end = performance.now() + 120_000;
      while (left().length > 0 && performance.now() < end) await sleep(100);
      assert.deepEqual(left(), []);
    },
  );

  /** Runs a pod and waits until it is Ready. */
  async function run(name: string, command: string[], claimName?: string): Promise<void> {
    await cluster.apply(namespace, pod(name, command, claimName));
    await cluster.becomes('Pod', namespace, name, {
      what: 'runs',
      check: ({ status }) => status?.['phase'] === 'Running',
      timeoutMs: 180_000,
    });
  }

  function shell(name: string, script: string): Promise<string> {
    return cluster.exec(namespace, name, ['bash', '-ec', script]);
  }
});

function pod(name: string, command: string[], claimName?: string): Manifest {
  const volume = claimName ?? '';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1001,
        fsGroup: 1001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'main',
          image: IMAGE,
          command,
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: claimName ? [{ name: 'data', mountPath: '/data' }] : [],
        },
      ],
      volumes: claimName ? [{ name: 'data', persistentVolumeClaim: { claimName: volume } }] : [],
    },
  };
}

/** A Service of one address, whose endpoints the test writes. */
function serviceOf(address: string): Manifest[] {
  const ports = [{ name: 'redis', port: 6379, protocol: 'TCP' }];
  return [
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'front' }, spec: { ports } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'front', labels: { 'kubernetes.io/service-name': 'front' } },
      addressType: 'IPv4',
      ports,
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
    },
  ];
}

/** Opens a connection and closes it. The kernel retries after 1, 3, 7 and 15 s. */
function knock(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => {
      resolve('answered');
      socket.destroy();
    });
    socket.setTimeout(30_000, () => {
      resolve('no answer');
      socket.destroy();
    });
    socket.once('error', ({ code = '' }: Error & { readonly code?: string }) => {
      resolve(code);
    });
  });
}

function aClaim(name: string, storage: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: {
      storageClassName: 'limited',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage } },
    },
  };
}

/** Ids of the containers' first processes. */
function processesOfContainers(folder: string): string[] {
  const tasks = path.join(folder, 'run/containerd/io.containerd.runtime.v2.task/k8s.io');
  return readdirSync(tasks).map((id) => readFileSync(path.join(tasks, id, 'init.pid'), 'utf8'));
}

/** Sends some text by TCP and returns the first answer. */
async function sendAndReceive(host: string, port: number, text: string): Promise<string> {
  const socket = connect({ host, port, timeout: 5_000 });
  socket.once('timeout', () => socket.destroy(new Error(`no answer from ${host}:${port}`)));
  try {
    socket.write(text);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer.toString();
  } finally {
    socket.destroy();
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  const { stdout } = child;
  if (!stdout) throw new Error('it has no output');
  for await (const line of createInterface({ input: stdout })) return line;
  throw new Error('it ended without a word');
}
