/**
 * One bench with a value for each setting. Each test reads a setting where it has its effect: in the
 * process, in an answer, in the file.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';

import { newAuthority } from '../../testbed/controlplane/certificate.js';
import { aSecret } from '../cluster/support/builders.js';
import { at, conditionOf, type Live, type Manifest } from '../cluster/support/objects.js';
import { standInMethod, standInOnly } from './framework.js';
import { type E2e, e2e, skip } from './harness.js';
import { cleanUp, runningPod, smallBench } from './support/benches.js';
import {
  folderOf,
  lasting,
  newPassword,
  secretValue,
  siteOf,
  SiteUser,
  sql,
} from './support/bench.js';
import { logIn, REFUSED_IN_CLEAR_TEXT } from './support/database-client.js';
import { ArgumentLists, exposedSecrets } from './support/exposed-secrets.js';
import { certificateSecret } from './support/tls-servers.js';

const MEBIBYTE = 2 ** 20;
const GUNICORN = { workers: 3, threads: 6, timeoutSeconds: 77, maxRequests: 60 } as const;
const CLAIMS = { files: 'ReadWriteMany', jobs: 'ReadWriteOnce', rows: 'ReadWriteOnce' } as const;
/** Changes with what was set. */
const HASH = 'status.siteConfig.hash';
const CLIENT = '198.51.100.7';
const SITE = 'shop.example.com';
const CONFIG = `/home/frappe/frappe-bench/sites/${SITE}/site_config.json`;
/** Longer than nginx waits for an answer. */
const [READ_TIMEOUT_SECONDS, SLEEP_SECONDS] = [10, 20];

