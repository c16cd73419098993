import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { renderFile } from '../../cli/testing.js';
import { runProgram } from '../../cli/program.js';
import type { IOStreams } from '../../cli/io/streams.js';
import { toYaml } from '../../cli/io/yaml.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { VERSION } from '../../runner/kit/version.js';
import { API_VERSION, bench, MINIMAL, namesIn, objectsIn, site } from '../unit/render-manifests.js';

const MAIN = fileURLToPath(new URL('../../app-operator/main.js', import.meta.url));
const EXAMPLES = fileURLToPath(new URL('../../../../examples/', import.meta.url));

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Variables = Readonly<Record<string, string>>;

/** Runs the command line, as a process of its own. */
function appOperator(args: readonly string[], input = '', env: Variables = {}): Promise<Result> {
  return new Promise((resolve) => {
    const options = { cwd: dir, maxBuffer: 2 ** 26, env: { ...process.env, ...env } };
    const child = execFile(process.execPath, [MAIN, ...args], options, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out, err });
    });
    child.stdin?.end(input);
  });
}

/** Runs the command line in this process: a process of its own takes half a second. */
async function inProcess(
  args: readonly string[],
  input: string | Uint8Array = '',
  env: Variables = {},
): Promise<Result> {
  let out = '';
  let err = '';
  const io: IOStreams = {
    program: 'app-operator',
    env,
    colours: false,
    columns: undefined,
    signal: new AbortController().signal,
    readStdin: async () => Buffer.from(input),
    write: (text) => {
      out += text;
    },
    progress: undefined,
    notify: (line) => {
      err += `${line}\n`;
    },
  };
  return { code: await runProgram(args, io), out, err };
}

const start = process.cwd();
let dir: string;
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'app-operator-render-'));
  process.chdir(dir);
});
after(() => {
  process.chdir(start);
  rmSync(dir, { recursive: true });
});

function write(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return name;
}

