import { execFileSync } from 'node:child_process';
// A named import of globSync fails on a Node.js that is too old before its version is checked.
import * as fs from 'node:fs';
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

const INTEGRATIONS = 'constructs/integrations';

/**
 * Typed imports of the kinds that integrations own: from `crds.json` in the folder of an integration,
 * which names CRDs in a Go module, or from `crds.yaml`, a subset written from the documentation where
 * the module cannot be had. Needs Go and its module proxy, so it runs on request only.
 */
export async function thirdPartyFiles(root: string): Promise<Files> {
  const files = new Map<string, string>();
  for (const path of fs.globSync(`${INTEGRATIONS}/*/crds.{json,yaml}`, { cwd: root }).sort()) {
    const { source, crds } = path.endsWith('.json') ? moduleCrds(root, path) : ownCrds(root, path);
    for (const [file, content] of await importFiles(crds, source)) files.set(file, content);
  }
  return files;
}

interface CrdSource {
  /** Where the CRDs are from, for the head of the generated file. */
  readonly source: string;
  readonly crds: readonly object[];
}

function moduleCrds(root: string, path: string): CrdSource {
  const { module, version, files } = JSON.parse(read(root, path) ?? '') as ModuleCrds;
  const dir = download(module, version);
  const crds = files.map((file) => parse(fs.readFileSync(join(dir, file), 'utf8')) as object);
  return { source: `${module} ${version}`, crds: crds.map(withoutProse) };
}

function ownCrds(root: string, path: string): CrdSource {
  const documents = parseAllDocuments(read(root, path) ?? '');
  return { source: path, crds: documents.map((document) => document.toJS() as object) };
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
