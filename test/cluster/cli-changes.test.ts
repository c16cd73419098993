import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { extract } from 'tar-stream';

import { childKinds } from '../../cli/kube/kinds.js';
import type { Omission } from '../../cli/kube/snapshot.js';
import { toYaml } from '../../cli/io/yaml.js';
import { CONTROL_PLANE, OPERATOR_SELECTOR } from '../../constructs/kit/operator-identity.js';
import { groupOf } from '../../constructs/kit/object.js';
import { writePodLogs } from '../../testbed/controlplane/pod-logs.js';
import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSecret, aSite, WORKERS } from './support/builders.js';
import { PLANTED } from '../support/planted-secrets.js';
import { CommandLine, MAIN } from './support/command-line.js';
import { mariaDbCrds } from './support/database-operators.js';
import { at, type Manifest } from './support/objects.js';

let cluster: Cluster;
let admin: CommandLine;
let dir: string;
/** Has the bench `b` and the site `s`, which are Ready. */
let namespace: string;
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'app-operator-cli-'));
  cluster = await startCluster();
  await cluster.operator([], { timeFactor: 5 });
  admin = new CommandLine(cluster.controlPlane.kubeconfig);
  namespace = await cluster.namespace();
  await cluster.apply(namespace, aBench('b'), aSite('s', { bench: 'b' }));
  await cluster.ready('AppSite', namespace, 's');
  await cluster.ready('AppBench', namespace, 'b');
});
after(async () => {
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
});

const diff = (place: string, manifests: readonly Manifest[], ...args: string[]) =>
  admin.run(
    ['diff', '-n', place, '-f', '-', '--field-manager', 'user', ...args],
    toYaml(manifests),
  );

