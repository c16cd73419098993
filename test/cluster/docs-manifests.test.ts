/** Applies what all pages have their reader apply, in the order of the index, to one API server. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { parseAllDocuments } from 'yaml';

import { startControlPlane } from '../../testbed/controlplane/controlplane.js';
import { projectRoot } from '../../testbed/project-root.js';
import { pagesInOrder, Reader, shellBlocks, stepsOf, type Step } from '../support/page-blocks.js';
import { Cluster } from './harness.js';
import { at, type Live } from './support/objects.js';

const NAMESPACE = 'shop';
const OURS = 'app-operator.io/v1alpha1';

/** Steps that this API server does not take, by page and start, with where they go. */
const ELSEWHERE: readonly (readonly [page: string, start: string, what: string])[] = [
  ['docs/gitops.md', '# operator/kustomization.yaml', 'a file for kustomize'],
  ['docs/gitops.md', 'namespace: operators', 'a file for kustomize'],
  ['docs/gitops.md', '# on each AppBench', 'annotations in any manifest'],
  ['docs/gitops.md', '# in the spec of the Application', 'an object of Argo CD'],
  ['docs/gitops.md', 'apiVersion: argoproj.io/v1alpha1', 'an object of Argo CD'],
  ['docs/gitops.md', 'apiVersion: kustomize.toolkit.fluxcd.io/v1', 'an object of Flux'],
  ['docs/gateway-api.md', 'listeners:', 'a part of a Gateway'],
  ['docs/certificates.md', 'apiVersion: cert-manager.io/v1', 'an object of cert-manager'],
  ['docs/monitoring.md', 'rule_files:', 'the configuration of a Prometheus'],
  ['docs/preview.md', 'name: preview', 'a workflow of GitHub'],
  ['docs/webhooks.md', 'apiVersion: apiserver.config.k8s.io/v1', 'a file for the API server'],
  ['docs/webhooks.md', 'apiVersion: v1\nkind: Config', 'a file for the API server'],
  ['docs/restore.md', 'kubectl -n new ', 'the namespace to which a site moves'],
  ['docs/preview.md', '# cdk8s.yaml', 'a file for cdk8s'],
];
/** The reader has version 15 on all pages. */
const UPGRADE = '"frameworkVersion": "version-16"';
/** What a reader puts in place of a variable. */
const VALUES = {
  digest: `sha256:${'4a'.repeat(32)}`,
};

let cluster: Cluster;
let reader: Reader;
before(async () => {
  cluster = new Cluster(await startControlPlane({ kwokNodes: 0 }));
  const { binaries, kubeconfig } = cluster.controlPlane;
  assert.ok(binaries.kubectl);
  reader = new Reader({ kubectl: binaries.kubectl, kubeconfig });
  // Without the image, and without waiting for its pods.
  await reader.types({
    heading: 'install',
    code: `npm run -s app-operator -- install --image app-operator:0.2.0 > install.yaml
kubectl apply --server-side -f install.yaml`,
  });
  for (const block of shellBlocks('first-site.md'))
    if (block.heading === '3. Create a namespace') await reader.types(block);
});
after(async () => {
  await cluster.stop();
  rmSync(reader.folder, { recursive: true });
});

/** The manifests in a step. */
function manifestsOf({ code, isYaml }: Step): readonly Live[] {
  const text = isYaml ? code : (/<<'EOF'\n([^]*?)^EOF$/m.exec(code)?.[1] ?? '');
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Live | null)
    .filter((object): object is Live => typeof object?.kind === 'string');
}

/** Whether a step changes objects of our kinds, and needs no pods. */
function isRun(step: Step): boolean {
  const { code, isYaml } = step;
  if (ELSEWHERE.some((each) => isAt(step, each)) || code.includes(UPGRADE)) return false;
  return (
    isYaml ||
    /^kubectl (-n \S+ )?(patch|annotate|scale) (app|site)[a-z]+[ /]/.test(code) ||
    /^kubectl apply -f (-|examples\/)/.test(code)
  );
}

