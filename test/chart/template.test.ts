import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadAll } from 'js-yaml';
import { parse, parseAllDocuments } from 'yaml';

import { installObjects } from '../../cli/commands/install/manifest.js';
import { toYaml } from '../../cli/io/yaml.js';
import type { InstallProps } from '../../constructs/install/chart.js';
import { defined } from '../../constructs/kit/json/defined.js';
import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { IMAGE_REPOSITORY } from '../../constructs/project.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { VERSION } from '../../runner/kit/version.js';
import type { Helm } from '../../testbed/helm/helm.js';
import { projectRoot } from '../../testbed/project-root.js';
import { packageChart } from '../../tools/release/chart.js';
import { sha256 } from '../../tools/release/release.js';
import { at } from '../cluster/support/objects.js';
import { needs } from '../jobs/servers.js';
import { pyYaml } from '../support/py-yaml.js';
import { ANOTHER_OPERATOR, selects, selectorsIn } from '../support/operator-selectors.js';
import { CHART, startHelm } from './support.js';

const PY_YAML = needs('PyYAML');

let helm: Helm;
let stop: () => Promise<void>;
before(async () => {
  ({ helm, stop } = await startHelm());
});
after(() => stop());

/** The objects of the chart with values, as Helm makes them. */
function rendered(...values: readonly string[]): Promise<KubeObject[]> {
  return renderedIn(OPERATOR.namespace, ...values);
}

async function renderedIn(namespace: string, ...values: readonly string[]): Promise<KubeObject[]> {
  const sets = values.map((value) => `--set-json=${value}`);
  return objectsIn(await helm.run('template', 'ours', CHART, `--namespace=${namespace}`, ...sets));
}

const CRD = 'CustomResourceDefinition';

const withoutCrds = (...values: readonly string[]): Promise<KubeObject[]> =>
  rendered(...values, 'crds.install=false');

