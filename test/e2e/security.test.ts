import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { aSecret, aSite } from '../cluster/support/builders.js';
import { at, type Live } from '../cluster/support/objects.js';
import { JOB_ID_SEPARATOR } from './framework.js';
import { type E2e, e2e, skip } from './harness.js';
import { cleanUp, runningPod, smallBench } from './support/benches.js';
import { ArgumentLists, exposedSecrets } from './support/exposed-secrets.js';
import { podLog } from './support/pod-log.js';
import { outsidePod, reachable } from './support/outside-pod.js';

const QUEUES = ['default', 'short', 'long'] as const;
/** As OpenShift chooses it: any number, in no file of any image. */
const ARBITRARY = 1_000_660_000;
/** Everything that shells, SQL, JSON, URLs and configuration files could stumble over. */
const AWKWARD_PASSWORD = `it's "quoted" $HOME %41 \\n & 50% #1`;
/** A pod that may connect where others may not. */
const SCRAPER = [{ podLabels: { app: 'scraper' } }];
const JOB_MS = 180_000;
/** How long a job waits for a missing worker; an existing worker takes it at once. */
const IDLE_MS = 5_000;

suite('isolation and security', { skip }, () => {
  let cluster: E2e;
  let namespace: string;
  let lists: ArgumentLists;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    lists = new ArgumentLists();
    await cluster.apply(
      namespace,
      aSecret('chosen', { password: AWKWARD_PASSWORD }),
      smallBench('plain', {
        componentReplicas: {
          socketio: 1,
          scheduler: 1,
          workerDefault: 1,
          workerShort: 1,
          workerLong: 0,
        },
        networkPolicy: {
          metricsFrom: SCRAPER,
          egress: { enabled: true, allow: [{ to: SCRAPER, ports: [6379] }] },
        },
      }),
      smallBench('strange', {
        networkPolicy: { ingressFrom: SCRAPER },
        security: { podSecurityContext: { runAsUser: ARBITRARY, fsGroup: ARBITRARY } },
      }),
      aSite('own', {
        bench: 'plain',
        adminPasswordSecretRef: { name: 'chosen' },
        componentReplicas: { workerDefault: 1, workerShort: 0, workerLong: 1 },
      }),
      aSite('joint', { bench: 'plain', workloads: 'Shared' }),
      aSite('foreign', {
        bench: 'strange',
        componentReplicas: { workerDefault: 1, workerShort: 1, workerLong: 0 },
      }),
      outsidePod('outside'),
      outsidePod('scraper'),
    );
    const sites = ['own', 'joint', 'foreign'];
    await Promise.all(sites.map((site) => cluster.ready('AppSite', namespace, site)));
  });

  after(async () => {
    lists.stop();
    await cleanUp(cluster, namespace);
  });

  test('the namespace takes only restricted pods', async () => {
    const pod = outsidePod('privileged');
    const spec = pod['spec'] as Record<string, unknown>;
    const refused = cluster.apply(namespace, { ...pod, spec: { ...spec, hostNetwork: true } });
    await assert.rejects(refused, /violates PodSecurity \\?"restricted/);
  });

  for (const [bench, site, user] of [
    ['plain', 'own', 1001],
    ['strange', 'foreign', ARBITRARY],
  ] as const) {
    test(`as user ${user} processes have no rights and a read-only system`, async () => {
      const seen = new Set<string>();
      const check = async ({ pod, container }: Container): Promise<void> => {
        const where = `${pod}/${container}`;
        const output = await cluster.exec(namespace, pod, ['sh', '-c', INSPECT], { container });
        seen.add(container);
        const lines = [
          new RegExp(`^Uid:\\s+${user}\\s+${user}\\s`, 'm'),
          /^Gid:\s+0\s+0\s/m,
          /^CapEff:\s+0+$/m,
          /^CapBnd:\s+0+$/m,
          /^NoNewPrivs:\s+1$/m,
          /^Seccomp:\s+2$/m,
          /^touch: .*Read-only file system$/m,
        ];
        for (const line of lines) {
          assert.ok(line.test(output), `${where}: no line ${line.source}: ${output}`);
        }
      };
      await Promise.all((await containersOf(bench, site)).map(check));
      const wanted = ['cache', 'gunicorn', 'mariadb', 'nginx', 'queue', 'worker-default'];
      assert.deepEqual(
        wanted.filter((name) => !seen.has(name)),
        [],
      );
      const config = `/home/frappe/frappe-bench/sites/${site}.example.com/site_config.json`;
      const pod = await runningPod(cluster, namespace, `${site}-gunicorn`);
      const stat = await cluster.exec(namespace, pod, ['stat', '--format=%u %a', config]);
      // Not for others: it holds the database's password.
      assert.match(stat, new RegExp(`^${user} [0-7]{2}0$`, 'm'));
    });
  }

  test('the password of an administrator may have any characters', async () => {
    const login = (pwd: string) =>
      cluster.request(
        namespace,
        'plain',
        { host: 'own.example.com', path: '/api/method/login' },
        {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ usr: 'Administrator', pwd }),
        },
      );
    assert.equal((await login(AWKWARD_PASSWORD)).status, 200);
    assert.equal((await login(`${AWKWARD_PASSWORD}!`)).status, 401);
  });

  test('each pod of a bench and of its sites is selected by one NetworkPolicy', async () => {
    const policies = await cluster.list('NetworkPolicy', namespace);
    const names = policies.map(({ metadata }) => metadata.name);
    const suffixes = ['db', 'deny-ingress', 'gunicorn', 'metrics', 'nginx', 'redis', 'socketio'];
    const wanted = ['plain', 'strange'].flatMap((bench) => suffixes.map((of) => `${bench}-${of}`));
    assert.deepEqual(names, [...wanted, 'plain-egress'].sort());
    const limited = policies.filter(({ metadata }) => metadata.name !== 'plain-egress');
    for (const policy of limited) assert.deepEqual(at(policy, 'spec.policyTypes'), ['Ingress']);
    const pods = await Promise.all(limited.map((policy) => selected(policy, 'spec.podSelector')));
    const all = (await cluster.pods(namespace)).map(({ metadata }) => metadata.name);
    assert.deepEqual(
      pods.flat().sort(),
      all.filter((name) => !['outside', 'scraper'].includes(name)).sort(),
    );
  });

  test('NetworkPolicies of servers admit the bench and its sites only', async () => {
    for (const name of ['plain-db', 'plain-redis', 'strange-db', 'strange-redis']) {
      const policy = await cluster.the('NetworkPolicy', namespace, name);
      const bench = name.startsWith('plain') ? 'plain' : 'strange';
      assert.deepEqual(await selected(policy, 'spec.podSelector'), [`${name}-0`]);
      const ports = at(policy, 'spec.ingress[0].ports') as { readonly port: number }[];
      const service = await cluster.the('Service', namespace, name);
      const served = at(service, 'spec.ports') as { readonly port: number }[];
      assert.deepEqual(ports.map(({ port }) => port).sort(), served.map(({ port }) => port).sort());
      const inside = await selected(policy, 'spec.ingress[0].from[0].podSelector');
      const own = await podsWithVolume(`${bench}-sites`, `${bench}-`);
      assert.deepEqual(
        inside,
        own.filter((pod) => !/^\w+-(nginx|db|redis)-/.test(pod)),
      );
    }
  });

  test('only who needs it reaches a component', async () => {
    const elsewhere = await cluster.namespace();
    const keda = { 'app.kubernetes.io/name': 'keda-operator' };
    await cluster.apply('', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'keda' } });
    await cluster.apply('keda', outsidePod('keda', keda));
    await cluster.apply(elsewhere, outsidePod('false-keda', keda), outsidePod('outside'));
    const components = ['plain-nginx', 'plain-gunicorn', 'own-gunicorn'];
    const strangers = ['strange-nginx', 'strange-gunicorn', 'foreign-gunicorn'];
    const inside = await Promise.all(
      [...components, ...strangers].map((app) => runningPod(cluster, namespace, app)),
    );
    const places: readonly (readonly [string, string])[] = [
      [namespace, 'outside'],
      [elsewhere, 'outside'],
      [elsewhere, 'false-keda'],
      ['keda', 'keda'],
      [namespace, 'scraper'],
      ...inside.map((pod) => [namespace, pod] as const),
    ];
    for (const [where, pod] of places) {
      await cluster.becomes('Pod', where, pod, {
        what: 'runs',
        check: (live) => Object.is(at(live, 'status.phase'), 'Running'),
      });
    }
    const targets = [
      'plain-redis:6379',
      'plain-redis:6380',
      'plain-db:3306',
      'plain-nginx:8080',
      'plain-gunicorn:8000',
      'own-gunicorn:8000',
      'plain-socketio:9000',
      'plain-metrics:9180',
      'strange-nginx:8080',
      'strange-metrics:9180',
    ];
    const reaches = async ([where, pod]: (typeof places)[number]) => {
      const addresses = targets.map((target) => target.replace(':', `.${namespace}:`));
      const reached = await reachable(cluster, { namespace: where, pod }, addresses);
      const name = pod.replace(/-\w+-\w+$/, '');
      return [name, ...targets.filter((_, index) => reached.includes(addresses[index] ?? ''))];
    };
    const servers = ['plain-redis:6379', 'plain-redis:6380', 'plain-db:3306', 'plain-nginx:8080'];
    const web = ['plain-gunicorn:8000', 'own-gunicorn:8000', 'plain-socketio:9000'];
    assert.deepEqual(await Promise.all(places.map(reaches)), [
      ['outside', 'plain-nginx:8080', 'strange-metrics:9180'],
      ['outside', 'plain-nginx:8080', 'strange-metrics:9180'],
      ['false-keda', 'plain-nginx:8080', 'strange-metrics:9180'],
      ['keda', ...servers.slice(0, 2), 'plain-nginx:8080', 'strange-metrics:9180'],
      [
        'scraper',
        'plain-nginx:8080',
        'plain-metrics:9180',
        'strange-nginx:8080',
        'strange-metrics:9180',
      ],
      ['plain-nginx', 'plain-nginx:8080', ...web],
      ['plain-gunicorn', ...servers],
      ['own-gunicorn', ...servers],
      ['strange-nginx', 'plain-nginx:8080', 'strange-metrics:9180'],
      // What a page that is printed loads.
      ['strange-gunicorn', 'plain-nginx:8080', 'strange-nginx:8080', 'strange-metrics:9180'],
      ['foreign-gunicorn', 'plain-nginx:8080', 'strange-nginx:8080', 'strange-metrics:9180'],
    ]);
    await cluster.delete('Namespace', '', 'keda');
    await cluster.delete('Namespace', '', elsewhere);
  });

  test('no pod reaches a worker, whatever listens in it', async () => {
    const worker = await runningPod(cluster, namespace, 'plain-worker-default');
    const target = `${await addressOf(worker)}:7000`;
    const listen = 'timeout 120 python3 -m http.server 7000 >/dev/null 2>&1 &';
    await cluster.exec(namespace, worker, ['bash', '-c', listen]);
    const reach = async (pod: string, where = target): Promise<boolean> =>
      (await reachable(cluster, { namespace, pod }, [where])).length > 0;
    await cluster.until('it to listen', () => reach(worker, '127.0.0.1:7000'));
    const gunicorn = await runningPod(cluster, namespace, 'plain-gunicorn');
    const nginx = await runningPod(cluster, namespace, 'plain-nginx');
    const others = ['outside', 'scraper', gunicorn, nginx];
    assert.deepEqual(await Promise.all(others.map((pod) => reach(pod))), [
      false,
      false,
      false,
      false,
    ]);
  });

  test('with limited egress, pods reach DNS, servers and what is allowed only', async () => {
    const allowed = `${await addressOf('scraper')}:6379`;
    const denied = [`${await addressOf('outside')}:6379`, 'kubernetes.default:443'];
    const dns = `kube-dns.kube-system:53`;
    const needed = ['plain-db:3306', 'plain-redis:6379', 'plain-redis:6380', dns];
    const targets = [...needed, allowed, ...denied, 'strange-metrics:9180'];
    const apps = ['plain-gunicorn', 'plain-worker-default', 'own-gunicorn'];
    // What is denied answers after its timeout only.
    const reached = apps.map(async (app) => {
      const pod = await runningPod(cluster, namespace, app);
      return [app, await reachable(cluster, { namespace, pod }, targets)] as const;
    });
    assert.deepEqual(
      await Promise.all(reached),
      apps.map((app) => [app, [...needed, allowed]]),
    );
    // Another bench has no such limit.
    const free = await runningPod(cluster, namespace, 'strange-gunicorn');
    assert.deepEqual(await reachable(cluster, { namespace, pod: free }, [allowed, ...denied]), [
      allowed,
      ...denied,
    ]);
  });

  test('sites behind these policies answer who may reach their proxy', async () => {
    const get = 'exec 3<>"/dev/tcp/$1/8080" && printf "GET %s HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n"';
    const script = `${get} /api/method/ping "$2" >&3 && timeout 60 head -n 1 <&3`;
    for (const [bench, site] of [
      ['plain', 'own'],
      ['plain', 'joint'],
      ['strange', 'foreign'],
    ] as const) {
      const command = ['bash', '-c', script, 'get', `${bench}-nginx`, `${site}.example.com`];
      assert.match(await cluster.exec(namespace, 'scraper', command), /^HTTP\/1.1 200 /, site);
    }
  });

  test('redis refuses whoever has not its password', async () => {
    const secret = await cluster.the('Secret', namespace, 'plain-redis-auth');
    const password = Buffer.from(String(secret.data?.['password']), 'base64').toString();
    const pod = await runningPod(cluster, namespace, 'plain-gunicorn');
    const script = 'exec 3<>"/dev/tcp/plain-redis/$1" && cat >&3 && timeout 60 head -n 2 <&3';
    const commands = (port: number, input: string) =>
      cluster.exec(namespace, pod, ['bash', '-c', script, 'redis', String(port)], { input });
    for (const port of [6379, 6380]) {
      assert.match(await commands(port, 'PING\r\nKEYS *\r\n'), /^-NOAUTH[^\n]*\n-NOAUTH/);
      assert.match(await commands(port, 'AUTH wrong\r\nPING\r\n'), /^-WRONGPASS[^\n]*\n-NOAUTH/);
      assert.match(await commands(port, `AUTH ${password}\r\nPING\r\n`), /^\+OK\r?\n\+PONG/);
    }
  });

  test('workers take the jobs of their own site, or of all Shared ones', async () => {
    const jobs = await Promise.all(
      ['own', 'joint'].flatMap((site) => QUEUES.map((queue) => enqueue(site, queue))),
    );
    const soon = jobs.filter(({ site, queue }) => LACKING[site] !== queue);
    const late = jobs.filter(({ site, queue }) => LACKING[site] === queue);
    await Promise.all(soon.map(isDoneByItsWorker));
    // Idle workers of other sites do not take the job.
    await sleep(IDLE_MS);
    for (const { id } of late) assert.deepEqual(await takersOf(id), []);
    await cluster.patch('AppSite', namespace, 'own', replicas(LACKING['own'], 1));
    await cluster.patch('AppBench', namespace, 'plain', replicas(LACKING['joint'], 1));
    await Promise.all(late.map(isDoneByItsWorker));
  });

  test('no secret value is where others may read', async () => {
    const { exposed, values, places } = await exposedSecrets(cluster, namespace, lists);
    cluster.figures.add('security: secret values looked for', `${values}, in ${places} places`);
    // 2 of Redis, 2 of databases' roots, 3 of users, 3 keys, 3 administrators.
    assert.ok(values >= 13, `${values} values`);
    assert.deepEqual(exposed, []);
  });

  async function containersOf(bench: string, site: string): Promise<readonly Container[]> {
    const pods = await cluster.pods(namespace);
    return pods
      .filter(
        ({ metadata: { name } }) => name.startsWith(`${bench}-`) || name.startsWith(`${site}-`),
      )
      .filter((pod) => at(pod, 'status.phase') === 'Running')
      .flatMap((pod) =>
        (at(pod, 'spec.containers') as readonly { readonly name: string }[]).map(({ name }) => ({
          pod: pod.metadata.name,
          container: name,
        })),
      );
  }

  async function addressOf(pod: string): Promise<string> {
    return String(at(await cluster.the('Pod', namespace, pod), 'status.podIP'));
  }

  /** Names of the pods that a selector in a policy means. */
  async function selected(policy: Live, path: string): Promise<readonly string[]> {
    const labels = Object.entries(at(policy, `${path}.matchLabels`) ?? {});
    assert.ok(labels.length > 0, `${path} selects by labels`);
    const but = (at(policy, `${path}.matchExpressions`) ?? []) as readonly Requirement[];
    const selector = [
      ...labels.map((label) => label.join('=')),
      ...but.map(({ key, values }) => `${key} notin (${values.join(',')})`),
    ];
    const pods = await cluster.pods(namespace, selector.join(','));
    return pods.map(({ metadata }) => metadata.name).sort();
  }

  /** Names of the pods that mount a PersistentVolumeClaim, and of the pods with a prefix. */
  async function podsWithVolume(pvc: string, prefix: string): Promise<readonly string[]> {
    const pods = await cluster.pods(namespace);
    return pods
      .filter(
        (pod) =>
          pod.metadata.name.startsWith(prefix) ||
          JSON.stringify(at(pod, 'spec.volumes')).includes(`"claimName":"${pvc}"`),
      )
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  /** Puts a job into a queue as the site's own processes do. */
  async function enqueue(site: string, queue: string): Promise<Job> {
    const owner = site === 'own' ? site : 'plain';
    const pod = await runningPod(cluster, namespace, `${owner}-gunicorn`);
    const host = `${site}.example.com`;
    const job = { method: 'frappe.ping', queue, job_id: queue };
    const command = ['bench', '--site', host, 'execute', 'frappe.enqueue'];
    await cluster.exec(namespace, pod, [...command, '--kwargs', JSON.stringify(job)]);
    return {
      site,
      queue,
      id: `${host}${JOB_ID_SEPARATOR}${queue}`,
      worker: `${owner}-worker-${queue}`,
    };
  }

  async function isDoneByItsWorker({ id, worker }: Job): Promise<void> {
    const isDone = async (): Promise<boolean> => (await takersOf(`Job OK (${id})`)).length > 0;
    await cluster.until(`the job ${id} to be done`, isDone, JOB_MS);
    assert.deepEqual(await takersOf(id), [worker]);
  }

  /**
   * The workloads whose workers have logged some words: rq logs a job's id when it starts, and when
   * it is done.
   */
  async function takersOf(words: string): Promise<readonly string[]> {
    const pods = (await cluster.pods(namespace)).filter(
      (pod) => pod.metadata.name.includes('-worker-') && at(pod, 'status.phase') === 'Running',
    );
    const takers = await Promise.all(
      pods.map(async (pod) => {
        const log = await podLog(cluster, namespace, pod.metadata.name);
        return log.includes(words) ? [String(at(pod, 'metadata.labels.app'))] : [];
      }),
    );
    return takers.flat().sort();
  }
});

interface Requirement {
  readonly key: string;
  readonly values: readonly string[];
}

interface Container {
  readonly pod: string;
  readonly container: string;
}

interface Job {
  readonly site: string;
  readonly queue: string;
  /** As workers log it. */
  readonly id: string;
  /** The workload that must do it. */
  readonly worker: string;
}

/** The queue for which the site, or the bench of a Shared one, has no worker at first. */
const LACKING: Readonly<Record<string, string>> = { own: 'short', joint: 'long' };

function replicas(queue = '', count: number): object {
  const component = `worker${queue.charAt(0).toUpperCase()}${queue.slice(1)}`;
  return { spec: { componentReplicas: { [component]: count } } };
}

/** What the first process of a container may do, and whether the image's files can be written. */
const INSPECT = 'cat /proc/1/status; touch /proof 2>&1 || true';