function isAt({ page, code }: Step, [of, start]: (typeof ELSEWHERE)[number]): boolean {
  return page === of && code.startsWith(start);
}

/** The specs of what a step names, by kind and name. */
async function specsOf(step: Step): Promise<ReadonlyMap<string, unknown>> {
  const ours = manifestsOf(step).filter(({ apiVersion }) => apiVersion === OURS);
  const found = await Promise.all(
    ours.map(async ({ kind, metadata: { name } }) => {
      const live = await cluster.get(kind, NAMESPACE, name);
      return [`${kind} ${name}`, live && at(live, 'spec')] as const;
    }),
  );
  return new Map(found.filter(([, spec]) => spec !== undefined));
}

/** Applies a block of YAML, or types a command. All that a reader applies has one field manager. */
function run({ page, code, isYaml }: Step): Promise<string> {
  const apply = 'kubectl apply --server-side --force-conflicts';
  const typed = isYaml
    ? `${apply} -f - <<'EOF'\n${code}EOF\n`
    : code.replace(/^kubectl apply -f/, `${apply} -f`);
  return reader.types({ heading: page, code: typed }, VALUES);
}

/** @returns what is wrong with a step */
async function problemsOf(step: Step): Promise<readonly string[]> {
  const before_ = await specsOf(step);
  try {
    const output = await run(step);
    // A patch with such a field is taken without it.
    if (output.includes('unknown field')) return [`${step.page}: ${output}`];
  } catch (error) {
    return [(error as Error).message];
  }
  const now = await specsOf(step);
  return [...before_].flatMap(([name, spec]) => {
    const live = now.get(name) as object;
    const lost = Object.entries(spec as object).filter(
      ([field, value]) => !keeps(live, field, value),
    );
    return lost.map(([field]) => `${step.page}: ${name}: changes ${field} of an earlier block`);
  });
}

/** Whether a field has all that it had. */
function keeps(live: object, field: string, value: unknown): boolean {
  try {
    assert.partialDeepStrictEqual(live, { [field]: value });
    return true;
  } catch {
    return false;
  }
}

/** What the index calls manifests to copy. */
function exampleSteps(): readonly Step[] {
  const files = readdirSync(path.join(projectRoot(), 'examples')).sort();
  return files.map((file) => ({
    page: `examples/${file}`,
    code: readFileSync(path.join(projectRoot(), 'examples', file), 'utf8'),
    isYaml: true,
  }));
}

test('every block that goes elsewhere is in its page', () => {
  const steps = pagesInOrder().flatMap(stepsOf);
  const stale = ELSEWHERE.filter((each) => !steps.some((step) => isAt(step, each)));
  assert.deepEqual(stale, []);
});

test('the manifests of all pages can be applied, one page after the other', async () => {
  const problems: string[] = [];
  const steps = [...pagesInOrder().flatMap(stepsOf).filter(isRun), ...exampleSteps()];
  for (const step of steps) problems.push(...(await problemsOf(step)));
  assert.deepEqual(problems, []);
  const hosts = (await cluster.list('AppSite', NAMESPACE)).flatMap(hostsOf);
  assert.deepEqual(
    hosts.filter((host, index) => hosts.indexOf(host) !== index),
    [],
    'names of two sites of a bench',
  );
});

/** The names by which a site is reached, which no other site of its bench may have. */
function hostsOf({ spec }: Live): readonly string[] {
  const { benchRef, siteName, domain, aliases } = spec as {
    readonly benchRef: { readonly name: string };
    readonly siteName: string;
    readonly domain?: string;
    readonly aliases?: readonly string[];
  };
  const names = [siteName, ...(domain === undefined ? [] : [domain]), ...(aliases ?? [])];
  return [...new Set(names)].map((name) => `${benchRef.name}: ${name}`);
}