describe('app-operator render', () => {
  test('prints the examples, byte for byte like the test helper', async () => {
    const files = ['bench.yaml', 'site.yaml'].map((name) => join(EXAMPLES, name));
    const { code, out, err } = await appOperator([
      'render',
      ...files.flatMap((file) => ['-f', file]),
    ]);
    assert.equal(code, 0);
    assert.match(err, /^\S+bench.yaml:11: AppBench\/demo-bench: warning: .*ReadWriteOnce.*\n$/);
    assert.equal(out, renderFile(files));
    const text = files.map((file) => readFileSync(file, 'utf8')).join('---\n');
    assert.equal((await appOperator(['render', '--filename=-'], text)).out, out);
    assert.equal((await inProcess(['render', '-f', EXAMPLES])).out, renderFile(EXAMPLES));
  });

  test('reads JSON, lists and YAML like kubectl', async () => {
    const list = { apiVersion: 'v1', kind: 'List', items: [bench(), site()] };
    const { out } = await inProcess(['render', '-f', '-'], JSON.stringify(list));
    assert.deepEqual(namesIn(out).sort(), MINIMAL);
    const yaml = `${toYaml([bench()])}  paused: yes\n---\n# nothing\n---\n`;
    assert.equal((await inProcess(['render', '-f', '-'], yaml)).code, 0);
  });

  test('reads folders in folders with -R only', async () => {
    mkdirSync(join(dir, 'deep/sites'), { recursive: true });
    write('deep/bench.yaml', toYaml([bench()]));
    write('deep/sites/site.yml', toYaml([site()]));
    write('deep/README.md', 'no: [manifest');
    const flat = await inProcess(['render', '-f', 'deep']);
    assert.ok(!namesIn(flat.out).includes('Job/s-init'));
    const deep = await inProcess(['render', '-R', '-f', 'deep']);
    assert.deepEqual(namesIn(deep.out).sort(), MINIMAL);
  });

  test('prints the line of a problem, and no objects', async () => {
    write(
      'wrong.yaml',
      `${toYaml([bench()])}---
apiVersion: ${API_VERSION}
kind: AppSite
metadata:
  name: shop
spec:
  benchRef:
    name: nowhere
  siteName: shop.example.com
  componentReplicas:
    gunicorn: many
`,
    );
    const { code, out, err } = await inProcess(['render', '-f', 'wrong.yaml']);
    assert.deepEqual([code, out], [1, '']);
    assert.match(
      err,
      /^wrong\.yaml:17: AppSite\/shop: spec\.componentReplicas\.gunicorn: Invalid value: .*\n$/,
    );
  });

  test('skips other objects, with a note', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'p' } };
    const { code, out, err } = await inProcess(['render', '-f', '-'], toYaml([bench(), secret]));
    assert.equal(code, 0);
    assert.ok(namesIn(out).includes('Job/b-init'));
    assert.match(err, /^<stdin>:\d+: Secret\/p: skipped: not of the API group/m);
  });

  test('fails when the input has no resources', async () => {
    for (const input of ['', '# nothing\n', toYaml([{ apiVersion: 'v1', kind: 'Pod' }])]) {
      const { code, out, err } = await inProcess(['render', '-f', '-'], input);
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, /nothing to render/);
    }
  });

  const BENCH = toYaml([bench()]);
  const HELM = 'metadata:\n  name: {{ .Release.Name }}\n';
  const UNREADABLE: readonly (readonly [string, string | Buffer, RegExp])[] = [
    ['UTF-16 of Windows', Buffer.from(`\ufeff${BENCH}`, 'utf16le'), /encoding is UTF-16, expected/],
    ['UTF-16 without a mark', Buffer.from(BENCH, 'utf16le'), /encoding is UTF-16, expected UTF-8/],
    ['Latin-1', Buffer.from(`${BENCH}# caf\u00e9\n`, 'latin1'), /:7: not valid UTF-8/],
    ['a Helm template', BENCH.replace(/metadata[^]*?\n {2}.*\n/, HELM), /:4: the file is a template, not YAML: "\{\{ \.Release\.Name }}"; render it first/],
    ['a Helm template with blocks', `{{- if .Values.x }}\n${BENCH}{{- end }}\n`, /:1: the file is a template, not YAML: "\{\{- if \.Values\.x }}"/],
    ['a Jinja template', `{% for n in x %}\n${BENCH}{% endfor %}\n`, /:1: the file is a template, not YAML/],
    ['a template in quotes', BENCH.replace('version-15', "'{{ .Values.v }}'"), /:6: AppBench\/b: spec\.frameworkVersion: .*; the value comes from a template: "\{\{ \.Values\.v }}"/],
    ['a variable', BENCH.replace('version-15', '${VERSION}'), /:6: AppBench\/b: spec\.frameworkVersion: .*; the value comes from a template: "\$\{VERSION}"/],
    ['a key that is no text', `${BENCH}? {a: b}\n: c\n`, /:7: keys must be text: got \{"a":"b"}/],
  ]; // prettier-ignore
  for (const [what, content, message] of UNREADABLE) {
    test(`says what is wrong with ${what}`, async () => {
      const file = join(dir, 'input.yaml');
      writeFileSync(file, content);
      const { code, out, err } = await inProcess(['render', '-f', file]);
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, message);
      assert.equal(err.trim().split('\n').length, 1, err);
    });
  }

  test('takes text with braces in quotes as it is', async () => {
    const workspace = {
      apiVersion: API_VERSION,
      kind: 'SiteWorkspace',
      metadata: { name: 'w', annotations: { note: '{{ user }}' } },
      spec: { siteRef: { name: 's' }, title: '{{ title }}' },
    };
    const { code, err } = await inProcess(
      ['render', '-f', '-'],
      toYaml([bench(), site(), workspace]),
    );
    assert.equal(code, 0, err);
  });

  test('names the files beside the input that have what it lacks', async () => {
    mkdirSync(join(dir, 'parts'));
    const job = {
      apiVersion: API_VERSION,
      kind: 'SiteJob',
      metadata: { name: 'j' },
      spec: { siteRef: { name: 's' }, command: ['migrate'] },
    };
    write('parts/1-bench.yaml', toYaml([bench({}, 'other'), bench()]));
    write('parts/2-site.yaml', toYaml([site()]));
    write('parts/3-job.yaml', toYaml([job]));
    const { code, err } = await inProcess(['render', '-f', 'parts/3-job.yaml']);
    assert.equal(code, 1);
    assert.match(
      err,
      /^parts\/3-job\.yaml:7: SiteJob\/j: spec\.siteRef\.name: there is no AppSite "s"/m,
    );
    assert.match(
      err,
      /^found beside the input: add -f parts\/2-site\.yaml -f parts\/1-bench\.yaml$/m,
    );
  });

  test('notes what --serves leaves out, and what has no objects', async () => {
    const scaling = { enabled: true, minReplicas: 0, maxReplicas: 10, queueLength: 2 };
    const user = {
      apiVersion: API_VERSION,
      kind: 'SiteUser',
      metadata: { name: 'ada' },
      spec: { siteRef: { name: 's' }, email: 'ada@example.org', firstName: 'Ada' },
    };
    const tls = { ingress: { enabled: true, tls: { enabled: true, certManagerIssuer: 'le' } } };
    const input = toYaml([bench({ workerAutoscaling: { short: scaling } }), site(tls), user]);
    const document =
      'SiteUser/ada: renders to no objects: the operator writes it into the database of its site';
    const all = await inProcess(['render', '-f', '-'], input);
    assert.equal(all.code, 0);
    assert.match(all.err, new RegExp(`^<stdin>:\\d+: ${document}\n$`));
    const notes = async (serves: string) => {
      const { err } = await inProcess(['render', '-f', '-', `--serves=${serves}`], input);
      return err
        .trim()
        .replaceAll(/^<stdin>:\d+: /gm, '')
        .split('\n');
    };
    const keda = 'AppBench/b: asks for KEDA: its objects are left out without --serves keda';
    const issuer =
      'AppSite/s: asks for cert-manager: its objects are left out without --serves cert-manager';
    assert.deepEqual(await notes('none'), [keda, issuer, document]);
    assert.deepEqual(await notes('keda'), [issuer, document]);
    assert.deepEqual(await notes('keda,cert-manager'), [document]);
  });

  test('reports files that it cannot read', async () => {
    write('broken.yaml', 'a: [1,\nb: 2\n');
    write('text.yaml', 'just text\n');
    const { code, err } = await inProcess([
      ...['render', '-f', 'missing.yaml', '-f', 'broken.yaml', '-f', 'text.yaml'],
    ]);
    assert.equal(code, 1);
    assert.match(err, /^missing\.yaml: no such file or directory$/m);
    assert.match(err, /^broken\.yaml:\d: /m);
    assert.match(err, /^text\.yaml:1: not an object/m);
    symlinkSync('circle', join(dir, 'circle'));
    for (const [path, message] of [
      ['', '-f: got an empty path, allowed: a file, a folder, or -'],
      [
        'https://example.com/x.yaml',
        'https://example.com/x.yaml: URLs are not read; download the file first',
      ],
      [join(dir, 'circle'), `${join(dir, 'circle')}: too many symbolic links encountered (ELOOP)`],
      [join(dir, 'text.yaml/x'), `${join(dir, 'text.yaml/x')}: not a directory (ENOTDIR)`],
    ] as const) {
      const result = await inProcess(['render', `--filename=${path}`]);
      assert.deepEqual([result.code, result.err], [1, `${message}\n`]);
    }
  });

  test('accepts the settings flags of the operator', async () => {
    const input = toYaml([bench()]);
    const flags = ['--default-uid=2000', '--default-gid=3000', '--default-fsgroup=4000'];
    const { out } = await inProcess(['render', '-f', '-', ...flags], input);
    assert.match(out, /runAsUser: 2000/);
    assert.match(out, /runAsGroup: 3000/);
    assert.match(out, /fsGroup: 4000/);
  });

  test('reads APP_DEFAULT_* as the operator does, and a flag wins', async () => {
    const input = toYaml([bench()]);
    const env = { APP_DEFAULT_UID: '3001', APP_DEFAULT_GID: '3002', APP_DEFAULT_FSGROUP: '3003' };
    const { out } = await appOperator(['render', '-f', '-'], input, env);
    assert.match(out, /runAsUser: 3001/);
    assert.match(out, /runAsGroup: 3002/);
    assert.match(out, /fsGroup: 3003/);
    const flag = await inProcess(['render', '-f', '-', '--default-uid=4001'], input, env);
    assert.match(flag.out, /runAsUser: 4001/);
    assert.match(flag.out, /runAsGroup: 3002/);
    const empty = await inProcess(['render', '-f', '-'], input, { APP_DEFAULT_UID: '' });
    assert.match(empty.out, /runAsUser: 1001/);
    const wrong = await inProcess(['render', '-f', '-'], input, { APP_DEFAULT_UID: 'me' });
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /APP_DEFAULT_UID: got "me", allowed: an integer from 1/);
  });
});

