import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { selfSigned } from '../../runner/http/certificate.js';
import type { Access } from '../../runner/api/endpoint.js';
import {
  loadCredentials,
  podNamespace,
  REFRESH_MS,
  refreshed,
} from '../../runner/api/credentials.js';
import { libraryReader } from '../../runner/api/kubeconfig-library.js';
import { contextsOf, readKubeconfig } from '../../runner/api/kubeconfig.js';

const pair = selfSigned({ commonName: 'x', hosts: [], now: Date.now() });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'credentials-'));
  await writeFile(path.join(folder, 'ca.crt'), pair.cert);
  await writeFile(path.join(folder, 'token'), 'from-a-file\n');
  await writeFile(path.join(folder, 'namespace'), 'ops');
});
after(() => rm(folder, { recursive: true }));

let files = 0;
async function kubeconfig(cluster: object, user: object): Promise<string> {
  const file = path.join(folder, `kubeconfig-${++files}`);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [
      { name: 'there', context: { cluster: 'other', user: 'other' } },
      { name: 'here', context: { cluster: 'c', user: 'u' } },
    ],
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

describe('credentials that rotate', () => {
  /** A reader of tokens that counts, and its clock. */
  function setUp() {
    const state = { now: 0, reads: 0, failure: undefined as Error | undefined, ca: 'one' };
    const credentials = refreshed(
      () => {
        state.reads++;
        if (state.failure) return Promise.reject(state.failure);
        return Promise.resolve({
          endpoint: { server: 'https://x', tls: { ca: Buffer.from(state.ca) } },
          headers: { authorization: `Bearer ${state.reads}` },
        });
      },
      () => state.now,
    );
    const token = async (): Promise<string | undefined> =>
      (await credentials.access()).headers['authorization'];
    return { state, credentials, token };
  }

  test('are read again after a time', async () => {
    const { state, token } = setUp();
    assert.equal(await token(), 'Bearer 1');
    state.now = REFRESH_MS - 1;
    assert.equal(await token(), 'Bearer 1');
    state.now = REFRESH_MS;
    assert.equal(await token(), 'Bearer 2');
  });

  test('are read once by many who ask together', async () => {
    const { state, token } = setUp();
    await Promise.all([token(), token(), token()]);
    assert.equal(state.reads, 1);
  });

  test('are read at once after they were refused', async () => {
    const { credentials, token } = setUp();
    await token();
    credentials.invalidate();
    assert.equal(await token(), 'Bearer 2');
    assert.equal(await token(), 'Bearer 2');
  });

  test('are kept while they cannot be read, unless they were refused', async () => {
    const { state, credentials, token } = setUp();
    await token();
    state.failure = new Error('being replaced');
    state.now = REFRESH_MS;
    assert.equal(await token(), 'Bearer 1');
    credentials.invalidate();
    await assert.rejects(token(), /being replaced/);
  });

  test('keep their connections until what connections are made of changes', async () => {
    const { state, credentials } = setUp();
    const { endpoint } = await credentials.access();
    state.now = REFRESH_MS;
    assert.equal((await credentials.access()).endpoint, endpoint);
    state.ca = 'two';
    state.now = 2 * REFRESH_MS;
    assert.notEqual((await credentials.access()).endpoint, endpoint);
  });
});

describe('in a pod', () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

  test('the service account is used', async () => {
    const { endpoint, headers } = await (await loadCredentials(undefined, env, folder)).access();
    assert.equal(endpoint.server, 'https://10.0.0.1:443');
    assert.equal(endpoint.tls.ca?.toString(), pair.cert);
    assert.deepEqual(headers, { authorization: 'Bearer from-a-file' });
  });

  test('the address may be of IPv6', async () => {
    const v6 = { ...env, KUBERNETES_SERVICE_HOST: 'fd00::1' };
    const { endpoint } = await (await loadCredentials(undefined, v6, folder)).access();
    assert.equal(endpoint.server, 'https://[fd00::1]:443');
  });

  test('a kubeconfig that is named wins', async () => {
    const file = await kubeconfig({}, { token: 't' });
    const { endpoint } = await (await loadCredentials(file, env, folder)).access();
    assert.equal(endpoint.server, 'https://127.0.0.1:6443');
  });

  test('a service account that is not mounted is an error at the start', async () => {
    await assert.rejects(loadCredentials(undefined, env, '/nowhere'), /ENOENT/);
  });

  test('the namespace is known, and elsewhere it is not', () => {
    assert.equal(podNamespace(folder), 'ops');
    assert.equal(podNamespace('/nowhere'), undefined);
  });
});

