/**
 * Documents that the framework refuses, secrets, and what happens when the script is ended, crowded
 * or lied to. Facts: docs/contributing/frappe-16.md, Desk.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { parseFailure } from '../../constructs/kit/job-result.js';
import { VERSIONS } from '../../testbed/stand-in/image.js';
import { SCRIPTS, eventually, redisCli, runScript, temporaryDirectory } from '../jobs/servers.js';
import { Batch, MISSING, chart, describeDocuments, roles, user, workspace } from './documents.js';

const LONG = 'x'.repeat(150);

await describeDocuments('documents that fail', (get, version) => {
  const next = version === VERSIONS.next;
  const count = (like: string): number =>
    Number(get().sql(`SELECT COUNT(*) FROM \`tabUser\` WHERE \`name\` LIKE '${like}'`));

  it('reports the message of the framework for each document', async () => {
    const cases = [
      [user('a@example.com', { tables: roles('Blogger', 'No Such') }), 'LinkValidationError: Could not find Row #2: Role: No Such'],
      [user('b@example.com', { fields: { role_profile: 'Absent' } }), `LinkValidationError: Could not find ${next ? 'Row #1: ' : ''}Role Profile: Absent`],
      [user('c@example.com', { fields: { language: 'xx' } }), 'LinkValidationError: Could not find Language: xx'],
      [user('ada'), 'InvalidEmailAddressError: ada is not a valid Email Address'],
      [user('d@example.com', { fields: { first_name: '' } }), 'MandatoryError: Error: Value missing for User: First Name'],
      [user('e@example.com', { fields: { first_name: LONG } }), `CharacterLengthExceededError: User e@example.com: ' First Name ' (${LONG}) will get truncated, as max characters allowed is 140`],
      [user('Administrator'), 'NotAllowed: Administrator belongs to the framework'],
      [user('guest', { state: 'absent' }), 'NotAllowed: guest belongs to the framework'],
      [chart('F', { fields: { type: 'Circle' } }), 'ValidationError: Type cannot be "Circle". It should be one of "Line", "Bar", "Percentage", "Pie", "Donut", "Heatmap"'],
      [chart('G', { fields: { document_type: null } }), 'ValidationError: Document type is required to create a dashboard chart'],
      [chart('H', { fields: { document_type: 'System Settings' } }), 'ValidationError: You cannot create a dashboard chart from single DocTypes'],
      [chart('I', { json: {} }), 'MandatoryError: Error: Value missing for Dashboard Chart: Filters JSON'],
      [chart('J', { state: 'disabled' }), ''],
      [{ doctype: 'Dashboard', name: 'K' }, `MandatoryError: Error: Data missing in table${next ? '' : ':'} Charts`],
      [{ doctype: 'Nothing', name: 'L' }, 'DoesNotExistError: DocType Nothing not found'],
      [workspace('todo'), 'NameError: Name already taken, please set a new name'],
      [workspace('M', { json: { content: { a: 1 } } }), 'ValidationError: Content data shoud be a list'],
      [workspace('N', { tables: { charts: [{ chart_name: 'No chart' }] } }), 'LinkValidationError: Could not find Row #1: Chart Name: No chart'],
      [user('p@example.com', { secrets: { password: MISSING } }), 'NotAllowed: the Secret for password cannot be read, or does not exist'],
      [user('q@example.com', { secrets: { api_secret: '' } }), 'NotAllowed: the Secret for api_secret is empty'],
      [user('s@example.com', { secrets: { password: 'a\tb' } }), 'NotAllowed: the Secret for password has a tab in its value; store it without'],
      [user('r@example.com', { secrets: { password: 'x'.repeat(513) } }), 'NotAllowed: the password is longer than 512 characters'],
    ] as const; // prettier-ignore
    const good = user('good@example.com');
    const { results, output } = await get().run([...cases.map(([wanted]) => wanted), good]);
    for (const [{ name }, words] of cases) {
      const expected = words === '' ? ['Absent', ''] : ['Failed', words];
      assert.deepEqual([results[name]?.outcome, results[name]?.message], expected, output);
    }
    assert.equal(results['good@example.com']?.outcome, 'Created');
    assert.equal(count('_@example.com'), 0);
  });

  it('refuses to change what the framework fixes, and what it would not keep', async () => {
    await get().write(chart('Fixed'), user('first@example.com', { fields: { username: 'taken' } }));
    assert.equal(
      await get().refusal(chart('Fixed', { fields: { chart_type: 'Sum' } })),
      'CannotChangeConstantError: Value cannot be changed for Chart Type',
    );
    const second = user('second@example.com', {
      fields: { username: 'taken' },
      tables: roles('System Manager'),
    });
    // Written already when it is refused: the next one's commit must not keep it.
    const { results } = await get().run([second, user('after@example.com')]);
    const words = results['second@example.com']?.message ?? '';
    assert.match(words, /^NotKept: the site stores username as ''; .*already exists/);
    assert.deepEqual([count('second@%'), count('after@%')], [0, 1]);
    get().sql("UPDATE `tabRole` SET `disabled` = 1 WHERE `name` = 'Blogger'");
    assert.equal(
      await get().refusal(user('third@example.com', { tables: roles('Blogger') })),
      'NotKept: the site does not keep these rows of roles: [{"role": "Blogger"}]',
    );
    get().sql("UPDATE `tabRole` SET `disabled` = 0 WHERE `name` = 'Blogger'");
    if (get().stack.database.type === 'mariadb') {
      assert.match(await get().refusal(user('FIRST@example.com')), /^NotAllowed: the site has this User as 'first@example.com'/); // prettier-ignore
    }
  });

  it('fails what needs a document that failed, and what needs itself', async () => {
    const board = (name: string, ...needs: readonly (readonly [string, string])[]) => ({
      doctype: 'Dashboard',
      name,
      tables: { charts: [{ chart: 'Fixed' }] },
      needs: needs.map(([doctype, name]) => ({ doctype, name })),
    });
    const { results } = await get().run([
      board('Behind', ['Dashboard', 'Around']),
      board('Around', ['Dashboard', 'And around']),
      board('And around', ['Dashboard', 'Around']),
      board('Broken', ['Dashboard Chart', 'Bad'], ['Dashboard Chart', 'Fixed']),
      board('Far behind', ['Dashboard', 'Broken']),
      board('Alone', ['Dashboard Chart', 'Elsewhere']),
      chart('Bad', { fields: { type: 'Circle' } }),
    ]);
    const words = Object.entries(results).map(([name, { message }]) => [name, message]);
    const cycle = 'ReferenceCycle: this document and documents that it needs refer to each other';
    const needed = (what: string) => `NeedFailed: this document needs ${what}, which failed`;
    assert.deepEqual(Object.fromEntries(words.filter(([name]) => name !== 'Bad')), {
      Behind: needed('Dashboard Around'),
      Around: cycle,
      'And around': cycle,
      Broken: needed('Dashboard Chart Bad'),
      'Far behind': needed('Dashboard Broken'),
      Alone: '',
    });
  });

  it('does not remember of one document what is no longer true for the next', async () => {
    const speaker = (name: string) => user(name, { fields: { language: 'tlh' } });
    const { outcomes } = await get().run([
      speaker('early@example.com'),
      { doctype: 'Language', name: 'tlh' },
      speaker('late@example.com'),
    ]);
    const early = { 'early@example.com': 'Failed', tlh: 'Created', 'late@example.com': 'Created' };
    assert.deepEqual(outcomes, early);
  });

  it('sets passwords and API keys that differ, ends sessions, and never prints a secret', async () => {
    const name = 'secret@example.com';
    const secrets = { password: 'pa"ss <b>w0rd', api_key: 'key-0123', api_secret: 'hush-0123' };
    const wanted = (change: object = {}) => user(name, { secrets: { ...secrets, ...change } });
    const auth = (): string => get().sql(`SELECT \`fieldname\`, \`password\` FROM \`__Auth\` WHERE \`name\` = '${name}' ORDER BY \`fieldname\``); // prettier-ignore
    const opens = async (password: string): Promise<boolean> => {
      const login = { user: name, pwd: password };
      return (await get().execute('frappe.utils.password.check_password', login)).code === 0;
    };
    const decrypted = async (): Promise<string> => {
      const stored = { doctype: 'User', name, fieldname: 'api_secret' };
      return (await get().execute('frappe.utils.password.get_decrypted_password', stored)).output;
    };
    assert.deepEqual(await get().write(wanted()), { [name]: 'Created' });
    const before = auth();
    assert.deepEqual([await opens(secrets.password), await opens('another')], [true, false]);
    assert.match(await decrypted(), /hush-0123/);
    get().sql(`INSERT INTO \`tabSessions\` (\`sid\`, \`user\`) VALUES ('s1', '${name}')`);
    assert.deepEqual(await get().write(wanted()), { [name]: 'Unchanged' });
    assert.equal(auth(), before);
    assert.deepEqual(await get().write(wanted({ api_secret: 'hush-4567' })), { [name]: 'Changed' });
    assert.match(await decrypted(), /hush-4567/);
    const sessions = () => get().sql(`SELECT COUNT(*) FROM \`tabSessions\` WHERE \`user\` = '${name}'`); // prettier-ignore
    assert.equal(sessions(), '1');
    const changed = await get().run([wanted({ password: 'n3w one', api_secret: 'hush-4567' })]);
    assert.deepEqual(changed.outcomes, { [name]: 'Changed' });
    assert.deepEqual(
      [sessions(), await opens('n3w one'), await opens(secrets.password)],
      ['0', true, false],
    );
    const whenNew = { secretsWhenNew: ['password'] };
    const unread = user(name, { secrets: { password: MISSING }, ...whenNew });
    assert.deepEqual(await get().write({ ...wanted(), ...whenNew }), { [name]: 'Changed' });
    assert.deepEqual(await get().write(unread), { [name]: 'Unchanged' });
    assert.deepEqual([await opens('n3w one'), await opens(secrets.password)], [true, false]);
    await get().write({ doctype: 'User', name, state: 'absent' });
    assert.match(await get().refusal(unread), /the Secret for password cannot be read/);
    assert.deepEqual(await get().write({ ...wanted(), ...whenNew }), { [name]: 'Created' });
    assert.deepEqual([await opens('n3w one'), await opens(secrets.password)], [false, true]);
    get().sql(`INSERT INTO \`tabSessions\` (\`sid\`, \`user\`) VALUES ('s2', '${name}')`);
    await get().write(user(name, { fields: { enabled: false } }));
    assert.equal(sessions(), '0');
    // The framework repeats what is too long, and would have its HTML taken out.
    const { results, output, terminationMessage } = await get().run([
      user('thief@example.com', { secrets: { api_key: secrets.api_key } }),
      user('wordy@example.com', { secrets: { api_key: `hush<b>${'0123'.repeat(40)}` } }),
    ]);
    const words = [results['thief@example.com']?.message, results['wordy@example.com']?.message];
    assert.equal(words[0], 'UniqueValidationError: API Key must be unique');
    assert.match(
      words[1] ?? '',
      /^CharacterLengthExceededError: .* API Key ' \(\*\*\*\) will get truncated/,
    );
    const text = changed.output + changed.terminationMessage + output + terminationMessage;
    for (const secret of ['n3w one', 'hush', 'key-0123']) assert.ok(!text.includes(secret), text);
  });

  it('has the results of a hundred documents in 4096 bytes', async () => {
    const bad = (length: number) =>
      Array.from({ length }, (_, n) =>
        chart(`Chart ${String(n)} ${'of many '.repeat(10)}`, { fields: { type: `${LONG.slice(0, 100)} ${String(n * 7919)}` } }),
      ); // prettier-ignore
    const few = await get().run(bad(3));
    assert.match(few.terminationMessage, /^{"results"/);
    const many = await get().run(bad(100));
    assert.match(many.terminationMessage, /^gz:/);
    assert.ok(many.terminationMessage.length <= 4096, String(many.terminationMessage.length));
    const failed = Object.values(many.results).filter(({ outcome }) => outcome === 'Failed');
    assert.equal(failed.length, 100);
    assert.match(failed[0]?.message ?? '', /^ValidationError: Type cannot be/);
  });

  it('continues where it was killed; each document is complete or missing', async () => {
    const users = Array.from({ length: 200 }, (_, n) =>
      user(`many${String(n)}@example.com`, {
        tables: roles('Blogger'),
        secrets: { password: `password ${String(n)}`, api_secret: `secret ${String(n)}` },
      }),
    );
    const { site, stack } = get();
    const kept = `${site.env['DB_NAME'] ?? ''}|kept`; // in the site's own cache
    redisCli(stack.cache.port, stack.cache.password, 'SET', kept, '1');
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const before = count('many%');
      const script = join(SCRIPTS, 'site_documents.py');
      const running = stack.bench.daemon([stack.bench.python, script], {
        ...new Batch(site, users).env,
        TERMINATION_LOG: join(temporaryDirectory(), 'log'),
      });
      await eventually('some more users are there', () => count('many%') > before + 5);
      const { code } = await running.stop(signal);
      assert.equal(code, signal === 'SIGTERM' ? 143 : null, running.log());
    }
    const done = count('many%');
    assert.ok(done > 10 && done < 200, String(done));
    const { outcomes, output } = await get().run(users);
    const of = (what: string) => Object.values(outcomes).filter((one) => one === what).length;
    assert.deepEqual([of('Unchanged'), of('Created')], [done, 200 - done], output);
    const rows = (table: string, column: string) =>
      get().sql(`SELECT COUNT(*) FROM \`${table}\` WHERE \`${column}\` LIKE 'many%'`);
    assert.deepEqual([rows('tabHas Role', 'parent'), rows('__Auth', 'name')], ['200', '400']);
    assert.equal(redisCli(stack.cache.port, stack.cache.password, 'GET', kept), '1');
  });

  it('ends when its database stops, and the next Job processes the rest', async () => {
    const users = Array.from({ length: 200 }, (_, n) =>
      user(`lost${String(n)}@example.com`, { secrets: { password: `password ${String(n)}` } }),
    );
    const { stack } = get();
    const running = get().run(users);
    await eventually('some users are there', () => count('lost%') > 3);
    const name = get().site.env['DB_USER'] ?? '';
    stack.database.sql(
      stack.database.type === 'mariadb'
        ? `KILL USER '${name}'`
        : `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${name}'`,
    );
    const { code, lastLine } = await running;
    assert.deepEqual([code, /: (\w+):/.exec(lastLine)?.[1]], [1, 'DatabaseUnreachable']);
    const done = count('lost%');
    assert.ok(done < 200, String(done));
    const { outcomes } = await get().run(users);
    const created = Object.values(outcomes).filter((one) => one === 'Created');
    assert.equal(created.length, 200 - done);
  });

  it('ends with a reason when it cannot begin', async () => {
    const one = [user('begin@example.com')];
    const reason = async (env: Readonly<Record<string, string>>) => {
      const { code, lastLine, terminationMessage } = await get().run(one, { WAIT_SECONDS: '0', ...env }); // prettier-ignore
      assert.equal(code, 1);
      assert.equal(lastLine, terminationMessage);
      return parseFailure(lastLine)?.reason;
    };
    const text = (content: string): string => {
      const path = join(temporaryDirectory(), 'documents.json');
      writeFileSync(path, content);
      return path;
    };
    assert.equal(await reason({ SITE_NAME: 'missing.example.com' }), 'SiteMissing');
    assert.equal(await reason({ SITE_NAME: '../etc' }), 'InvalidInput');
    assert.equal(await reason({ DOCUMENTS: text('{') }), 'InvalidInput');
    assert.equal(await reason({ DOCUMENTS: text('{"documents": [{"id": "1", "state": "gone"}]}') }), 'InvalidInput'); // prettier-ignore
    assert.equal(await reason({ FRAPPE_DB_PORT: '1' }), 'DatabaseUnreachable');
    const { bench } = get().stack;
    const lock = join(bench.sites, '.app-operator', `${get().site.name}.documents.lock`);
    const other = bench.daemon(['flock', '-F', lock, 'sleep', '60']);
    const held = () => runScript(['flock', '-n', lock, 'true'], bench.env);
    await eventually('the lock is held', async () => (await held()).code === 1);
    assert.equal(await reason({}), 'SiteBusy');
    await other.stop();
  });

  it('writes nothing into a site that another Job changes, or that is of another image', async () => {
    const { site, stack } = get();
    const closed = async (): Promise<void> => {
      const { code, lastLine } = await get().run([user('closed@example.com')], {
        IMAGE: 'image:1',
      });
      assert.deepEqual([code, /: (\w+):/.exec(lastLine)?.[1]], [1, 'SiteClosed'], lastLine);
      assert.equal(count('closed@%'), 0);
    };
    const marker = join(stack.bench.sites, site.name, '.app-operator.json');
    const text = readFileSync(marker, 'utf8');
    const known = JSON.parse(text) as object;
    for (const change of [{ upgrade: { from: 'a', to: 'b' } }, { code: { image: 'image:2' } }]) {
      writeFileSync(marker, JSON.stringify({ ...known, ...change }));
      await closed();
    }
    writeFileSync(marker, text);
    const lock = join(stack.bench.sites, '.app-operator', `${site.name}.lock`);
    const other = stack.bench.daemon(['flock', '-F', lock, 'sleep', '60']);
    const held = () => runScript(['flock', '-n', lock, 'true'], stack.bench.env);
    await eventually('the lock is held', async () => (await held()).code === 1);
    await closed();
    await other.stop();
    assert.deepEqual(await get().write(user('closed@example.com')), { 'closed@example.com': 'Created' }); // prettier-ignore
  });

  it('keeps other Jobs from changing the site while it writes', async () => {
    const { site } = get();
    const users = Array.from({ length: 300 }, (_, n) => user(`held${String(n)}@example.com`));
    const running = get().run(users);
    await eventually('some users are there', () => count('held%') > 3);
    const busy = await site.with({ LOCK_WAIT_SECONDS: '0' }).init();
    assert.match(busy.lastLine, /^app-operator: SiteBusy: /);
    assert.equal((await running).code, 0);
    assert.equal((await site.init()).code, 0);
  });
});