describe('app-operator', () => {
  test('prints its version, its help, the CRDs and the install manifest', async () => {
    assert.equal((await appOperator(['version'])).out, `${VERSION}\n`);
    for (const args of [['--version'], ['-v'], ['-V'], ['render', '--version']])
      assert.deepEqual(await inProcess(args), { code: 0, out: `${VERSION}\n`, err: '' });
    assert.match((await inProcess(['help'])).out, /^Usage: app-operator COMMAND/);
    assert.match((await inProcess(['render', '--help'])).out, /^Usage:/);
    const crds = objectsIn((await inProcess(['crds', '--api-group=x.example.org'])).out);
    assert.equal(crds.length, DEFINITIONS.length);
    assert.ok(crds.every(({ metadata }) => metadata.name.endsWith('.x.example.org')));
    const flags = ['--image=r.example.org/op:2', '--replicas=2', '--namespaces=a,b'];
    const { out } = await inProcess(['install', ...flags]);
    assert.match(out, /image: r\.example\.org\/op:2/);
    assert.match(out, /replicas: 2/);
    assert.match(out, /--watch-namespaces=a,b/);
  });

  const WRONG: readonly (readonly [string[], RegExp])[] = [
    [['rendr'], /unknown command "rendr"/],
    [['help', 'rendr'], /unknown command "rendr"/],
    [['-f', 'x'], /unknown command "-f": the command comes first/],
    [['render', 'x.yaml'], /unexpected argument "x\.yaml": files need -f/],
    [['install', '--namespaces='], /--namespaces: got "", allowed: /],
    [['render'], /render needs -f/],
    [['render', '-f', 'x', '--serve=keda'], /--serve/],
    [['render', '-f', 'x', '--serves=helm'], /--serves: got "helm", allowed: keda/],
    [['render', '-f', 'x', '--serves=none,keda'], /--serves: got "none,keda", allowed: keda/],
    [['render', '-f', 'x', '--default-uid=root'], /--default-uid: got "root", allowed: an integer/],
    [['render', 'x.yaml'], /x\.yaml/],
    [['install', '--replicas=0'], /--replicas: got "0", allowed: an integer from 1/],
    [['install', '--namespaced'], /--namespaced needs --namespaces/],
    [['install', '--namespaces=A'], /--namespaces: got "A"/],
    [['install', '--image=a b'], /--image: got "a b"/],
    [['crds', '--api-group=x'], /--api-group: got "x"/],
    [['version', '--long'], /--long/],
  ];
  test('exits with 2 where its arguments are wrong', async () => {
    assert.deepEqual(await appOperator(['rendr']), await inProcess(['rendr']));
  });

  for (const [args, message] of WRONG) {
    test(`refuses ${args.join(' ')}`, async () => {
      const { code, out, err } = await inProcess(args);
      assert.deepEqual([code, out], [2, '']);
      assert.match(err, message);
      assert.match(err, /Usage: app-operator/);
    });
  }
});