function objectsIn(yaml: string): KubeObject[] {
  return parseAllDocuments(yaml)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

const HELMS = /^(helm\.sh\/chart|app\.kubernetes\.io\/(instance|version|managed-by))$/;

/** By kind, namespace and name; without what only Helm has, and without what is empty. */
function comparable(objects: readonly KubeObject[]): Record<string, unknown> {
  const entries = objects
    .filter(({ kind }) => kind !== 'Namespace')
    .map((object) => {
      const { kind, metadata } = object;
      const { labels = {}, annotations = {}, ...rest } = metadata;
      const own = Object.entries(labels).filter(([name]) => !HELMS.test(name));
      const kept = Object.entries(annotations).filter(([name]) => name !== KEEP);
      const plain = {
        ...object,
        metadata: { ...rest, ...some('labels', own), ...some('annotations', kept) },
      };
      return [`${kind} ${metadata.namespace ?? ''}/${metadata.name}`, bare(plain)] as const;
    });
  assert.equal(new Set(entries.map(([id]) => id)).size, entries.length, 'an object is there twice');
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const KEEP = 'helm.sh/resource-policy';

function some(name: string, entries: readonly (readonly [string, unknown])[]): object {
  return entries.length === 0 ? {} : { [name]: Object.fromEntries(entries) };
}

/** Without empty fields: an API server treats them as missing. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([, field]) => field !== null && !(Array.isArray(field) && field.length === 0),
  );
  return Object.fromEntries(entries.map(([name, field]) => [name, bare(field)]));
}

describe('helm template', () => {
  test('without values gives the objects of dist/install.yaml', async () => {
    const manifest = await readFile(path.join(projectRoot(), 'dist/install.yaml'), 'utf8');
    assert.deepEqual(comparable(await rendered()), comparable(objectsIn(manifest)));
  });

  for (const watchNamespaces of [undefined, ['a', 'b']]) {
    const where = watchNamespaces ? 'in some namespaces' : 'in all';
    test(`in another namespace gives what \`install --namespace\` does, ${where}`, async () => {
      const values = watchNamespaces ? [`watchNamespaces=${JSON.stringify(watchNamespaces)}`] : [];
      const made = await renderedIn('second', ...values, 'crds.install=false');
      const image = `${IMAGE_REPOSITORY}:${VERSION}`;
      const props = { image, namespace: 'second', crds: false, ...defined({ watchNamespaces }) };
      const objects = objectsIn(toYaml(installObjects(props)));
      assert.deepEqual(comparable(made), comparable(objects));
    });
  }

  const SCOPES: readonly (readonly [string[], Partial<InstallProps>])[] = [
    [[], {}],
    [['watchNamespaces=["a","b"]'], { watchNamespaces: ['a', 'b'] }],
    [
      ['watchNamespaces=["a","b"]', 'rbac.clusterRoles=false'],
      { watchNamespaces: ['a', 'b'], namespaced: true },
    ],
  ];
  const OTHERS: readonly (readonly [string[], Partial<InstallProps>])[] = [
    [['replicas=3'], { replicas: 3 }],
    [['openshift=true'], { platformIds: true }],
    [['networkPolicy.egress=true'], { limitEgress: true }],
    [['networkPolicy.metricsNamespace="monitoring"'], { metricsNamespace: 'monitoring' }],
    [['metrics.plain=true'], { plainMetrics: true }],
    [
      ['metrics.plain=true', 'networkPolicy.metricsNamespace="monitoring"'],
      { plainMetrics: true, metricsNamespace: 'monitoring' },
    ],
    [['kedaNamespace="openshift-keda"'], { kedaNamespace: 'openshift-keda' }],
    [['webhooks.enabled=false'], { webhooks: false }],
    [
      ['replicas=2', 'openshift=true', 'networkPolicy.egress=true'],
      { replicas: 2, platformIds: true, limitEgress: true },
    ],
  ];
  for (const [scope, scoped] of SCOPES) {
    for (const [index, [other, others]] of OTHERS.entries()) {
      const values = [...scope, ...other];
      // The CRDs take most of the time; each scope and each other value is compared with them once.
      const withCrds = scope.length === 0 || index === 0;
      test(`with ${values.join(' ')} gives what \`app-operator install\` does`, async () => {
        const made = await (withCrds ? rendered(...values) : withoutCrds(...values));
        const props = { image: `${IMAGE_REPOSITORY}:${VERSION}`, ...scoped, ...others };
        const objects = installObjects(props).filter(({ kind }) => withCrds || kind !== CRD);
        assert.deepEqual(comparable(made), comparable(objectsIn(toYaml(objects))));
      });
    }
  }

  const NULLS: readonly (readonly string[])[] = [
    [],
    ['openshift=true'],
    ['openshift=true', 'extraEnv=[{"name":"HTTPS_PROXY","value":"http://proxy:3128"}]'],
    ['podDefaults={"uid":null,"gid":null,"fsGroup":null}'],
    ['nodeSelector=null', 'topologySpreadConstraints=null', 'resources=null'],
  ];
  for (const values of NULLS)
    test(`has no field that is null, with ${values.join(' ') || 'no values'}`, async () => {
      const nulls: string[] = [];
      const visit = (at: string, value: unknown): void => {
        if (value === null) nulls.push(at);
        if (typeof value !== 'object' || value === null) return;
        for (const [name, field] of Object.entries(value)) visit(`${at}.${name}`, field);
      };
      for (const object of await rendered(...values))
        visit(`${object.kind} ${object.metadata.name}`, object);
      assert.deepEqual(nulls, []);
    });

  test('labels its objects, and keeps the CRDs after an uninstall', async () => {
    const objects = await rendered();
    for (const { kind, metadata } of objects) {
      assert.equal(metadata.labels?.['app.kubernetes.io/managed-by'], 'Helm', metadata.name);
      assert.equal(metadata.labels['app.kubernetes.io/version'], VERSION);
      const kept = metadata.annotations?.[KEEP] === 'keep';
      assert.equal(kept, kind === CRD, metadata.name);
    }
    const lost = await rendered('crds.keep=false');
    assert.ok(lost.every(({ metadata }) => metadata.annotations?.[KEEP] === undefined));
    const without = await rendered('crds.install=false');
    assert.deepEqual(
      without.filter(({ kind }) => kind === CRD),
      [],
    );
  });

  test("selects the operator's pods only, in a namespace shared with other operators", async () => {
    const objects = await withoutCrds('replicas=2', 'podLabels={"team":"web"}');
    const deployment = objects.find(({ kind }) => kind === 'Deployment');
    const labels = at(deployment, 'spec.template.metadata.labels') as Record<string, string>;
    const found = selectorsIn(objects);
    assert.equal(found.length, 5);
    for (const { of, labels: selector } of found) {
      assert.ok(selects(selector, labels), of);
      assert.ok(!selects(selector, ANOTHER_OPERATOR), of);
    }
  });

  test('detects OpenShift in the cluster', async () => {
    const detected = await helm.run(
      'template',
      'ours',
      CHART,
      '--api-versions=security.openshift.io/v1',
    );
    assert.doesNotMatch(detected, /APP_DEFAULT_UID/);
    const output = await helm.run(
      'template',
      'ours',
      CHART,
      '--api-versions=security.openshift.io/v1',
      '--set=openshift=false',
    );
    assert.match(output, /APP_DEFAULT_UID/);
  });
});

interface Pod {
  readonly metadata: { readonly labels: object; readonly annotations: object };
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly containers: readonly {
      readonly image: string;
      readonly args: readonly string[];
      readonly env: readonly object[];
      readonly resources: object;
      readonly imagePullPolicy: string;
    }[];
  };
}

async function pod(...values: readonly string[]): Promise<Pod> {
  const objects = await withoutCrds(...values);
  const deployment = objects.find(({ kind }) => kind === 'Deployment') as unknown as {
    readonly spec: { readonly template: Pod };
  };
  return deployment.spec.template;
}

async function container(...values: readonly string[]) {
  const [only] = (await pod(...values)).spec.containers;
  assert.ok(only);
  return only;
}

describe('values reach the pod:', () => {
  test('its image', async () => {
    const image = 'image={"repository":"r.example.org/op"}';
    assert.equal((await container(image)).image, `r.example.org/op:${VERSION}`);
    assert.equal((await container(image, 'image.tag="2"')).image, 'r.example.org/op:2');
    const digest = `sha256:${'0a'.repeat(32)}`;
    const exact = await container(image, 'image.tag="2"', `image.digest="${digest}"`);
    assert.equal(exact.image, `r.example.org/op@${digest}`);
    const { spec } = await pod('image.pullSecrets=["one","two"]');
    assert.deepEqual(spec['imagePullSecrets'], [{ name: 'one' }, { name: 'two' }]);
  });

  test('where it runs', async () => {
    const toleration = { key: 'infra', operator: 'Exists' };
    const affinity = { nodeAffinity: {} };
    const { spec } = await pod(
      'nodeSelector={"pool":"infra"}',
      `tolerations=${JSON.stringify([toleration])}`,
      `affinity=${JSON.stringify(affinity)}`,
      'priorityClassName="system-cluster-critical"',
      'topologySpreadConstraints=[]',
    );
    // Helm adds maps to those of the chart; null takes a key out.
    assert.deepEqual(spec['nodeSelector'], { 'kubernetes.io/os': 'linux', pool: 'infra' });
    assert.deepEqual(spec['tolerations'], [toleration]);
    assert.deepEqual(spec['affinity'], affinity);
    assert.equal(spec['priorityClassName'], 'system-cluster-critical');
    assert.deepEqual(spec['topologySpreadConstraints'], []);
  });

  test('flags, variables, resources, labels and annotations', async () => {
    const variable = { name: 'HTTPS_PROXY', value: 'http://proxy:3128' };
    const { args, env, resources } = await container(
      'extraArgs=["--resync-interval=1h","--watch-label-selector=team in (a,b)"]',
      `extraEnv=${JSON.stringify([variable])}`,
      'resources={"limits":{"memory":"1Gi"}}',
      'logLevel="debug"',
      'podDefaults={"uid":1000680000,"gid":null}',
    );
    assert.deepEqual(args.slice(-2), [
      '--resync-interval=1h',
      '--watch-label-selector=team in (a,b)',
    ]);
    assert.ok(args.includes('--zap-log-level=debug'));
    assert.deepEqual(env, [
      { name: 'APP_DEFAULT_UID', value: '1000680000' },
      { name: 'APP_DEFAULT_FSGROUP', value: '0' },
      variable,
    ]);
    assert.deepEqual((resources as { limits: object }).limits, { memory: '1Gi' });
    const { metadata } = await pod('podLabels={"team":"web"}', 'podAnnotations={"a/b":"c"}');
    assert.equal((metadata.labels as Record<string, string>)['team'], 'web');
    assert.equal((metadata.annotations as Record<string, string>)['a/b'], 'c');
  });
});

test('names that YAML reads as numbers stay text', async () => {
  const NUMBERS = ['1e3', '123', '0x1f', 'on'];
  for (const name of NUMBERS) {
    const values = [
      `watchNamespaces=["${name}"]`,
      `image={"repository":"r","pullSecrets":["${name}"]}`,
      'crds.install=false',
      `priorityClassName="${name}"`,
      `networkPolicy.metricsNamespace="${name}"`,
      `kedaNamespace="${name}"`,
      `webhooks.clientCA="${name}"`,
    ].map((value) => `--set-json=${value}`);
    const roles = '--set-json=rbac.clusterRoles=false';
    for (const more of [[], [roles]]) {
      const args = ['template', 'ours', CHART, `--namespace=${name}`, ...values, ...more];
      // Helm and Kubernetes read YAML 1.1.
      const objects = parseAllDocuments(await helm.run(...args), { version: '1.1' }).map(
        (document) => document.toJS() as KubeObject | null,
      );
      let found = 0;
      JSON.stringify(objects, (key, value: unknown) => {
        const isName = /^(namespace|name|priorityClassName|kubernetes\.io\/metadata\.name)$/.test(
          key,
        );
        if (isName && value === name) found += 1;
        if (isName) assert.equal(typeof value, 'string', `${name}: ${key}: ${String(value)}`);
        return value;
      });
      assert.ok(found > 10, `${found} names`);
    }
  }
});

describe('wrong values are refused, each by its name:', () => {
  const WRONG: readonly (readonly [string, RegExp])[] = [
    ['replicas="two"', /'\/replicas'.*got string, want integer/],
    ['replicas=-1', /'\/replicas'.*minimum.*0/],
    ['replica=2', /additional properties 'replica' not allowed/],
    ['image.digest="latest"', /'\/image\/digest'.*does not match pattern/],
    ['image.pullPolicy="Sometimes"', /'\/image\/pullPolicy'.*must be one of 'Always'/],
    ['watchNamespaces=["Not_A_Name"]', /'\/watchNamespaces\/0'.*does not match pattern/],
    ['watchNamespaces="a"', /'\/watchNamespaces'.*got string, want array/],
    ['podDefaults.uid=0', /'\/podDefaults\/uid'.*minimum.*1/],
    ['openshift="yes"', /'\/openshift'.*must be one of 'auto', true, false/],
    ['extraArgs=["resync"]', /'\/extraArgs\/0'.*does not match pattern/],
    ['extraEnv=[{"name":"A","value":1}]', /'\/extraEnv\/0\/value'.*got number, want string/],
    ['podLabels={"control-plane":"x"}', /'\/podLabels\/.*false schema/],
    ['podLabels={"app.kubernetes.io/name":"x"}', /'\/podLabels\/.*false schema/],
    ['podLabels={"app.kubernetes.io/part-of":"x"}', /'\/podLabels\/.*false schema/],
    ['logLevel="verbose"', /'\/logLevel'/],
    ['rbac.clusterRoles=false', /name the namespaces that the operator works in/],
  ];
  for (const [value, message] of WRONG) {
    test(value, async () => {
      const { code, err } = await helm.try('template', 'ours', CHART, `--set-json=${value}`);
      assert.notEqual(code, 0);
      assert.match(err.replaceAll('\n', ' '), message);
    });
  }
});

test('helm lint has no complaint', async () => {
  assert.match(await helm.run('lint', CHART, '--strict'), /0 chart\(s\) failed/);
});

test('helm package takes every file that a release needs', async () => {
  const shown = parse(await helm.run('show', 'chart', CHART)) as Record<string, unknown>;
  assert.deepEqual([shown['version'], shown['appVersion']], [VERSION, VERSION]);
  assert.match(await helm.run('show', 'readme', CHART), /^# app-operator/m);
  const values = parse(await helm.run('show', 'values', CHART)) as Record<string, unknown>;
  assert.equal(values['replicas'], 1);
});

test('equal files give an equal package, whenever they were written', async () => {
  const scratch = mkdtempSync(path.join(tmpdir(), 'app-operator-chart-'));
  try {
    const sums: string[] = [];
    for (const name of ['one', 'other']) {
      // Helm's times have seconds.
      if (sums.length > 0) await sleep(1_100);
      const chart = path.join(scratch, name);
      cpSync(CHART, chart, { recursive: true });
      utimesSync(path.join(chart, 'Chart.yaml'), sums.length, sums.length);
      const out = path.join(scratch, `${name}-out`);
      mkdirSync(out);
      const file = path.join(out, await packageChart(helm, { chart, out, scratch }));
      sums.push(await sha256(file));
      const shown = parse(await helm.run('show', 'chart', file)) as Record<string, unknown>;
      assert.equal(shown['version'], VERSION);
      const values = ['template', 'ours', `--namespace=${OPERATOR.namespace}`] as const;
      assert.equal(await helm.run(...values, file), await helm.run(...values, CHART));
    }
    assert.equal(sums[0], sums[1]);
  } finally {
    rmSync(scratch, { recursive: true });
  }
});

test('what Helm makes of the chart is read by js-yaml as by our parser', async () => {
  const text = await helm.run('template', 'ours', CHART, `--namespace=${OPERATOR.namespace}`);
  assert.deepEqual(loadAll(text).filter(Boolean), objectsIn(text));
});

test('what Helm makes of the chart is read by PyYAML as by our parser', PY_YAML, async () => {
  const text = await helm.run('template', 'ours', CHART, `--namespace=${OPERATOR.namespace}`);
  const dir = mkdtempSync(path.join(tmpdir(), 'app-operator-chart-'));
  try {
    const file = path.join(dir, 'chart.yaml');
    writeFileSync(file, text);
    const [python = []] = pyYaml([file]);
    assert.deepEqual(python.filter(Boolean), objectsIn(text));
  } finally {
    rmSync(dir, { recursive: true });
  }
});
