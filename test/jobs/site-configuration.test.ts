/**
 * site_configuration.py beside the Jobs that write the same files, against a real MariaDB and a real Redis. The
 * framework is a stand-in (testbed/stand-in, test code).
 */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { aStore, backUp } from './backup-fixture.js';
import {
  type Env,
  jobCommand,
  runScript,
  type ScriptResult,
  temporaryDirectory,
} from './servers.js';
import {
  aBench,
  aSite,
  needsStandIn,
  type SiteConfig,
  type SiteJobs,
  TestServers,
} from './site-fixture.js';

const SECRET = 'a Secret’s "value" $x\n';
const KEYS = 'app_operator_keys';

interface Entry {
  readonly key: string;
  readonly value?: unknown;
  /** Content of the Secret's key; null: the key does not exist. */
  readonly secret?: string | null;
  /** Why there is no file: the Secret does not exist. */
  readonly missing?: string;
  readonly format?: 'Text' | 'JSON';
}
type Outcome = readonly [
  ...[outcome: string, reason: string, message: string, keys: readonly string[]],
  leftOut?: readonly string[],
];

/** The Job, as its pod runs it. */
async function configure(
  bench: string,
  entries: readonly Entry[],
  env: Env = {},
): Promise<ScriptResult & { readonly outcome: Outcome | undefined }> {
  const values = temporaryDirectory();
  const config = entries.map(({ key, value, secret, missing, format = 'Text' }, index) => {
    if (missing !== undefined) return { key, reason: 'SecretMissing', missing };
    if (secret === undefined) return { key, value };
    if (secret !== null) writeFileSync(join(values, String(index)), secret);
    return { key, file: String(index), from: `key "k" of Secret "mail"`, format };
  });
  const all = {
    ...{ BENCH_DIR: bench, REQUEST: 'r', VALUES: values, SITE_CONFIG: JSON.stringify(config) },
    ...env,
  };
  const result = await runScript(jobCommand('site_configuration.py', all), all);
  const outcome =
    result.code === 0
      ? (JSON.parse(result.terminationMessage) as { results: { r: Outcome } }).results.r
      : undefined;
  return { ...result, outcome };
}