describe('a kubeconfig with plain credentials', () => {
  const cases: readonly (readonly [string, object, object])[] = [
    ['a token', {}, { token: 't' }],
    ['a password', {}, { username: 'u', password: 'p' }],
    ['nothing', {}, {}],
    [
      'a client certificate',
      { 'certificate-authority-data': base64(pair.cert) },
      { 'client-certificate-data': base64(pair.cert), 'client-key-data': base64(pair.key) },
    ],
    ['files beside it', { 'certificate-authority': 'ca.crt' }, { token: 't' }],
    ['an unverified server', { 'insecure-skip-tls-verify': true }, { token: 't' }],
    ['another server name', { 'tls-server-name': 'kubernetes' }, { token: 't' }],
    ['a proxy', { 'proxy-url': 'http://127.0.0.1:3128' }, { token: 't' }],
    ['impersonation', {}, { token: 't', as: 'jane' }],
  ];
  for (const [what, cluster, user] of cases) {
    test(`is read without the library and as by it: ${what}`, async () => {
      const file = await kubeconfig(cluster, user);
      const plain = readKubeconfig(file);
      assert.ok(plain);
      assert.deepEqual(plain, await libraryReader(file)(false));
    });
  }

  test('may have its token in a file', async () => {
    const file = await kubeconfig({}, { tokenFile: 'token' });
    assert.deepEqual(readKubeconfig(file)?.headers, { authorization: 'Bearer from-a-file' });
  });

  test('that has no such context is an error', async () => {
    const file = path.join(folder, 'empty');
    await writeFile(file, '{"current-context":"a"}');
    assert.throws(() => readKubeconfig(file), /empty: no server for the current context "a"/);
  });
});

describe('a kubeconfig with several contexts', () => {
  const config = (name: string, namespace?: string) => ({
    contexts: [
      { name, context: { cluster: name, user: name, ...(namespace ? { namespace } : {}) } },
    ],
    clusters: [{ name, cluster: { server: `https://${name}.example.com` } }],
    users: [{ name, user: { token: `token-of-${name}` } }],
  });
  const written = async (name: string, content: object): Promise<string> => {
    const file = path.join(folder, name);
    await writeFile(file, JSON.stringify(content));
    return file;
  };

  test('is read by the requested context, with the library and without', async () => {
    const [one, two] = [config('one'), config('two', 'shop')];
    const both = {
      'current-context': 'one',
      contexts: [...one.contexts, ...two.contexts],
      clusters: [...one.clusters, ...two.clusters],
      users: [...one.users, ...two.users],
    };
    const file = await written('both', both);
    assert.equal(readKubeconfig(file)?.endpoint.server, 'https://one.example.com');
    assert.equal(readKubeconfig(file, 'two')?.endpoint.server, 'https://two.example.com');
    assert.deepEqual(readKubeconfig(file, 'two'), await libraryReader(file, 'two')(false));
    assert.throws(() => readKubeconfig(file, 'three'), /no server for the context "three"/);
    const { headers } = await (await loadCredentials(file, {}, undefined, 'two')).access();
    assert.equal(headers['authorization'], 'Bearer token-of-two');
  });

  test('and the namespaces of them, of several files the first counts', async () => {
    const files = [
      await written('first', { ...config('a', 'of-the-first'), 'current-context': '' }),
      path.join(folder, 'not-there'),
      await written('second', { ...config('a', 'of-the-second'), 'current-context': 'a' }),
    ];
    const { current, namespaces } = contextsOf(files.join(path.delimiter));
    assert.equal(current, 'a');
    assert.deepEqual([...namespaces], [['a', 'of-the-first']]);
  });
});

