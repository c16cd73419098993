import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../../testbed/controlplane/run.js';
import { ensureHelm, Helm } from '../../testbed/helm/helm.js';
import { projectRoot } from '../../testbed/project-root.js';
import type { Findings } from './accepted.js';
import type { Release } from './release.js';
import { SCHEMA_LOCATION, writeSchemas } from './schemas.js';
import { ensureTool } from './tools.js';

/** Helm with its files in the folder of a release. */
export async function helmOf({ scratch }: Release): Promise<Helm> {
  const home = path.join(scratch, 'helm');
  await mkdir(home, { recursive: true });
  return new Helm(await ensureHelm(), { home });
}

/** The values that the chart is rendered with. */
const RENDERINGS: Readonly<Record<string, readonly string[]>> = {
  defaults: [],
  namespaces: ['--set=watchNamespaces={one,two}'],
  confined: ['--set=watchNamespaces={one,two}', '--set=rbac.clusterRoles=false'],
  everything: [
    '--set=replicas=2',
    '--set=networkPolicy.egress=true',
    '--set=networkPolicy.metricsNamespace=monitoring',
    '--set=openshift=true',
  ],
};

export async function lintChart(release: Release, findings: Findings): Promise<string> {
  const helm = await helmOf(release);
  const { code, out, err } = await helm.try('lint', '--strict', chartOf(release));
  const lines = `${out}${err}`.split('\n').filter((line) => /^\[(INFO|WARNING|ERROR)\]/.test(line));
  if (code !== 0 && lines.length === 0) throw new Error(`helm lint: ${err}`);
  return `no error${findings.add('helm lint', lines)}`;
}

interface Validated {
  readonly summary: Readonly<Record<'valid' | 'invalid' | 'errors' | 'skipped', number>>;
  readonly resources: readonly {
    readonly filename: string;
    readonly kind: string;
    readonly name: string;
    readonly status: string;
    readonly msg: string;
  }[];
}

/** Validates everything that users apply with our schemas and those of Kubernetes. */
export async function validateManifests(release: Release, findings: Findings): Promise<string> {
  const { root, out } = release;
  const location = path.join(await writeSchemas(release), SCHEMA_LOCATION);
  const files = [
    path.join(out, 'install.yaml'),
    path.join(out, 'crds.yaml'),
    path.join(root, 'examples'),
    ...(await render(release)),
  ];
  const args = ['-strict', '-summary', '-output', 'json', '-schema-location', location];
  const { resources, summary } = JSON.parse(
    await outputOf(await ensureTool('kubeconform'), [...args, ...files]),
  ) as Validated;
  if (summary.valid === 0) throw new Error('kubeconform: no resource is valid');
  const lines = resources
    .filter(({ status }) => status !== 'statusValid')
    .map(({ filename, kind, name, msg }) => `${path.basename(filename)}: ${kind} ${name}: ${msg}`);
  return `${summary.valid} resources are valid${findings.add('kubeconform', lines)}`;
}

/** Renders the chart with each set of values. @returns the files */
async function render(release: Release): Promise<readonly string[]> {
  const helm = await helmOf(release);
  const folder = path.join(release.scratch, 'rendered');
  await mkdir(folder, { recursive: true });
  const files: string[] = [];
  for (const [name, values] of Object.entries(RENDERINGS)) {
    const file = path.join(folder, `chart-${name}.yaml`);
    await writeFile(file, await helm.run('template', 'app-operator', chartOf(release), ...values));
    files.push(file);
  }
  return files;
}

interface Scored {
  readonly object_name: string;
  readonly checks: readonly {
    readonly check: { readonly id: string };
    readonly grade: number;
    readonly skipped: boolean;
    readonly comments: readonly { readonly path: string; readonly summary: string }[] | null;
  }[];
}

/** Below it, kube-score warns. */
const GOOD_GRADE = 10;

export async function scoreManifest({ out }: Release, findings: Findings): Promise<string> {
  const args = ['score', '--output-format', 'json', path.join(out, 'install.yaml')];
  const scored = JSON.parse(await outputOf(await ensureTool('kube-score'), args)) as
    readonly Scored[] | null;
  if (!scored || scored.length === 0) throw new Error('kube-score: no object is scored');
  const lines = scored.flatMap(({ object_name: object, checks }) =>
    checks
      .filter(({ grade, skipped }) => !skipped && grade < GOOD_GRADE)
      .map(({ check, comments }) => {
        const text = (comments ?? []).map(({ path: at, summary }) => `${at} ${summary}`.trim());
        return `${object}: ${check.id}: ${text.join('; ')}`;
      }),
  );
  return `${scored.length} objects are scored${findings.add('kube-score', lines)}`;
}

/** Checks packages as Artifact Hub does when it lists them. */
export async function lintForHub(kind: string, folder: string): Promise<void> {
  const output = await run(await ensureTool('ah'), ['lint', '--kind', kind, '--path', folder]);
  if (!/^[1-9]\d* package\(s\) found, 0 package/m.test(output))
    throw new Error(`ah lint: ${output}`);
}

/** Validates the bundle, with the checks of OperatorHub too. */
export async function validateBundle(folder: string, findings: Findings): Promise<string> {
  const tool = await ensureTool('operator-sdk');
  const suites = [[], ['--select-optional', 'suite=operatorframework']];
  const lines: string[] = [];
  for (const suite of suites) {
    const values = suite.length > 0 ? ['--optional-values', 'k8s-version=1.36'] : [];
    const args = ['bundle', 'validate', folder, '--output', 'json-alpha1', ...suite, ...values];
    const { outputs } = JSON.parse(await outputOf(tool, args)) as {
      readonly outputs: readonly { readonly type: string; readonly message: string }[] | null;
    };
    for (const { type, message } of outputs ?? []) {
      if (/^(error|warning)$/i.test(type)) lines.push(`${type}: ${message}`);
    }
  }
  return `no error${findings.add('operator-sdk', [...new Set(lines)])}`;
}

/** What a tool prints, whether it ends with 0 or with the number of its findings. */
async function outputOf(tool: string, args: readonly string[]): Promise<string> {
  const script = '"$0" "$@" || [ $? -lt 125 ]';
  return run('sh', ['-c', script, tool, ...args]);
}

function chartOf({ root }: Release): string {
  return path.join(root, 'dist', 'chart');
}

/** Runs actionlint on the workflows; it needs no network. */
export async function lintWorkflows(): Promise<string> {
  const root = projectRoot();
  const folder = path.join(root, '.github', 'workflows');
  const names = (await readdir(folder)).filter((name) => /[.]ya?ml$/.test(name));
  const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')));
  if (texts.length === 0) throw new Error(`${folder}: no workflow`);
  const files = names.map((name) => path.join(folder, name));
  await run(await ensureTool('actionlint'), ['-shellcheck=', '-pyflakes=', ...files], {
    cwd: root,
  });
  return `${names.length} workflows`;
}