describe('site_configuration.py', needsStandIn('mariadbd', 'redis-server', 'python3'), () => {
  const servers = new TestServers('mariadb');
  before(() => servers.start());
  after(() => servers.stop());

  const identity = (site: SiteJobs): Env => ({
    SITE_NAME: site.name,
    SITE_OWNER: `team/${site.name.split('.')[0] ?? ''}`,
  });
  const set = (site: SiteJobs, ...entries: readonly Entry[]) =>
    configure(site.bench, entries, identity(site));
  const made = async (change: Env = {}): Promise<SiteJobs> => {
    const site = aSite(servers.bench, servers.database, change);
    const result = await site.init();
    assert.equal(result.code, 0, result.output);
    return site;
  };
  const change = (site: SiteJobs, keys: SiteConfig): void => {
    const config = { ...site.json('site_config.json'), ...keys };
    writeFileSync(site.path('site_config.json'), JSON.stringify(config));
  };

  it('sets, repairs and deletes keys, and leaves the others, also beside the init Job', async () => {
    const site = await made();
    const database = site.json('site_config.json')['db_password'];
    change(site, { mine: { x: 1 } });
    const first = await set(
      site,
      { key: 'allow_cors', value: ['https://a'] },
      { key: 'mail_password', secret: SECRET },
    );
    assert.deepEqual(first.outcome, ['Changed', '', '', ['allow_cors', 'mail_password']]);
    assert.doesNotMatch(first.output + first.terminationMessage, /a Secret’s/);
    const written = statSync(site.path('site_config.json')).ino;
    const again = await set(
      site,
      { key: 'mail_password', secret: SECRET },
      { key: 'allow_cors', value: ['https://a'] },
    );
    assert.deepEqual(again.outcome, ['Unchanged', '', '', []]);
    assert.equal(statSync(site.path('site_config.json')).ino, written, 'no second write');

    // By hand, in the pod.
    change(site, { allow_cors: '*', mine: 2 });
    const cors = { key: 'allow_cors', value: ['https://a'] };
    const repaired = await set(site, cors, { key: 'mail_password', secret: 'rotated-1' });
    assert.deepEqual(repaired.outcome?.[3], ['allow_cors', 'mail_password']);

    assert.equal((await site.init()).code, 0);
    const { allow_cors: origins, mail_password: password, mine } = site.json('site_config.json');
    assert.deepEqual([origins, password, mine], [['https://a'], 'rotated-1', 2]);

    const removed = await set(site, cors);
    assert.deepEqual(removed.outcome?.[3], ['mail_password']);
    const none = await set(site);
    assert.deepEqual(none.outcome?.[3], ['allow_cors']);
    const left = site.json('site_config.json');
    assert.deepEqual([left['mine'], left['db_password'], left[KEYS]], [2, database, undefined]);
    assert.equal('allow_cors' in left || 'mail_password' in left, false);
  });

  it('leaves out what cannot be used, which stays as it is, and sets all else', async () => {
    const site = await made();
    const literal = { key: 'a', value: 1 };
    const missing = await set(site, { key: 'b', secret: null }, literal);
    assert.deepEqual(missing.outcome, [
      ...['Changed', 'KeyMissing', 'b: key "k" of Secret "mail" does not exist; add the key'],
      ...[['a'], ['siteConfig[0]']],
    ]);
    const keys = (): unknown[] => ['a', 'b', KEYS].map((key) => site.json('site_config.json')[key]);
    assert.deepEqual(keys(), [1, undefined, ['a']]);
    assert.deepEqual((await set(site, { key: 'b', secret: 'B' }, literal)).outcome?.[3], ['b']);
    const broken = await set(
      site,
      { key: 'b', secret: '{"x": hunter2}', format: 'JSON' },
      { key: 'a', value: 2 },
      { key: 'c', missing: 'there is no Secret "c"' },
    );
    assert.deepEqual(broken.outcome, [
      ...['Changed', 'ValueInvalid'],
      'b: key "k" of Secret "mail" is not JSON, which its format says; there is no Secret "c"',
      ...[['a'], ['siteConfig[0]', 'siteConfig[2]']],
    ]);
    assert.doesNotMatch(broken.output + broken.terminationMessage, /hunter2/);
    assert.deepEqual(keys(), [2, 'B', ['a', 'b']]);
    // It is still the operator's: removed with its entry.
    assert.deepEqual((await set(site, literal)).outcome?.[3], ['a', 'b']);
    assert.deepEqual(keys(), [1, undefined, ['a']]);
  });

  it('takes no site that does not exist, is another owner’s, or has a link for its file', async () => {
    const none = aSite(servers.bench, servers.database);
    assert.match(
      (await set(none, { key: 'a', value: 1 })).lastLine,
      /^app-operator: SiteMissing: /,
    );
    const site = await made();
    const foreign = { ...identity(site), SITE_OWNER: 'team/other' };
    const refused = await configure(site.bench, [{ key: 'a', value: 1 }], foreign);
    assert.match(refused.lastLine, /^app-operator: SiteOwnedByOther: /);
    const target = join(temporaryDirectory(), 'target.json');
    writeFileSync(target, '{}');
    rmSync(site.path('site_config.json'));
    symlinkSync(target, site.path('site_config.json'));
    assert.equal((await set(site, { key: 'a', value: 1 })).code, 1);
    assert.equal(readFileSync(target, 'utf8'), '{}');
  });

  it('has the last word on its keys after a restore', async () => {
    const source = await made();
    await set(source, { key: 'mail_server', value: 'old.example.com' }, { key: 'gone', value: 1 });
    change(source, { by_hand: 7 });
    const store = aStore();
    backUp(servers, source, store);
    const site = await made();
    const wanted = { key: 'mail_server', value: 'new.example.com' };
    await set(site, wanted);
    const restore = { ...store.env, RESTORE_ID: 'aaaaaaaaaa', RESTORE_CONFIRMED: '1' };
    const result = await site.with(restore).init();
    assert.equal(result.code, 0, result.output);
    const keys = (): unknown[] => {
      const config = site.json('site_config.json');
      return ['mail_server', 'gone', 'by_hand', KEYS].map((key) => config[key]);
    };
    const expected = ['new.example.com', undefined, 7, ['mail_server']];
    assert.deepEqual(keys(), expected, 'also before the Job runs again');
    assert.deepEqual((await set(site, wanted)).outcome?.[0], 'Unchanged');
    assert.deepEqual(keys(), expected);
  });

  it('and the init Job of a bench keep each other’s keys', async () => {
    const bench = aBench('15.44.2', servers.redis);
    const file = join(bench, 'sites/common_site_config.json');
    mkdirSync(join(bench, 'assets'), { recursive: true });
    const common = (): SiteConfig => JSON.parse(readFileSync(file, 'utf8')) as SiteConfig;
    const redis = common()['redis_cache'];
    const init = {
      ...{ BENCH_DIR: bench, COMMON_CONFIG: '{"bench_id": "b"}' },
      ...{ REDIS_CACHE_URL: String(redis), REDIS_QUEUE_URL: String(redis) },
    };
    const entries = [
      { key: 'background_process_niceness', value: 30 },
      { key: 'developer_mode', value: 0 },
    ];
    const [first, second] = await Promise.all([
      configure(bench, entries),
      runScript(jobCommand('bench_init.py', init), init),
    ]);
    assert.deepEqual([first.code, second.code], [0, 0], first.output + second.output);
    const { bench_id: id, background_process_niceness: tick, developer_mode: mode } = common();
    assert.deepEqual([id, tick, mode, common()['redis_cache']], ['b', 30, 0, redis]);
    const removed = await configure(bench, entries.slice(1));
    assert.deepEqual(removed.outcome?.[3], ['background_process_niceness']);
    assert.ok(existsSync(file));
  });
});
