/** site_job.py with a real MariaDB and the stand-in framework: what runs, its result, and how it ends. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type Env,
  eventually,
  plainEnv,
  jobCommand,
  runScript,
  temporaryDirectory,
} from './servers.js';
import { aSite, KEY, needsStandIn, type SiteJobs, TestServers } from './site-fixture.js';

interface Message {
  readonly exitCode?: number;
  readonly startTime: string;
  readonly completionTime?: string;
  readonly reason?: string;
  readonly log: string;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const PASSWORD = 'site "quoted\' pw';

/** An app with a command whose arguments choose its behaviour, and functions to call. */
const APP = `
import json, os, signal, subprocess, sys, time
import frappe

def says(**kwargs):
    return kwargs

def write(name, fail=False):
    frappe.db.sql("INSERT INTO \`tabProbe\` (name) VALUES (%s)", name)
    if fail:
        raise ValueError("after the write: " + name)

def leave(code):
    sys.exit(code)
`;

const COMMAND = `
import json, os, signal, subprocess, sys, time
def run(kind, *arguments):
    if kind == "print":
        print(json.dumps(arguments))
    elif kind == "config":
        print(open(os.environ["SITE_NAME"] + "/site_config.json").read())
        password = json.load(open(os.environ["SITE_NAME"] + "/site_config.json"))["db_password"]
        print("repr:", repr(password), "json:", json.dumps(password), "raw:", password, file=sys.stderr)
        print("x" * 65530 + password + "y" * 70000)
    elif kind == "long":
        for line in range(20000):
            print(f"line {line} " + "é" * 20)
    elif kind == "line":
        print("z" * 300000)
    elif kind == "parted":
        secret = json.load(open(os.environ["SITE_NAME"] + "/site_config.json"))["api_secret"]
        print("x" + secret * 10000)
    elif kind == "control":
        print("\\x1b[31mred\\x1b[0m a\\tb\\x00\\x07 \\ud800".encode("utf-8", "surrogatepass").decode("latin-1"))
        print("10%\\r20%\\rdone\\r")
        sys.stdout.buffer.write(b"\\xff\\xfe broken\\n")
    elif kind == "exit":
        sys.exit(int(arguments[0]))
    elif kind == "kill":
        os.kill(os.getpid(), int(arguments[0]))
    elif kind == "wait":
        print("waiting", flush=True)
        time.sleep(60)
    elif kind == "ignore":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("waiting", flush=True)
        time.sleep(60)
    elif kind == "polite":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        print("waiting", flush=True)
        time.sleep(60)
    elif kind == "child":
        child = subprocess.Popen(["sleep", "60"])
        print(child.pid, flush=True)
        if "stay" not in arguments:
            child.wait()
    elif kind == "ask":
        print(repr(sys.stdin.read()))
    elif kind == "secret":
        path = os.environ["SITE_NAME"] + "/site_config.json"
        config = {**json.load(open(path)), "api_secret": "brand new secret"}
        open(path, "w").write(json.dumps(config))
        print("it is: brand new secret")
`;

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${String(pid)}/status`, 'utf8'));
  } catch {
    return false;
  }
};

describe('site_job.py', needsStandIn('mariadbd', 'redis-server', 'python3'), () => {
  const servers = new TestServers('mariadb');
  let site: SiteJobs;
  before(async () => {
    await servers.start();
    site = aSite(servers.bench, servers.database);
    const made = await site.init();
    assert.equal(made.code, 0, made.output);
    const framework = join(servers.bench, 'apps/frappe/frappe');
    writeFileSync(join(framework, 'jobs.py'), APP);
    // The stand-in's helper knows no commands of apps: one more, before its own.
    const helper = join(framework, 'utils/bench_helper.py');
    const marker = 'if __name__ == "__main__":\n';
    const text = readFileSync(helper, 'utf8');
    const test = `${COMMAND}\n${marker}    if sys.argv[4:5] == ["test"]:\n        run(*sys.argv[5:])\n        sys.exit()\n\n`;
    writeFileSync(helper, text.replace(marker, test + marker));
  });
  after(() => servers.stop());

  const envOf = (env: Env): Env => ({
    BENCH_DIR: servers.bench,
    PYTHONPATH: join(servers.bench, 'apps/frappe'),
    SITE_NAME: site.name,
    ...env,
  });
  const command = jobCommand('site_job.py', {});

  async function run(env: Env) {
    const result = await runScript(command, envOf(env));
    assert.ok(Buffer.byteLength(result.terminationMessage) <= 4096);
    const message = JSON.parse(result.terminationMessage) as Message;
    assert.match(message.startTime, TIME);
    assert.match(message.completionTime ?? '', TIME);
    assert.equal(message.exitCode, result.code);
    return { ...result, message };
  }
  const test = (...args: readonly string[]): Env => ({
    JOB_COMMAND: JSON.stringify(['test', ...args]),
  });

  it('passes every argument to the program unchanged', async () => {
    const odd = [
      '',
      ' a  b ',
      "it's",
      '"q"',
      '$(touch /tmp/app-operator-pwned)',
      '`id`',
      '$HOME',
      '; id',
      'a\nb',
      '*',
      '漢',
      '--flag=1',
      '\\',
    ];
    const { code, output, message } = await run(test('print', ...odd));
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(output), odd);
    assert.deepEqual(JSON.parse(message.log), odd);
    assert.equal(message.reason, undefined);
    assert.ok(!existsSync('/tmp/app-operator-pwned'));
  });

  it('ends with the program’s exit code, or with its signal’s', async () => {
    for (const [args, expected] of [
      [['exit', '0'], 0],
      [['exit', '7'], 7],
      [['exit', '255'], 255],
      [['kill', '9'], 137],
      [['kill', '15'], 143],
    ] as const) {
      const { code, message } = await run(test(...args));
      assert.deepEqual([code, message.reason], [expected, undefined], args.join(' '));
    }
  });

  it('runs the framework’s own commands', async () => {
    const { code, output } = await run({ JOB_COMMAND: '["migrate"]' });
    assert.equal(code, 0, output);
    assert.match(readFileSync(site.path('migrations.txt'), 'utf8'), /15\.44\.2/);
  });

  it('calls a method with its keyword arguments, and prints what it returns', async () => {
    const kwargs = { text: 'it\'s "q" $(id) \n漢', list: [1, null, true], deep: { a: 1.5 } };
    const call = { JOB_METHOD: 'frappe.jobs.says', JOB_KWARGS: JSON.stringify(kwargs) };
    const { code, message } = await run(call);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(message.log), kwargs);
    const foreign = await run({ JOB_METHOD: 'os.system', JOB_KWARGS: '{"command": "id"}' });
    assert.equal(foreign.code, 1);
    assert.match(foreign.message.log, /App os is not installed$/);
    const leave = { JOB_METHOD: 'frappe.jobs.leave', JOB_KWARGS: '{"code": 9}' };
    assert.equal((await run(leave)).code, 9);
  });

  it('commits the changes of a method only if it returns', async () => {
    const write = (kwargs: object) =>
      run({ JOB_METHOD: 'frappe.jobs.write', JOB_KWARGS: JSON.stringify(kwargs) });
    const modules = () => servers.sqlOf(site, 'SELECT name FROM `tabProbe`').split('\n');
    assert.equal((await write({ name: 'Kept' })).code, 0);
    const failed = await write({ name: 'Lost', fail: true });
    assert.equal(failed.code, 1);
    assert.match(failed.message.log, /\nValueError: after the write: Lost$/);
    assert.ok(modules().includes('Kept') && !modules().includes('Lost'));
  });

  it('prints no password and no key of the site’s configuration', async () => {
    const { code, output, message } = await run(test('config'));
    assert.equal(code, 0, output);
    const redis = servers.redis.password;
    for (const secret of [PASSWORD, JSON.stringify(PASSWORD).slice(1, -1), KEY, redis]) {
      assert.ok(!output.includes(secret), secret);
      assert.ok(!message.log.includes(secret), secret);
    }
    assert.match(output, /"db_password": "\*\*\*"/);
    assert.match(output, /raw: \*\*\*/);
    assert.match(output, /x\*\*\*y/);
    // A secret that the command has set is not in the status.
    const set = await run(test('secret'));
    assert.equal(set.message.log, 'it is: ***');
  });

  it('keeps the last lines of long output, and prints all of it', async () => {
    const { output, message } = await run(test('long'));
    assert.equal(output.trimEnd().split('\n').length, 20_000);
    const lines = message.log.split('\n');
    assert.ok(lines.length > 20);
    assert.equal(lines.at(-1), `line 19999 ${'é'.repeat(20)}`);
    assert.equal(lines[0], `line ${String(20_000 - lines.length)} ${'é'.repeat(20)}`);
    const { output: one, message: last } = await run(test('line'));
    assert.equal(one.replaceAll('\n', '').length, 300_000);
    assert.match(last.log, /^z{3000,}$/);
  });

  it('splits a long line within no character and no secret', async () => {
    const file = site.path('site_config.json');
    const config = readFileSync(file, 'utf8');
    // A chunk ends within one of these characters.
    writeFileSync(
      file,
      JSON.stringify({ ...site.json('site_config.json'), api_secret: 'éééééééé' }),
    );
    const { output } = await run(test('parted'));
    writeFileSync(file, config);
    assert.match(output.replaceAll('\n', ''), /^x(\*{3}){10000}$/);
  });

  it('leaves colours, control characters and the steps of progress bars out of the last lines', async () => {
    const { message, output } = await run(test('control'));
    const lines = message.log.split('\n');
    assert.match(lines[0] ?? '', /^red a\tb /);
    assert.equal(lines[1], 'done');
    assert.equal(lines[2], '\ufffd\ufffd broken');
    assert.match(output, /\x1b\[31m/); // eslint-disable-line no-control-regex -- the colour is looked for
  });

  it('terminates a command that takes too long, and reports it', async () => {
    const { code, message } = await run({ ...test('wait'), TIMEOUT_SECONDS: '10' });
    assert.deepEqual([code, message.reason], [124, 'TimedOut']);
    const last = 'app-operator: bench test did not complete within 10 seconds';
    assert.equal(message.log, `waiting\n${last}`);
    const start = performance.now();
    const stubborn = { ...test('ignore'), TIMEOUT_SECONDS: '1', KILL_AFTER_SECONDS: '1' };
    assert.equal((await run(stubborn)).code, 124);
    assert.ok(performance.now() - start < 20_000);
  });

  /** Starts it, and waits until it prints that it waits. */
  async function started(args: readonly string[]) {
    const log = join(temporaryDirectory(), 'termination-log');
    const [file = '', ...rest] = command;
    const env = plainEnv(envOf({ ...test(...args), TERMINATION_LOG: log }));
    const child: ChildProcess = spawn(file, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await eventually('it has begun', () => output.includes('\n'));
    const message = () => JSON.parse(readFileSync(log, 'utf8')) as Message;
    return { child, exited, message, output: () => output };
  }

  it('passes SIGTERM to all processes of the program', async () => {
    const waits = await started(['wait']);
    waits.child.kill('SIGTERM');
    assert.equal(await waits.exited, 143);
    assert.deepEqual([waits.message().exitCode, waits.message().reason], [143, 'Terminated']);
    // A command that exits with 0 has not completed its work either.
    const polite = await started(['polite']);
    polite.child.kill('SIGTERM');
    assert.equal(await polite.exited, 143);
    const parent = await started(['child']);
    const pid = Number(parent.output());
    assert.ok(isAlive(pid));
    parent.child.kill('SIGTERM');
    assert.equal(await parent.exited, 143);
    await eventually('its child is ended', () => !isAlive(pid));
  });

  it('does not wait for processes that the program has left running', async () => {
    const start = performance.now();
    const { code, output } = await run(test('child', 'stay'));
    assert.equal(code, 0);
    assert.ok(performance.now() - start < 30_000);
    await eventually('it is ended', () => !isAlive(Number(output)));
  });

  it('leaves the output so far when it is killed', async () => {
    const killed = await started(['wait']);
    await eventually('the line is in the message', () => killed.message().log === 'waiting');
    const { pid = 0 } = killed.child;
    const children = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8');
    const orphans = children.trim().split(' ').map(Number);
    killed.child.kill('SIGKILL');
    await killed.exited;
    assert.equal(killed.message().exitCode, undefined);
    assert.match(killed.message().startTime, TIME);
    for (const pid of orphans) process.kill(pid, 'SIGKILL');
  });

  it('prevents changes of the site meanwhile, and blocks no other job', async () => {
    const waits = await started(['wait']);
    const busy = await site.with({ LOCK_WAIT_SECONDS: '0' }).init();
    assert.equal(busy.code, 1);
    assert.match(busy.lastLine, /^app-operator: SiteBusy: /);
    assert.equal((await run(test('print', 'beside it'))).code, 0);
    waits.child.kill('SIGTERM');
    await waits.exited;
    assert.equal((await site.init()).code, 0);
  });

  it('runs nothing while another Job changes the site', async () => {
    const lock = join(servers.bench, 'sites/.app-operator', `${site.name}.lock`);
    const holder = spawn('flock', ['-F', lock, 'sh', '-c', 'echo held; exec sleep 60']);
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    const { code, message } = await run(test('print', 'ran'));
    assert.deepEqual([code, message.reason], [1, 'SiteClosed']);
    holder.kill();
    await new Promise((resolve) => holder.once('exit', resolve));
  });

  it('provides no input', async () => {
    assert.equal((await run(test('ask'))).message.log, "''");
  });

  it('rejects invalid commands', async () => {
    for (const [env, expected] of [
      [{}, 'InvalidInput'],
      [{ JOB_COMMAND: '["a"]', JOB_METHOD: 'a.b' }, 'InvalidInput'],
      [{ JOB_COMMAND: 'migrate' }, 'InvalidInput'],
      [{ JOB_COMMAND: '[1]' }, 'InvalidInput'],
      [{ JOB_COMMAND: '["a\\u0000b"]' }, 'InvalidInput'],
      [{ JOB_METHOD: 'os.system("id")' }, 'InvalidInput'],
      [{ JOB_METHOD: 'a.b', JOB_KWARGS: '[1]' }, 'InvalidInput'],
      [{ ...test('print'), TIMEOUT_SECONDS: '1h' }, 'InvalidInput'],
      [{ ...test('print'), SITE_NAME: '../etc' }, 'InvalidInput'],
      [{ ...test('print'), SITE_NAME: 'none.example.com' }, 'SiteMissing'],
    ] as const) {
      const { code, message, output } = await run(env);
      assert.deepEqual([code, message.reason], [1, expected], output);
      assert.match(message.log, new RegExp(`^app-operator: ${expected}: `));
    }
  });

  it('runs nothing in a site that is being created or upgraded, or has data of another image', async () => {
    const marker = site.path('.app-operator.json');
    const text = readFileSync(marker, 'utf8');
    const known = JSON.parse(text) as object;
    for (const [change, reason] of [
      [{ upgrade: { from: 'a', to: 'b' } }, 'SiteClosed'],
      [{ state: 'creating' }, 'SiteIncomplete'],
      [{ code: { image: 'image:2' } }, 'SiteClosed'],
    ] as const) {
      writeFileSync(marker, JSON.stringify({ ...known, ...change }));
      const { code, message } = await run({ ...test('print', 'ran'), IMAGE: 'image:1' });
      assert.deepEqual([code, message.reason], [1, reason]);
      assert.ok(!message.log.includes('ran"'));
    }
    writeFileSync(marker, text);
    assert.equal((await run(test('print', 'ran'))).code, 0);
  });
});
