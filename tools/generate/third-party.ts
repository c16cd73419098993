import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { importFiles } from './imports.js';
import { read, type Files } from './output.js';

/** CRDs in a Go module of a pinned version. */
interface ModuleCrds {
  readonly module: string;
  readonly version: string;
  readonly files: readonly string[];
}

const MODULES: readonly ModuleCrds[] = [
  {
    module: 'github.com/kedacore/keda/v2',
    version: 'v2.21.0',
    files: [
      'config/crd/bases/keda.sh_scaledobjects.yaml',
      'config/crd/bases/keda.sh_triggerauthentications.yaml',
    ],
  },
  {
    module: 'github.com/cert-manager/cert-manager',
    version: 'v1.21.2',
    files: ['deploy/crds/cert-manager.io_certificates.yaml'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator',
    version: 'v0.85.0',
    files: ['servicemonitors', 'prometheusrules'].map(
      (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
    ),
  },
];

/** Of operators whose Go module is not to be had: what we use of their API, from its documentation. */
const OWN_SUBSETS = [
  'tools/generate/crds/k8s.mariadb.com.yaml',
  'tools/generate/crds/postgresql.cnpg.io.yaml',
];

/** Imports of the kinds of others that we emit. Needs Go and its module proxy, so it runs on request only. */
export async function thirdPartyFiles(root: string): Promise<Files> {
  const files = new Map<string, string>();
  for (const { module, version, files: paths } of MODULES) {
    const dir = download(module, version);
    const crds = paths.map((path) => parse(readFileSync(join(dir, path), 'utf8')) as object);
    const found = await importFiles(crds.map(withoutProse), `${module} ${version}`);
    for (const [path, content] of found) files.set(path, content);
  }
  for (const path of OWN_SUBSETS) {
    const documents = parseAllDocuments(read(root, path) ?? '');
    const crds = documents.map((document) => document.toJS() as object);
    for (const [file, content] of await importFiles(crds, path)) files.set(file, content);
  }
  return files;
}

/** The folder of a module in Go's module cache. */
function download(module: string, version: string): string {
  const answer = execFileSync('go', ['mod', 'download', '-json', `${module}@${version}`], {
    encoding: 'utf8',
    cwd: '/',
  });
  return (JSON.parse(answer) as { Dir: string }).Dir;
}

/**
 * A CRD without its descriptions and validation rules: others' prose stays theirs.
 * A *property* that is called `description` stays, which is why `properties` is walked apart.
 */
function withoutProse(node: object): object {
  return walk(node, false) as object;
}

function walk(node: unknown, isProperties: boolean): unknown {
  if (Array.isArray(node)) return node.map((item: unknown) => walk(item, false));
  if (typeof node !== 'object' || node === null) return node;
  const kept = Object.entries(node).filter(
    ([key]) => isProperties || !['description', 'x-kubernetes-validations'].includes(key),
  );
  return Object.fromEntries(
    kept.map(([key, value]) => [key, walk(value, key === 'properties' && !isProperties)]),
  );
}
