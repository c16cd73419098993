import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SOURCE_URL } from '../../constructs/project.js';
import { cacheRoot } from '../../testbed/controlplane/binaries.js';
import { run } from '../../testbed/controlplane/run.js';
import type { Release } from './release.js';

/** The name of the document. */
export const SBOM = 'sbom.spdx.json';

interface Package {
  readonly SPDXID: string;
  readonly [field: string]: unknown;
}

/** The parts of an SPDX 2.3 document that are read here. */
interface Document {
  readonly creationInfo: object;
  readonly documentDescribes: readonly string[];
  readonly packages: readonly Package[];
  readonly relationships: readonly object[];
}

/** Writes the SBOM of the image: the npm packages that it has, and its base image by digest. */
export async function writeSbom({
  root,
  out,
  scratch,
  version,
  date,
  base,
}: Release): Promise<void> {
  const folder = path.join(scratch, 'sbom');
  await mkdir(folder);
  for (const file of ['package.json', 'package-lock.json']) {
    await copyFile(path.join(root, file), path.join(folder, file));
  }
  const flags = ['--omit=dev', '--sbom-format=spdx', '--sbom-type=application'];
  const text = await run('npm', ['sbom', '--package-lock-only', ...flags], { cwd: folder });
  const document = withBase(JSON.parse(withValidIds(text)) as Document, base);
  const complete = {
    ...document,
    // npm names the document at random, and writes fractions of seconds, which SPDX does not know.
    documentNamespace: `${SOURCE_URL}/releases/download/v${version}/${SBOM}`,
    creationInfo: { ...document.creationInfo, created: `${date}T00:00:00Z` },
  };
  await writeFile(path.join(out, SBOM), `${JSON.stringify(complete, undefined, 2)}\n`);
}

/** npm keeps underlines of names in identifiers, which SPDX does not allow. */
export function withValidIds(text: string): string {
  return text.replace(/"SPDXRef-[^"]*"/g, (id) => id.replaceAll('_', '-'));
}

/** The base has an SBOM of its own: this document says which image it is. */
export function withBase(document: Document, base: string): Document {
  const [image = '', digest = ''] = base.split('@');
  const SPDXID = 'SPDXRef-Base-Image';
  const [name = '', tag = ''] = image.split(':');
  const purl = `pkg:oci/${name}@${encodeURIComponent(digest)}?tag=${tag}`;
  const packageOfBase: Package = {
    SPDXID,
    name: image,
    versionInfo: digest,
    primaryPackagePurpose: 'CONTAINER',
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    externalRefs: [
      { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl },
    ],
  };
  const relationships = document.documentDescribes.map((spdxElementId) => ({
    spdxElementId,
    relationshipType: 'DESCENDANT_OF',
    relatedSpdxElement: SPDXID,
  }));
  return {
    ...document,
    packages: [...document.packages, packageOfBase],
    relationships: [...document.relationships, ...relationships],
  };
}

/** Validates the document with the tools of the SPDX project. @returns the number of packages */
export async function validateSbom({ root, out }: Release): Promise<number> {
  const file = path.join(out, SBOM);
  await run(path.join(await validator(root), 'bin', 'pyspdxtools'), ['-i', file]);
  return (JSON.parse(await readFile(file, 'utf8')) as Document).packages.length;
}

/** The virtual environment of the validator: its pins name it. */
async function validator(root: string): Promise<string> {
  const pins = path.join(root, 'tools/release/requirements.txt');
  const hash = createHash('sha256')
    .update(await readFile(pins))
    .digest('hex')
    .slice(0, 12);
  const folder = path.join(cacheRoot(), 'release-tools', `spdx-${hash}`);
  const complete = path.join(folder, 'complete');
  const present = await readFile(complete).then(
    () => true,
    () => false,
  );
  if (present) return folder;
  await run('python3', ['-m', 'venv', '--clear', folder]);
  const pip = ['install', '--quiet', '--disable-pip-version-check', '--no-deps', '-r', pins];
  await run(path.join(folder, 'bin', 'pip'), pip);
  await writeFile(complete, '');
  return folder;
}