describe('a kubeconfig for the library', () => {
  const access = async (file: string): Promise<Access> =>
    (await loadCredentials(file, {})).access();

  test('runs a plug-in', async () => {
    const command = path.join(folder, 'plug-in');
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'from-a-plug-in' },
    };
    await writeFile(command, `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`);
    await chmod(command, 0o755);
    const apiVersion = 'client.authentication.k8s.io/v1';
    const file = await kubeconfig({}, { exec: { apiVersion, command, args: [] } });
    assert.equal(readKubeconfig(file), undefined);
    assert.equal((await access(file)).headers['authorization'], 'Bearer from-a-plug-in');
  });

  test('may be several files', async () => {
    const [first, second] = [path.join(folder, 'first'), path.join(folder, 'second')];
    await writeFile(
      first,
      JSON.stringify({
        'current-context': 'x',
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server: 'https://c' } }],
        users: [],
      }),
    );
    await writeFile(
      second,
      JSON.stringify({ contexts: [], clusters: [], users: [{ name: 'u', user: { token: 't' } }] }),
    );
    const { endpoint, headers } = await access([first, second].join(path.delimiter));
    assert.equal(endpoint.server, 'https://c');
    assert.equal(headers['authorization'], 'Bearer t');
  });

  test('of several files a missing one is skipped, and the first entry with a name counts', async () => {
    const one = await kubeconfig({ server: 'https://one' }, { token: 'one' });
    const two = await kubeconfig({ server: 'https://two' }, { token: 'two' });
    const none = path.join(folder, 'not-there');
    const empty = path.join(folder, 'nothing');
    await writeFile(empty, '');
    for (const several of [
      [one, none],
      [none, one, two],
      [empty, one],
    ]) {
      const { endpoint, headers } = await access(several.join(path.delimiter));
      assert.equal(endpoint.server, 'https://one');
      assert.equal(headers['authorization'], 'Bearer one');
    }
    await assert.rejects(
      access([none, none].join(path.delimiter)),
      /not-there: no such file, or empty/,
    );
  });

  test('the current context is that of the first file that has one', async () => {
    const users = path.join(folder, 'users');
    await writeFile(users, JSON.stringify({ users: [{ name: 'u', user: { token: 'other' } }] }));
    const file = await kubeconfig({}, { token: 't' });
    const { headers } = await access([users, file].join(path.delimiter));
    assert.equal(headers['authorization'], 'Bearer other');
  });

  test('reports a plug-in that is missing, that fails, and whose output is no JSON', async () => {
    const script = path.join(folder, 'failing');
    const apiVersion = 'client.authentication.k8s.io/v1';
    const file = await kubeconfig({}, { exec: { apiVersion, command: script, args: [] } });
    await assert.rejects(access(file), {
      message: `kubeconfig: plug-in ${script}: not found; install it, or choose another context`,
    });
    for (const [body, problem] of [
      ['echo log in again >&2; exit 1', 'log in again'],
      ['exit 1', 'no output on standard error'],
      ['echo token-in-text', 'its output is not JSON'],
    ] as const) {
      await writeFile(script, `#!/bin/sh\n${body}\n`);
      await chmod(script, 0o755);
      await assert.rejects(access(file), {
        message: `kubeconfig: plug-in ${script}: ${problem}`,
      });
    }
  });

  test('that is not YAML is named, without its content', async () => {
    const file = path.join(folder, 'broken');
    await writeFile(file, 'users: [{ name: u, user: { token: secret-token\n');
    const isNamed = ({ message }: Error): boolean =>
      message.startsWith(`${file}: not YAML: `) && !/secret-token|\n/.test(message);
    assert.throws(() => readKubeconfig(file), isNamed);
    assert.throws(() => contextsOf(file), isNamed);
  });
});