/** The objects of a patch, as `create Deployment/b-gunicorn`, sorted. */
function changesIn(patch: string): readonly string[] {
  const headers = [...patch.matchAll(/^--- (\S+)\n\+\+\+ (\S+)$/gm)];
  return headers
    .map(([, from = '', to = '']) => {
      const [kind, , name] = (to === '/dev/null' ? from : to).replace(/^\w+\//, '').split('.');
      const verb = from === '/dev/null' ? 'create' : to === '/dev/null' ? 'delete' : 'change';
      return `${verb} ${kind}/${name}`;
    })
    .sort();
}

/** Gives a user rights in a namespace. */
async function userWith(user: string, place: string, rules: readonly object[]) {
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${place}`;
  const { api } = cluster.controlPlane;
  await api.request('POST', `${rbac}/roles`, { metadata: { name: user }, rules });
  await api.request('POST', `${rbac}/rolebindings`, {
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
    subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
  });
  return new CommandLine(await cluster.controlPlane.userKubeconfig(user, []));
}

describe('app-operator diff', { concurrency: true }, () => {
  test('prints the changes of the sites for a bench alone, and skips other objects', async () => {
    const manifests = [aBench('b', { frameworkVersion: 'version-16' }), aSecret('login', {})];
    const { code, out, err } = await diff(namespace, manifests);
    assert.equal(code, 1, err);
    const changes = changesIn(out);
    for (const change of ['change AppBench/b', 'change Deployment/b-gunicorn', 'change Job/b-init'])
      assert.ok(changes.includes(change), changes.join('\n'));
    assert.match(out, /version-16/);
    assert.match(err, /^<stdin>:\d+: Secret\/login: skipped: not of the API group/m);
  });

  test('needs no right on Secrets', async () => {
    const kinds = childKinds().filter(({ kind }) => kind !== 'Secret');
    const arthur = await userWith('arthur', namespace, [
      { apiGroups: ['app-operator.io'], resources: ['*'], verbs: ['*'] },
      {
        apiGroups: [...new Set(kinds.map(({ apiVersion }) => groupOf(apiVersion)))],
        resources: kinds.map(({ plural }) => plural),
        verbs: ['get', 'list', 'create', 'patch'],
      },
      { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: ['list'] },
    ]);
    const ask = (...manifests: readonly Manifest[]) =>
      arthur.run(
        ['diff', '-n', namespace, '-f', '-', '--field-manager', 'user'],
        toYaml(manifests),
      );
    const same = await ask(aBench('b'), aSite('s', { bench: 'b' }));
    assert.deepEqual([same.code, same.out], [0, ''], same.err);
    assert.match(same.err, /^not compared: .*secrets.* \(forbidden: list\)$/m);
    // A changed child shows its other changes, without a hash that would roll pods.
    const more = await ask(aBench('b', { componentReplicas: { gunicorn: 2 } }));
    assert.deepEqual(changesIn(more.out), [
      'change AppBench/b',
      'change Deployment/b-gunicorn',
      'change Deployment/s-gunicorn',
      'create PodDisruptionBudget/b-gunicorn',
      'create PodDisruptionBudget/s-gunicorn',
    ]);
    assert.doesNotMatch(more.out, /config-hash/);
    const apps = await ask(aBench('b', { appsJSON: '["hrms"]' }));
    assert.ok(changesIn(apps.out).includes('change Job/b-init'), apps.out);
  });

  test('reads objects of other operators: a database server, an autoscaler', async () => {
    for (const crd of await mariaDbCrds()) await installCrd(cluster, crd);
    const namespace = await cluster.namespace();
    const bench = (gunicorn: number) =>
      aBench('b', {
        dbConfig: { mode: 'operator', mariadbRef: { name: 'company-db' } },
        componentReplicas: { ...WORKERS.componentReplicas, gunicorn },
      });
    await cluster.apply(
      namespace,
      { apiVersion: 'k8s.mariadb.com/v1alpha1', kind: 'MariaDB', metadata: { name: 'company-db' } },
      {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'theirs' },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'b-worker-default' },
          maxReplicas: 5,
        },
      },
      bench(1),
    );
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.patch('Deployment', namespace, 'b-worker-default', { spec: { replicas: 3 } });
    assert.deepEqual(await diff(namespace, [bench(1)]), { code: 0, out: '', err: '' });
    const changed = await diff(namespace, [bench(2)]);
    assert.equal(changed.code, 1);
    assert.match(changed.out, /^- {2}replicas: 1\n\+ {2}replicas: 2$/m);
    assert.doesNotMatch(changed.out, /b-worker-default/);
  });

  test('exits with 2 for objects that the API server rejects, with its message and the line', async () => {
    const wrong = [aBench('b', { appsJSON: 7 }), aSite('s', { bench: 'elsewhere' })];
    const { code, out, err } = await diff(namespace, wrong);
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, /^<stdin>:1: AppBench\/b: .*appsJSON/m);
    assert.match(err, /^<stdin>:\d+: AppSite\/s: .*benchRef\.name is immutable/m);
    const unknown = await diff(namespace, [{ ...aBench('b'), kind: 'Bench' }]);
    assert.deepEqual([unknown.code, unknown.out], [2, '']);
    assert.match(unknown.err, /^<stdin>:1: Bench\/b: kind: Unsupported value$/m);
    const nowhere = await admin.run(['diff', '-f', 'nowhere.yaml']);
    assert.deepEqual([nowhere.code, nowhere.err], [2, 'nowhere.yaml: no such file or directory\n']);
    const server = await admin.run(
      ['diff', '-f', '-', '--kubeconfig', '/nowhere'],
      toYaml([aBench('b')]),
    );
    assert.equal(server.code, 2);
  });

  test('exits with 2 for a resource that the operator would refuse', async () => {
    const site = aSite('t', { bench: 'b', apps: [{ name: 'hrms' }] });
    const { code, err } = await diff(namespace, [site]);
    assert.equal(code, 2);
    assert.match(err, /^<stdin>:1: AppSite\/t: spec\.apps\[0\]\.name: Unsupported value: "hrms"/m);
  });
});

describe('app-operator diff of one change after the other', { concurrency: 1 }, () => {
  test('prints the changes of resources and their children, and nothing without changes', async () => {
    const site = aSite('s', { bench: 'b' });
    const manifests = [aBench('b'), site];
    assert.deepEqual(await diff(namespace, manifests), { code: 0, out: '', err: '' });

    const bench = aBench('b', { componentReplicas: { gunicorn: 2 } });
    const changed = [bench, site];
    const { code, out, err } = await diff(namespace, changed);
    assert.deepEqual([code, err], [1, '']);
    assert.match(out, new RegExp(`^--- live/AppBench\\.${namespace}\\.b$`, 'm'));
    assert.match(out, /^\+ {4}gunicorn: 2$/m);
    assert.match(out, new RegExp(`^\\+\\+\\+ new/Deployment\\.${namespace}\\.b-gunicorn$`, 'm'));
    assert.match(out, /^- {2}replicas: 1\n\+ {2}replicas: 2$/m);
    // The dry run has changed nothing.
    assert.equal(at(await cluster.the('Deployment', namespace, 'b-gunicorn'), 'spec.replicas'), 1);
    assert.equal(await cluster.get('PodDisruptionBudget', namespace, 'b-gunicorn'), undefined);

    // The changes that it printed are the changes that apply.
    await cluster.apply(namespace, bench);
    await cluster.ready('AppBench', namespace, 'b');
    assert.deepEqual(await diff(namespace, changed), { code: 0, out: '', err: '' });
  });

  // With the budget of two replicas, which the test before has made.
  test('prints replaced Jobs, pruned objects, and changes of other resources', async () => {
    // The dry run of a Job must not conflict with an existing Job.
    await cluster.apply(namespace, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'diff' },
      spec: {
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'c' }] } },
      },
    });
    const manifests = [
      aBench('b', { appsJSON: '["hrms"]', componentReplicas: { gunicorn: 1 } }),
      aSite('more', { bench: 'b', workloads: 'Shared' }),
    ];
    const { code, out, err } = await diff(namespace, manifests);
    assert.equal(code, 1, err);
    const changes = changesIn(out);
    for (const change of [
      'change Job/b-init',
      'delete PodDisruptionBudget/b-gunicorn',
      'create AppSite/more',
      'change ConfigMap/b-nginx',
      'create Secret/more-admin-password',
    ])
      assert.ok(changes.includes(change), `${change} is among ${changes.join(', ')}`);
    assert.match(out, /^[+].*hrms/m);
    assert.ok(!changes.some((one) => one.includes('PersistentVolumeClaim/b-')), changes.join(', '));
    // Values of Secrets are generated later: there is none to print.
    assert.doesNotMatch(out, /^[+-] *(data|stringData):/m);
  });
});

/** The files of an archive, by their names without the folder. */
async function unpacked(path: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const entries = Readable.from([gunzipSync(readFileSync(path))]).pipe(extract());
  for await (const entry of entries) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    files.set(entry.header.name.replace(/^[^/]+\//, ''), Buffer.concat(chunks).toString());
  }
  return files;
}

describe('app-operator report', () => {
  test('holds the files of a bug report, and no planted secret', async () => {
    const planted = {
      password: 'Planted-Pa55word',
      key: '-----BEGIN PRIVATE KEY-----\nUGxhbnRlZEtleUxpbmVPbmU\nUGxhbnRlZEtleUxpbmVUd28\n-----END PRIVATE KEY-----\n',
      quoted: 'planted "quoted" value',
    };
    await cluster.apply(namespace, aSecret('planted', planted));
    const log = [
      `connecting with ${planted.password}`,
      `as base64 ${Buffer.from(planted.password).toString('base64')}`,
      'UGxhbnRlZEtleUxpbmVUd28 is a line of a key',
      JSON.stringify({ text: planted.quoted }),
      'token=never-in-a-Secret-1 mysql://u:never-in-a-Secret-2@h',
      'harmless text stays',
      ...PLANTED.map(({ text }) => text),
    ].join('\n');
    await writePodLogs(cluster.controlPlane, { app: 's-gunicorn' }, log);
    await cluster.apply(namespace, {
      ...aBench('noted'),
      metadata: {
        name: 'noted',
        annotations: {
          note: `the login is ${planted.password}`,
          ...Object.fromEntries(PLANTED.map(({ text }, index) => [`note-${index}`, text])),
        },
      },
      spec: { frameworkVersion: 'version-15', paused: true },
    });

    for (const [index, { text }] of PLANTED.entries()) {
      const path = `/api/v1/namespaces/${namespace}/events`;
      await cluster.controlPlane.api.request('POST', path, {
        metadata: { name: `noted.${index}` },
        involvedObject: { kind: 'AppSite', namespace, name: 's' },
        message: `event: ${text}`,
        reason: 'Noted',
        type: 'Warning',
      });
    }

    const path = join(dir, 'report.tar.gz');
    const { code, out, err } = await admin.run(['report', '-n', namespace, '-o', path]);
    assert.deepEqual([code, out], [0, `${path}\n`]);
    assert.match(err, /^report: resources and their children$/m);
    assert.match(err, /values redacted/);
    const files = await unpacked(path);
    const names = [...files.keys()];
    for (const name of [
      ...[
        'MANIFEST.json',
        'cluster/version.json',
        'cluster/apis.json',
        'status.txt',
        'status.json',
      ],
      ...['resources/appbenchs.yaml', 'resources/appsites.yaml', 'children/deployments.yaml'],
      ...[
        'children/configmaps.yaml',
        'children/pods.yaml',
        'events.yaml',
        `secrets-${namespace}.yaml`,
      ],
    ])
      assert.ok(names.includes(name), `${name} is among ${names.join(', ')}`);
    const generated = await cluster.list('Secret', namespace);
    const values = generated.flatMap(({ data = {} }) =>
      Object.values(data).map((value) => Buffer.from(value, 'base64').toString()),
    );
    assert.ok(values.length >= 6, 'the generated passwords are checked too');
    const all = [...files].map(([name, text]) => `${name}\n${text}`).join('\n');
    for (const value of values) {
      for (const form of [value, Buffer.from(value).toString('base64')])
        assert.ok(!all.includes(form), `${form} is in the archive`);
    }
    for (const part of ['Planted', 'UGxhbnRlZEtleUxpbmVUd28', 'quoted\\"', 'never-in-a-Secret'])
      assert.ok(!all.includes(part), `${part} is in the archive`);
    // YAML folds long lines.
    const folded = all.replace(/\s+/g, '');
    const leaked = PLANTED.filter(({ secret }) => folded.includes(secret)).map(({ what }) => what);
    assert.deepEqual(leaked, [], `of ${PLANTED.length} planted secrets`);
    const { metadata: site } = await cluster.the('AppSite', namespace, 's');
    assert.ok(all.includes(site.uid ?? '-'), 'uids stay readable');
    assert.match(all, /harmless text stays/);
    assert.match(all, /the login is \[redacted\]/);
    const outline = files.get(`secrets-${namespace}.yaml`) ?? '';
    assert.match(outline, /password: 16$/m);
    const manifest = JSON.parse(files.get('MANIFEST.json') ?? '') as {
      redacted: number;
      files: string[];
    };
    assert.ok(manifest.redacted >= 6);

    const again = await admin.run(['report', '-n', namespace, '-o', path]);
    assert.equal(again.code, 1);
    assert.match(again.err, /already exists; choose another file/);
  });

  test('lists what it could not read, and is written anyway', async () => {
    await cluster.controlPlane.api.request(
      'POST',
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
      {
        metadata: { name: 'viewer' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'viewer' },
        subjects: [{ kind: 'User', name: 'vera', apiGroup: 'rbac.authorization.k8s.io' }],
      },
    );
    await cluster.controlPlane.api.request(
      'POST',
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`,
      {
        metadata: { name: 'viewer' },
        rules: [{ apiGroups: ['app-operator.io'], resources: ['*'], verbs: ['list'] }],
      },
    );
    const vera = new CommandLine(await cluster.controlPlane.userKubeconfig('vera', []));
    const path = join(dir, 'vera.tar.gz');
    const { code, err } = await vera.run(['report', '-n', namespace, '-o', path]);
    assert.equal(code, 0);
    const manifest = (await unpacked(path)).get('MANIFEST.json') ?? '';
    const { omitted } = JSON.parse(manifest) as { omitted: readonly Omission[] };
    const found = (what: string) =>
      omitted.filter((one) => one.what === what && one.namespace === namespace);
    const cannot = (resource: string, group: string) =>
      `cannot list resource "${resource}" in API group "${group}" in the namespace "${namespace}"`;
    for (const [what, resource, group] of [
      ['secrets', 'secrets', ''],
      ['pods', 'pods', ''],
      ['deployments.apps', 'deployments', 'apps'],
    ] as const) {
      const message = `${what} is forbidden: User "vera" ${cannot(resource, group)}`;
      assert.deepEqual(found(what), [{ what, namespace, why: 'forbidden: list', message }]);
    }
    const line = `report: not read in namespace ${namespace}: secrets, `;
    const written = err.split('\n').find((one) => one.startsWith(line));
    assert.ok(
      written?.includes(`: secrets is forbidden: User "vera" ${cannot('secrets', '')}`),
      err,
    );
    // The cluster does not serve them: a right to list them would give nothing.
    assert.deepEqual(found('scaledobjects.keda.sh'), []);
  });

  test('holds no pods of other operators that share the namespace', async () => {
    const namespace = await cluster.namespace();
    for (const [name, labels] of Object.entries({ ours: OPERATOR_SELECTOR, theirs: CONTROL_PLANE }))
      await cluster.controlPlane.api.request('POST', `/api/v1/namespaces/${namespace}/pods`, {
        metadata: { name, labels },
        spec: { containers: [{ name: 'manager', image: 'operator:1' }] },
      });
    const path = join(dir, 'shared.tar.gz');
    const place = ['-n', 'default', '--operator-namespace', namespace];
    const { code, err } = await admin.run(['report', ...place, '-o', path]);
    assert.equal(code, 0, err);
    const pods = (await unpacked(path)).get('operator/pods.yaml') ?? '';
    assert.match(pods, /^ {2}name: ours$/m);
    assert.doesNotMatch(pods, /^ {2}name: theirs$/m);
  });

  test('is written also when custom resources are not served or not listable', async () => {
    const namespace = await cluster.namespace();
    const nora = new CommandLine(await cluster.controlPlane.userKubeconfig('nora', []));
    const what = 'appsites.app-operator.io';
    const message = `${what} is forbidden: User "nora" cannot list resource "appsites" in API group "app-operator.io" in the namespace "${namespace}"`;
    const cases = [
      ['nora', nora, 'app-operator.io', { why: 'forbidden: list', message }],
      ['elsewhere', admin, 'elsewhere.example.com', { why: 'the cluster does not serve them' }],
    ] as const;
    for (const [name, line, group, failure] of cases) {
      const path = join(dir, `${name}.tar.gz`);
      const { code, err } = await line.run([
        ...['report', '-n', namespace, '-o', path, '--api-group', group],
      ]);
      assert.equal(code, 0, err);
      const manifest = (await unpacked(path)).get('MANIFEST.json') ?? '';
      const { omitted } = JSON.parse(manifest) as { omitted: readonly object[] };
      assert.deepEqual(
        omitted.filter((one) => (one as { what: string }).what.endsWith(`sites.${group}`)),
        [{ what: `appsites.${group}`, namespace, ...failure }],
      );
    }
  });
});