describe('an output that cannot be written', { skip: process.platform !== 'linux' }, () => {
  /** Runs the command line on a device that is always full. */
  const onFull = (args: readonly string[], stream: 1 | 2) => {
    const full = openSync('/dev/full', 'w');
    const stdio = [...(['ignore', 'pipe', 'pipe'] as const)] as ('ignore' | 'pipe' | number)[];
    stdio[stream] = full;
    const options = { cwd: dir, stdio, encoding: 'utf8' } as const;
    const { status, stderr } = spawnSync(process.execPath, [MAIN, ...args], options);
    return { code: status, err: stderr };
  };
  const NO_SPACE = 'app-operator: cannot write the output: no space left on device (ENOSPC)\n';

  test('is one line, and an error', () => {
    for (const args of [
      ['crds'],
      ['version'],
      ['--help'],
      ['render', '-f', `${EXAMPLES}production-bench.yaml`],
    ])
      assert.deepEqual(onFull(args, 1), { code: 1, err: NO_SPACE });
    assert.deepEqual(onFull(['diff', '--help'], 1), { code: 2, err: NO_SPACE });
  });

  test('keeps the exit code where only messages are lost', () => {
    assert.equal(onFull(['nothing'], 2).code, 2);
    assert.equal(onFull(['render', '-f', 'missing.yaml'], 2).code, 1);
    assert.equal(onFull(['version'], 2).code, 0);
  });
});

describe('the examples', () => {
  const files = readdirSync(EXAMPLES).filter((file) => file.endsWith('.yaml'));
  for (const file of files) {
    test(`${file} says what it needs, and render says it too`, async () => {
      const [, needs = ''] =
        /^#.*\n# Needs: (.*)\n/.exec(readFileSync(EXAMPLES + file, 'utf8')) ?? [];
      const named = [...needs.matchAll(/\b([a-z-]+\.yaml)\b/g)].map(([, name = '']) => name);
      assert.ok(named.length > 0 || needs.startsWith('no other file'), needs);
      const alone = await inProcess(['render', '-f', EXAMPLES + file]);
      const [, hint = ''] = /^found beside the input: add (.*)$/m.exec(alone.err) ?? [];
      const found = hint
        .split(' ')
        .filter((word) => word.endsWith('.yaml'))
        .map((one) => basename(one));
      assert.deepEqual(
        [alone.code, found.filter((name) => !named.includes(name))],
        [found.length > 0 ? 1 : 0, []],
      );
      const all = await inProcess([
        'render',
        ...[file, ...named].flatMap((name) => ['-f', EXAMPLES + name]),
      ]);
      assert.equal(all.code, 0, all.err);
    });
  }
});