suite('settings', { skip }, () => {
  let cluster: E2e;
  let namespace: string;
  let shop: SiteUser;
  let lists: ArgumentLists;
  const passwords = { first: newPassword(), second: newPassword(), ofBench: newPassword() };

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    lists = new ArgumentLists();
    const limits = { memory: '128Mi' };
    await cluster.apply(
      namespace,
      ...Object.entries(CLAIMS).map(([name, mode]) => aClaim(name, mode)),
      certificateSecret('server', newAuthority('database CA'), [
        `bench-db.${namespace}.svc.cluster.local`,
      ]),
      aSecret('mail', { password: passwords.first }),
      aSecret('of-bench', { token: passwords.ofBench }),
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'company' },
        data: { 'ca.crt': 'the certificate of an authority', 'google.json': '{"client_id": "ID"}' },
      },
      smallBench('bench', {
        deletionPolicy: 'Delete',
        gunicorn: { ...GUNICORN, maxRequestsJitter: 0 },
        proxy: {
          maxBodySize: '1Mi',
          readTimeoutSeconds: READ_TIMEOUT_SECONDS,
          responseHeaders: [{ name: 'X-Frame-Options', value: 'DENY; "$host" {}' }],
          realIPFrom: [`${cluster.node.network.hostAddress}/16`],
          realIPHeader: 'X-Client-Address',
        },
        redisConfig: { resources: { limits }, storage: { existingClaim: 'jobs' } },
        storage: { existingClaim: 'files' },
        dbConfig: {
          resources: { limits: { memory: '512Mi' } },
          storage: { existingClaim: 'rows' },
          settings: { max_connections: '77' },
          tls: { serverCertificateSecretRef: { name: 'server' } },
        },
        workers: [{ name: 'imports', queues: ['imports'], timeoutSeconds: 900, replicas: 1 }],
        schedulerTickIntervalSeconds: 30,
        componentPodTemplates: {
          gunicorn: {
            metadata: { annotations: { 'example.com/logs': 'json' } },
            spec: {
              volumes: [{ name: 'company', configMap: { name: 'company' } }],
              containers: [
                {
                  name: 'gunicorn',
                  env: [{ name: 'REQUESTS_CA_BUNDLE', value: '/company/ca.crt' }],
                  volumeMounts: [{ name: 'company', mountPath: '/company', readOnly: true }],
                },
                {
                  name: 'sidecar',
                  image: 'redis:7.2-alpine',
                  command: ['sleep', '100000'],
                  volumeMounts: [{ name: 'company', mountPath: '/company', readOnly: true }],
                },
              ],
            },
          },
        },
        siteConfig: [
          { key: 'bench_note', value: ['of the', { bench: true }] },
          { key: 'mail_server', value: 'of the bench' },
          { key: 'bench_token', valueFrom: { secretKeyRef: { name: 'of-bench', key: 'token' } } },
        ],
      }),
      siteOf('bench', 'shop', {
        workloads: 'Shared',
        deletionPolicy: 'Delete',
        siteConfig: [
          { key: 'mail_server', value: 'smtp.example.com' },
          { key: 'mail_password', valueFrom: { secretKeyRef: { name: 'mail', key: 'password' } } },
          {
            key: 'google_login',
            valueFrom: { configMapKeyRef: { name: 'company', key: 'google.json' }, format: 'JSON' },
          },
        ],
      }),
    );
    shop = new SiteUser(cluster, { namespace, bench: 'bench' }, 'shop');
    await cluster.ready('AppSite', namespace, 'shop', 300_000);
    await shop.answers();
  });

  after(async () => {
    lists.stop();
    await cleanUp(cluster, namespace);
  });

  suite('side by side', { concurrency: true }, () => {
    test('gunicorn has its processes, and replaces them after so many requests', async () => {
      const before = await gunicorn();
      assert.equal(before.workers.length, GUNICORN.workers);
      for (const argument of ['--threads=6', '--timeout=77', '--max-requests=60']) {
        assert.ok(before.command.includes(argument), before.command.join(' '));
      }
      await cluster.until('every process to be replaced', async () => {
        for (let sent = 0; sent < GUNICORN.maxRequests; sent++) {
          assert.equal(await shop.ping(), 200);
        }
        const { workers } = await gunicorn();
        return (
          workers.length === GUNICORN.workers && !workers.some((id) => before.workers.includes(id))
        );
      });
    });

    test('a body over the limit gets 413 of nginx, one below it reaches the site', async () => {
      assert.equal((await shop.upload('small.txt', 'x'.repeat(0.9 * MEBIBYTE))).status, 200);
      const answer = await request('/api/method/upload_file', {
        method: 'POST',
        body: 'x'.repeat(1.1 * MEBIBYTE),
      });
      assert.equal(answer.status, 413);
      assert.match(answer.body, /nginx/);
    });

    test(
      'an answer that takes too long gets 504, and each answer has the header',
      { skip: standInOnly('a method that sleeps') },
      async () => {
        const slow = await request(`${standInMethod('sleep')}?seconds=${SLEEP_SECONDS}`);
        assert.equal(slow.status, 504);
        for (const { headers } of [slow, await request('/api/method/ping')]) {
          assert.equal(headers['x-frame-options'], 'DENY; "$host" {}');
        }
      },
    );

    test(
      'a trusted proxy names the client; without trust it does not, and no pod is replaced',
      { skip: standInOnly('a method that shows the address of a client') },
      async () => {
        const client = async (): Promise<unknown> => {
          const headers = { 'x-client-address': CLIENT, 'x-forwarded-for': '198.51.100.8' };
          const path = standInMethod('client_address');
          const { body } = await request(path, { headers });
          return (JSON.parse(body) as { message: unknown }).message;
        };
        const before = await uids();
        assert.equal(await client(), CLIENT);
        await cluster.patch('AppBench', namespace, 'bench', {
          spec: { proxy: { realIPFrom: [] } },
        });
        await cluster.until(
          'the header to have no effect',
          async () => (await client()) !== CLIENT,
        );
        assert.match(String(await client()), /^10\./);
        assert.deepEqual(await uids(), before);
      },
    );

    test('both servers of Redis have their part of the memory limit', async () => {
      const limit = 128 * MEBIBYTE;
      assert.deepEqual(await redis('cache', 6379), [`${limit * 0.75}`, 'allkeys-lru']);
      assert.deepEqual(await redis('queue', 6380), [`${Math.floor(limit * 0.6)}`, 'noeviction']);
    });

    test('MariaDB has its settings, half of the memory limit, and no connection in clear text', async () => {
      const names = ['innodb_buffer_pool_size', 'max_connections', 'require_secure_transport'];
      const rows = await sql(
        cluster,
        shop.place,
        `SHOW VARIABLES WHERE Variable_name IN ('${names.join("', '")}')`,
      );
      assert.deepEqual(rows.sort(), [
        `innodb_buffer_pool_size\t${256 * MEBIBYTE}`,
        'max_connections\t77',
        'require_secure_transport\tON',
      ]);
      const site = await cluster.the('AppSite', namespace, 'shop');
      assert.equal(at(site, 'status.database.tls'), 'VerifyFull');
      const pod = await runningPod(cluster, namespace, 'bench-gunicorn');
      const password = await secretValue(cluster, namespace, 'bench-db-root', 'password');
      const server = { provider: 'mariadb', host: 'bench-db' } as const;
      const login = (encrypted: boolean): Promise<string> =>
        logIn(cluster, namespace, pod, { ...server, password, encrypted });
      assert.equal(await login(true), '1\n');
      await assert.rejects(login(false), REFUSED_IN_CLEAR_TEXT.mariadb);
    });

    test(
      'workers of an own queue run its jobs',
      { skip: standInOnly('a method that shows the configuration') },
      async () => {
        assert.equal(await shop.enqueue('imported', 'imports'), 200);
        await shop.stored(['imported']);
        assert.deepEqual(await configured('workers'), { imports: { timeout: 900 } });
        assert.equal(await configured('scheduler_tick_interval'), 30);
      },
    );

    test('the pod of gunicorn has the variable, the file, the sidecar and the annotation', async () => {
      const pod = await runningPod(cluster, namespace, 'bench-gunicorn');
      const environment = (await shell(pod, "tr '\\0' '\\n' </proc/1/environ")).split('\n');
      assert.ok(environment.includes('REQUESTS_CA_BUNDLE=/company/ca.crt'));
      for (const container of ['gunicorn', 'sidecar']) {
        const file = await shell(pod, 'cat /company/ca.crt', container);
        assert.equal(file, 'the certificate of an authority');
      }
      const { metadata } = await cluster.the('Pod', namespace, pod);
      assert.equal(metadata.annotations?.['example.com/logs'], 'json');
      const others = await cluster.pods(namespace, 'app=bench-nginx');
      assert.deepEqual(
        others.map((other) => other.metadata.annotations?.['example.com/logs']),
        [undefined],
      );
    });

    test('the volumes are the existing claims', async () => {
      const claims = await cluster.list('PersistentVolumeClaim', namespace);
      assert.deepEqual(claims.map(({ metadata }) => metadata.name).sort(), Object.keys(CLAIMS));
      const folders = await Promise.all(
        [
          ['files', path.join(SITE, 'site_config.json')],
          ['jobs', 'appendonlydir'],
          ['rows', 'mysql'],
        ].map(async ([claim = '', file = '']) =>
          path.join(await folderOf(cluster, namespace, claim), file),
        ),
      );
      assert.deepEqual(
        folders.filter((file) => !existsSync(file)),
        [],
      );
    });
  });

  test(
    'values and those of Secrets are where the framework reads them, and a changed one arrives without a restart',
    { skip: standInOnly('a method that shows the configuration') },
    async () => {
      assert.deepEqual(await configured('bench_note'), ['of the', { bench: true }]);
      assert.equal(await configured('bench_token'), passwords.ofBench);
      assert.equal(await configured('mail_server'), 'smtp.example.com');
      assert.deepEqual(await configured('google_login'), { client_id: 'ID' });
      assert.equal(await configured('mail_password'), passwords.first);
      const before = await uids();
      const site = await cluster.the('AppSite', namespace, 'shop');
      await cluster.figures.time('from a changed Secret to the framework', async () => {
        await cluster.apply(namespace, aSecret('mail', { password: passwords.second }));
        await cluster.until(
          'the framework to read the new value',
          async () => (await configured('mail_password')) === passwords.second,
        );
      });
      await cluster.becomes('AppSite', namespace, 'shop', {
        what: 'has noted it',
        check: (live) => at(live, HASH) !== at(site, HASH),
      });
      assert.deepEqual(await uids(), before);
    },
  );

  test(
    'a key that is changed by hand is set back, and keys of users stay',
    { skip: standInOnly('a method that shows the configuration') },
    async () => {
      const pod = await runningPod(cluster, namespace, 'bench-gunicorn');
      const bench = ['bench', '--site', SITE, 'set-config'];
      await exec(pod, [...bench, 'mail_server', 'smtp.attacker.example']);
      await exec(pod, [...bench, 'chosen_by_hand', 'kept']);
      // A web process of version 16 reads a site's configuration once in 60 s.
      await cluster.until(
        'the framework to read the changed value',
        async () => (await configured('mail_server')) === 'smtp.attacker.example',
      );
      const annotations = { 'app-operator.io/run-again': 'now' };
      await cluster.patch('AppSite', namespace, 'shop', { metadata: { annotations } });
      await cluster.until(
        'the key to be set back',
        async () => (await configured('mail_server')) === 'smtp.example.com',
      );
      const site = await cluster.becomes('AppSite', namespace, 'shop', {
        what: 'names the key',
        check: (live: Live) => at(live, 'status.siteConfig.repaired.keys[0]') === 'mail_server',
      });
      assert.equal(conditionOf(site, 'ConfigurationApplied')?.status, 'True');
      const file = JSON.parse(await exec(pod, ['cat', CONFIG])) as Record<string, unknown>;
      assert.equal(file['chosen_by_hand'], 'kept');
      assert.equal(file['mail_password'], passwords.second);
    },
  );

  test('no secret value is where others may read', async () => {
    const { exposed, values } = await exposedSecrets(cluster, namespace, lists);
    // The two of siteConfig, those of the site, of Redis and of the server, and its key.
    assert.ok(values >= 8, `${values} values`);
    assert.deepEqual(exposed, []);
  });

  test('the existing claims outlive the bench and its site', async () => {
    for (const [kind, name] of [
      ['AppSite', 'shop'],
      ['AppBench', 'bench'],
    ] as const) {
      await cluster.delete(kind, namespace, name);
      await cluster.deleted(kind, namespace, name, 180_000);
    }
    const claims = await cluster.list('PersistentVolumeClaim', namespace);
    assert.deepEqual(
      claims.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp]).sort(),
      Object.keys(CLAIMS).map((name) => [name, undefined]),
    );
  });

  function request(requestPath: string, options: Parameters<E2e['request']>[3] = {}) {
    return cluster.request(namespace, 'bench', { host: SITE, path: requestPath }, options);
  }

  function exec(pod: string, command: readonly string[], container = 'gunicorn'): Promise<string> {
    return cluster.exec(namespace, pod, command, { container });
  }

  function shell(pod: string, script: string, container?: string): Promise<string> {
    return exec(pod, ['sh', '-ec', script], container);
  }

  /** The arguments of the first process of gunicorn, and the ids of its children. */
  async function gunicorn(): Promise<{
    readonly command: readonly string[];
    readonly workers: readonly string[];
  }> {
    const pod = await runningPod(cluster, namespace, 'bench-gunicorn');
    const command = (await shell(pod, "tr '\\0' '\\n' </proc/1/cmdline")).split('\n');
    // A process may end meanwhile. The name of a program may have spaces.
    const stats = await shell(pod, "cat /proc/[0-9]*/stat 2>/dev/null | sed 's/ (.*)//' || true");
    const workers = stats.split('\n').flatMap((line) => {
      const [id = '', , parent] = line.split(' ');
      return parent === '1' ? [id] : [];
    });
    return { command, workers };
  }

  /** `maxmemory` and its policy, as the server itself has them. */
  async function redis(container: string, port: number): Promise<readonly string[]> {
    const read = (name: string): string =>
      `REDISCLI_AUTH=$REDIS_PASSWORD redis-cli -p ${port} CONFIG GET ${name}`;
    const script = ['maxmemory', 'maxmemory-policy'].map(read).join('; ');
    const lines = (await shell('bench-redis-0', script, container)).trim().split('\n');
    return [lines[1] ?? '', lines[3] ?? ''];
  }

  /** A key as the web processes of the framework read it. */
  async function configured(key: string): Promise<unknown> {
    const { status, body } = await shop.read(`${standInMethod('configured')}?key=${key}`);
    assert.equal(status, 200, body);
    return (JSON.parse(body) as { readonly message: unknown }).message;
  }

  /** Of the pods that serve. */
  async function uids(): Promise<readonly unknown[]> {
    const pods = lasting(await cluster.pods(namespace));
    return pods.map(({ metadata }) => metadata.uid).sort();
  }
});

function aClaim(name: string, accessMode: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: [accessMode], resources: { requests: { storage: '1Gi' } } },
  };
}