describe('completion', { concurrency: 2 }, () => {
  const run = promisify(execFile);
  let bin: string;
  before(async () => {
    bin = join(dir, 'bin');
    mkdirSync(bin);
    for (const [name, file] of [
      ['app-operator', MAIN],
      ['kubectl-appbench', MAIN],
      ['kubectl_complete-appbench', MAIN.replace('main.js', 'kubectl-complete.js')],
    ] as const) {
      writeFileSync(join(bin, name), `#!/bin/sh\nexec "${process.execPath}" "${file}" "$@"\n`);
      chmodSync(join(bin, name), 0o755);
    }
    symlinkSync(cluster.controlPlane.binaries.kubectl ?? 'kubectl', join(bin, 'kubectl'));
    namespace = await cluster.namespace();
    await cluster.apply(namespace, aSite('shop', { bench: 'b' }), aSite('shed', { bench: 'b' }));
  });

  const shell = async (program: string, script: string): Promise<string[]> => {
    const file = join(dir, `${program}-${Math.random()}`);
    writeFileSync(file, script);
    const env = {
      ...process.env,
      PATH: [bin, process.env['PATH']].join(delimiter),
      KUBECONFIG: cluster.controlPlane.kubeconfig,
    };
    const { stdout } = await run(program, [file], { env, cwd: dir });
    return stdout.split('\n').filter(Boolean).sort();
  };
  /** Why the test of a shell is skipped. */
  const missing = async (program: string): Promise<string | false> => {
    try {
      await run(program, ['-c', ':']);
      return false;
    } catch {
      return `${program} is not installed`;
    }
  };

  /** The words of a line, the last to complete, and the candidates. */
  const CASES: readonly (readonly [readonly string[], readonly string[]])[] = [
    [['sta'], ['status']],
    [['status', 'sit'], ['site/']],
    [['status', '--outp'], ['--output']],
    [['completion', 'z'], ['zsh']],
  ];

  test('in bash', async () => {
    for (const [words, wanted] of CASES) {
      const script = `source <(app-operator completion bash)
COMP_WORDS=(app-operator ${words.join(' ')}); COMP_CWORD=${words.length}; COMPREPLY=()
_app_operator; printf '%s\\n' "\${COMPREPLY[@]}"`;
      assert.deepEqual(await shell('bash', script), wanted, words.join(' '));
    }
    writeFileSync(join(dir, 'my bench.yaml'), '');
    const files = `source <(app-operator completion bash)
COMP_WORDS=(app-operator diff -f my); COMP_CWORD=3; _app_operator; printf '%s\\n' "\${COMPREPLY[@]}"`;
    assert.deepEqual(await shell('bash', files), ['my bench.yaml']);
    const inline = `source <(app-operator completion bash)
COMP_WORDS=(app-operator status --output = j); COMP_CWORD=4; _app_operator; printf '%s\\n' "\${COMPREPLY[@]}"`;
    assert.deepEqual(await shell('bash', inline), ['json']);
  });

  test('in zsh', async (t) => {
    const why = await missing('zsh');
    if (why) {
      t.skip(why);
      return;
    }
    for (const [words, wanted] of CASES) {
      const script = `autoload -Uz compinit; compinit -u -D
compadd() { while [[ $1 == -* && $1 != -- ]]; do [[ $1 == -S ]] && shift; shift; done; shift; print -l -- "$@"; }
source <(app-operator completion zsh)
words=(app-operator ${words.join(' ')}); CURRENT=${words.length + 1}
_app_operator`;
      assert.deepEqual(await shell('zsh', script), wanted, words.join(' '));
    }
  });

  test('in fish', async (t) => {
    const why = await missing('fish');
    if (why) {
      t.skip(why);
      return;
    }
    for (const [words, wanted] of CASES) {
      const script = `app-operator completion fish | source
complete -C 'app-operator ${words.join(' ')}'`;
      assert.deepEqual(await shell('fish', script), wanted, words.join(' '));
    }
  });

  test('as a kubectl plug-in, which runs and completes', async () => {
    const env = {
      ...process.env,
      PATH: [bin, process.env['PATH']].join(delimiter),
      KUBECONFIG: cluster.controlPlane.kubeconfig,
    };
    const kubectl = (...args: string[]) => run('kubectl', args, { env });
    const { stdout } = await kubectl('appbench', 'status', 'site/shop', '-n', namespace);
    assert.match(stdout, /AppSite shop/);
    const completed = async (...words: readonly string[]) =>
      (await kubectl('__complete', 'appbench', ...words)).stdout.split('\n');
    assert.deepEqual(await completed('status', 'sit'), ['site/', ':6', '']);
    assert.deepEqual(await completed('render', '-f', ''), [':0', '']);
  });
});
