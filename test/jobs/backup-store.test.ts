import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../testbed/controlplane/ports.js';
import { type S3Server, startS3Server } from '../../testbed/s3/server.js';
import { companyProxy, strictStore } from './strict-store.js';
import { type Env, mounts, needs, temporaryDirectory } from './servers.js';
import {
  type Action,
  brokenWay,
  doInStore,
  failureInStore,
  PREFIX,
  s3Env,
  signedEnv,
  volumeEnv,
} from './store-fixture.js';

const NAME = '20250131T120000Z';
const LATER = '20250201T120000Z';
const MIB = 1 << 20;

describe('a store of backups', needs('python3'), () => {
  let server: S3Server;
  before(async () => {
    server = await startS3Server({ port: await freePort(), domain: 's3.test' });
  });
  after(() => server.stop());

  const stores: Readonly<Record<string, () => Env>> = {
    'on a volume': () => volumeEnv(),
    'in S3': () => s3Env(server, { STORE_PREFIX: 'a/b-1' }),
    'in S3, by host names': () =>
      s3Env(server, {
        STORE_PREFIX: 'hosts',
        S3_ENDPOINT: `http://s3.test:${String(server.port)}`,
        S3_PATH_STYLE: '0',
      }),
  };
  const keyless = ['in S3', 'in S3, by host names'];
  const ways = [
    ...Object.entries(stores).map(([where, envOf]) => [where, envOf, false] as const),
    ...keyless.map((where) => [where, stores[where] ?? assert.fail(), true] as const),
  ];
  for (const [where, envOf, isSigned] of ways) {
    const how = isSigned ? `${where}, without the access key` : where;
    test(`${how}: what is written is read, listed and removed`, async (t) => {
      const signed = isSigned ? await signedEnv(envOf()) : undefined;
      t.after(() => signed?.stop());
      const env = signed?.env ?? envOf();
      const sizes = [0, 1, 1000, 16 * MIB - 1, 16 * MIB, 16 * MIB + 1, 40 * MIB];
      const path = (size: number): string => `${NAME}/f${String(size)}.tar`;
      const written = await doInStore(
        env,
        sizes.map((size) => ['write', path(size), size]),
      );
      const read = await doInStore(
        env,
        sizes.map((size) => ['read', path(size)]),
      );
      assert.deepEqual(written, read);
      const [files, folders, none] = await doInStore(env, [
        ['files', NAME],
        ['folders'],
        ['files', 'other'],
      ]);
      const expected = sizes.map((size) => [`f${String(size)}.tar`, size]);
      assert.deepEqual([files, folders, none], [Object.fromEntries(expected), [NAME], {}]);
      assert.deepEqual(await doInStore(env, [['delete', NAME], ['delete', NAME], ['folders']]), [
        null,
        null,
        [],
      ]);
    });
  }

  test('signatures are for the Job’s own prefix only, and where it reads for reading only', async (t) => {
    const place = s3Env(server, { STORE_PREFIX: 'own' });
    await doInStore(place, [['write', `${NAME}/f`, 5]]);
    await doInStore({ ...place, STORE_PREFIX: 'own-not' }, [['write', `${NAME}/f`, 5]]);
    const reader = await signedEnv(place, 'Read');
    const writer = await signedEnv(place);
    t.after(() => Promise.all([reader.stop(), writer.stop()]));
    const cases: readonly (readonly [env: Env, action: Action, isSigned: boolean])[] = [
      [reader.env, ['read', `${NAME}/f`], true],
      [reader.env, ['write', `${NAME}/g`, 5], false],
      [reader.env, ['delete', NAME], false],
      [{ ...reader.env, STORE_PREFIX: 'own-not' }, ['read', `${NAME}/f`], false],
      [{ ...writer.env, STORE_PREFIX: 'own-not' }, ['folders'], false],
      [{ ...writer.env, STORE_PREFIX: 'own-not' }, ['delete', NAME], false],
      [{ ...writer.env, S3_BUCKET: 'other' }, ['folders'], false],
      [writer.env, ['read', '../own-not/f'], false],
      [writer.env, ['write', `${NAME}/g`, 5], true],
    ];
    for (const [env, action, isSigned] of cases) {
      if (isSigned) assert.equal((await doInStore(env, [action])).length, 1);
      else {
        const { reason, message } = await failureInStore(env, [action]);
        assert.deepEqual(
          [reason, message.endsWith('not signed')],
          ['StoreAccessDenied', true],
          message,
        );
      }
    }
  });

  test('access keys are used without a final line break, as `echo` writes it', async () => {
    const env = s3Env(server, {
      STORE_PREFIX: 'lines',
      S3_ACCESS_KEY_ID: `${server.keyId}\n`,
      S3_SECRET_ACCESS_KEY: `${server.secret}\n`,
    });
    assert.deepEqual(await doInStore(env, [['folders']]), [[]]);
  });

  test('memory does not grow with the file', async () => {
    const actions = [
      ['write', `${NAME}/files.tar`, 300 * MIB],
      ['memory'],
      ['delete', NAME],
    ] as const;
    const [, megabytes] = await doInStore(s3Env(server, { STORE_PREFIX: 'big' }), actions);
    assert.ok(Number(megabytes) < 130, `${String(megabytes)} MiB`);
  });

  test('lists more files than fit into one response', async () => {
    const folder = join(server.folder, 'backups', 'many');
    const names = Array.from({ length: 1200 }, (_, at) => `n${String(at).padStart(4, '0')}`);
    for (const name of names) {
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, 'x'), '');
    }
    const [folders] = await doInStore(s3Env(server, { STORE_PREFIX: 'many' }), [['folders']]);
    assert.deepEqual(folders, names);
  });

  test('a lost connection is followed by another one', async () => {
    const size = 40 * MIB;
    const up = await brokenWay(server.port, 3, 3 * MIB);
    const env = s3Env(server, { STORE_PREFIX: 'breaks', S3_ENDPOINT: up.endpoint });
    const [written] = await doInStore(env, [['write', `${NAME}/files.tar`, size]]);
    assert.equal(up.broken(), 3);
    up.close();
    const down = await brokenWay(server.port, 4, 5 * MIB);
    const again = { ...env, S3_ENDPOINT: down.endpoint };
    assert.deepEqual(await doInStore(again, [['read', `${NAME}/files.tar`]]), [written]);
    assert.equal(down.broken(), 4);
    down.close();
  });

  test('uploads of a killed writer are deleted with their folder, and no others', async () => {
    const env = s3Env(server, { STORE_PREFIX: 'killed' });
    const folder = join(server.folder, 'backups', '.sgwtmp', 'multipart');
    const uploads = () =>
      existsSync(folder) ? readdirSync(folder, { recursive: true }).sort() : [];
    const killed = async (name: string) => {
      const before = uploads().length;
      const begun = (): boolean => uploads().length > before;
      await doInStore(env, [['write', `${name}/files.tar`, 2000 * MIB]], begun);
      // The server stores the parts that it has received.
      let count: number;
      do {
        count = uploads().length;
        await sleep(3_000);
      } while (uploads().length !== count);
      return uploads();
    };
    const others = await killed(LATER);
    const all = await killed(NAME);
    assert.ok(others.length > 0 && all.length > others.length, 'both were killed');
    assert.deepEqual(await doInStore(env, [['delete', NAME], ['folders']]), [null, []]);
    assert.deepEqual(uploads(), others);
    await doInStore(env, [['delete', LATER]]);
    assert.deepEqual(uploads(), []);
  });

  test('every object and part has a checksum, and the encryption that the bucket demands', async (t) => {
    const rules = { checksums: true, encryption: 'aws:kms' };
    const strict = await strictStore(server.port, () => rules);
    t.after(strict.close);
    const place = { S3_ENDPOINT: strict.endpoint, STORE_PREFIX: 'strict' };
    const encryption = { S3_ENCRYPTION: 'aws:kms', S3_KMS_KEY_ID: 'alias/backups' };
    const signed = await signedEnv(s3Env(server, { ...place, ...encryption }));
    t.after(signed.stop);
    for (const env of [s3Env(server, { ...place, ...encryption }), signed.env]) {
      for (const size of [0, 5, 40 * MIB]) {
        assert.equal((await doInStore(env, [['write', `${NAME}/f.tar`, size]])).length, 1);
      }
    }
    const failure = await failureInStore(s3Env(server, place), [['write', `${NAME}/g.tar`, 5]]);
    assert.equal(failure.reason, 'StoreAccessDenied');
  });

  test('the store is reached through the proxy of the environment', async (t) => {
    const proxy = await companyProxy();
    t.after(proxy.close);
    const port = String(server.port);
    const way = { S3_ENDPOINT: `http://s3.test:${port}`, STORE_PREFIX: 'proxy' };
    const signed = await signedEnv(s3Env(server, way));
    t.after(signed.stop);
    const through = { ...signed.env, HTTP_PROXY: proxy.url };
    const write = [['write', `${NAME}/f.tar`, 40 * MIB]] as const;
    assert.equal((await doInStore(through, write)).length, 1);
    assert.ok(proxy.seen.includes(`PUT s3.test:${port}`), proxy.seen.join('\n'));
    proxy.seen.length = 0;
    const direct = { ...through, NO_PROXY: 'localhost,.test' };
    assert.equal((await doInStore(direct, write)).length, 1);
    assert.deepEqual(proxy.seen, []);
    const wrong = { ...signed.env, http_proxy: proxy.url.replace('p%40ss', 'wrong') };
    const { reason, message } = await failureInStore(wrong, [['folders']]);
    assert.equal(reason, 'StoreFailed');
    assert.match(message, /through the proxy 127.0.0.1:\d+: HTTP 407/);
    assert.ok(!message.includes('wrong'));
  });

  const faults: readonly (readonly [what: string, env: () => Env, reason: string, says: RegExp])[] =
    [
      [
        'a wrong secret',
        () => s3Env(server, { S3_SECRET_ACCESS_KEY: 'wrong' }),
        'StoreAccessDenied',
        /SignatureDoesNotMatch/,
      ],
      [
        'an unknown key',
        () => s3Env(server, { S3_ACCESS_KEY_ID: 'unknown' }),
        'StoreAccessDenied',
        /bucket backups at http/,
      ],
      [
        'another region',
        () => s3Env(server, { S3_REGION: 'eu-central-1' }),
        'StoreAccessDenied',
        /expecting "us-east-1"/,
      ],
      ['no such bucket', () => s3Env(server, { S3_BUCKET: 'nothing' }), 'BucketMissing', /nothing/],
      [
        'no server at the address',
        () => s3Env(server, { S3_ENDPOINT: 'http://127.0.0.1:9' }),
        'StoreUnreachable',
        /127.0.0.1:9: .*refused/,
      ],
      [
        'a prefix that leads out',
        () => ({ ...volumeEnv(), STORE_PREFIX: '../x' }),
        'InvalidInput',
        /x/,
      ],
      [
        'no volume',
        () => volumeEnv(join(temporaryDirectory(), 'missing')),
        'StoreFailed',
        /does not exist/,
      ],
    ];
  for (const [what, envOf, reason, message] of faults) {
    test(`${what} is reported as ${reason}`, async () => {
      const failure = await failureInStore(envOf(), [['folders']]);
      assert.equal(failure.reason, reason);
      assert.match(failure.message, message);
      assert.ok(!failure.message.includes(server.secret));
    });
  }

  test('a store with TLS needs a trusted authority', async () => {
    const folder = temporaryDirectory();
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'ca.crt')];
    const request = '-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=s3.test';
    const names = ['-addext', 'subjectAltName=DNS:s3.test'];
    execFileSync(
      'openssl',
      ['req', ...request.split(' '), ...names, '-keyout', key, '-out', cert],
      {
        stdio: 'ignore',
      },
    );
    const port = await freePort();
    const secure = await startS3Server({ port, tls: { cert, key } });
    const env = s3Env(secure, { S3_ENDPOINT: `https://s3.test:${String(port)}` });
    assert.equal((await failureInStore(env, [['folders']])).reason, 'StoreCertificateInvalid');
    const trusting = { ...env, S3_CA_FILE: cert };
    assert.deepEqual(await doInStore(trusting, [['folders']]), [[]]);
    const proxy = await companyProxy();
    const through = { ...trusting, HTTPS_PROXY: proxy.url };
    assert.deepEqual(await doInStore(through, [['folders']]), [[]]);
    assert.deepEqual(proxy.seen, [`CONNECT s3.test:${String(port)}`]);
    const wrong = { ...trusting, HTTPS_PROXY: proxy.url.replace('p%40ss', 'wrong') };
    const refused = await failureInStore(wrong, [['folders']]);
    assert.equal(refused.reason, 'StoreUnreachable');
    assert.match(refused.message, /through the proxy 127.0.0.1:\d+: Tunnel connection failed: 407/);
    proxy.close();
    await secure.stop();
  });

  test('a folder without a complete manifest is no backup', async () => {
    const root = temporaryDirectory();
    const folder = (name: string, manifest: unknown): void => {
      mkdirSync(join(root, PREFIX, name), { recursive: true });
      writeFileSync(join(root, PREFIX, name, 'files.tar'), 'abc');
      if (manifest === undefined) return;
      const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
      writeFileSync(join(root, PREFIX, name, 'manifest.json'), text);
    };
    const good = (name: string, size = 3) => ({
      version: 1,
      name,
      files: [{ name: 'files.tar', size, sha256: '' }],
    });
    folder('20250101T000000Z', good('20250101T000000Z'));
    folder('20250102T000000Z', undefined);
    folder('20250103T000000Z', '{"version": 1');
    folder('20250104T000000Z', good('20250104T000000Z', 4));
    folder('20250105T000000Z', good('20250101T000000Z'));
    folder('20250106T000000Z', { ...good('20250106T000000Z'), version: 2 });
    folder('20250107T000000Z', {
      ...good('20250107T000000Z'),
      files: [{ name: '../../x', size: 3 }],
    });
    folder('mine', good('mine'));
    assert.deepEqual(await doInStore(volumeEnv(root), [['backups']]), [['20250101T000000Z']]);
    assert.equal(readFileSync(join(root, PREFIX, 'mine', 'files.tar'), 'utf8'), 'abc');
  });

  test('a full volume is reported as StoreFull', async (context) => {
    const mount = temporaryDirectory();
    if (!mounts(context, mount, '1m')) return;
    const failure = await failureInStore(volumeEnv(mount), [
      ['write', `${NAME}/files.tar`, 2 * MIB],
    ]);
    assert.equal(failure.reason, 'StoreFull');
  });
});
