import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { toYaml } from '../../cli/io/yaml.js';
import { SOURCE_URL } from '../../constructs/project.js';
import { run } from '../../testbed/controlplane/run.js';
import type { Release } from './release.js';
import { sha256 } from './release.js';
import { writeTarGz } from './tar.js';
import { ensureTool } from './tools.js';

export const PLUGIN = 'appbench';
const PROGRAM = 'dist/lib/cli/main.js';

/** The archive of the plug-in for kubectl: the program with its dependencies, as in the image. */
export async function writeKrewArchive(release: Release, app: string): Promise<string> {
  const name = `kubectl-${PLUGIN}-${release.version}.tar.gz`;
  const stage = path.join(release.scratch, 'krew');
  // Krew takes no links: those of npm lead to programs of dependencies.
  const filter = (source: string): boolean => path.basename(source) !== '.bin';
  await cp(app, stage, { recursive: true, filter });
  await cp(path.join(release.root, 'LICENSE'), path.join(stage, 'LICENSE'));
  await chmod(path.join(stage, PROGRAM), 0o755);
  await writeTarGz(path.join(release.out, name), stage, ['.']);
  return name;
}

/** The manifest for the index of Krew, of one archive for all platforms with Node.js. */
export function krewManifest(version: string, archive: string, checksum: string): string {
  return toYaml([
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: PLUGIN },
      spec: {
        version: `v${version}`,
        homepage: SOURCE_URL,
        shortDescription: 'Show benches and sites of the Frappe Framework',
        description: DESCRIPTION,
        caveats: 'This plug-in needs Node.js 22.19 or newer on the PATH.\n',
        platforms: [
          {
            selector: {
              matchExpressions: [{ key: 'os', operator: 'In', values: ['linux', 'darwin'] }],
            },
            uri: `${SOURCE_URL}/releases/download/v${version}/${archive}`,
            sha256: checksum,
            bin: PROGRAM,
          },
        ],
      },
    },
  ]);
}

const DESCRIPTION = `Shows what app-operator runs: benches, their sites, backups and jobs as a tree, with what is wrong and
what to do. It previews manifests, compares them with the cluster, and writes a report for an issue.
`;

/** Writes the manifest beside the archive. @returns its name */
export async function writeKrewManifest(
  { version, out }: Release,
  archive: string,
): Promise<string> {
  const name = `${PLUGIN}.yaml`;
  const checksum = await sha256(path.join(out, archive));
  await writeFile(path.join(out, name), krewManifest(version, archive, checksum));
  return name;
}

/** Checks the manifest as Krew's index does, installs the plug-in with Krew, and runs it. */
export async function tryPlugin(
  { out, scratch }: Release,
  { archive, manifest }: { readonly archive: string; readonly manifest: string },
): Promise<void> {
  const file = path.join(out, manifest);
  await run(await ensureTool('validate-krew-manifest'), ['-manifest', file, '-skip-install']);
  const home = path.join(scratch, 'krew-root');
  await mkdir(home);
  const env = { ...process.env, KREW_ROOT: home, KREW_NO_UPGRADE_CHECK: '1' };
  const from = [`--manifest=${file}`, `--archive=${path.join(out, archive)}`];
  await run(await ensureTool('krew'), ['install', ...from], { env });
  const PATH = `${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
  const program = path.join(home, 'bin', `kubectl-${PLUGIN}`);
  const help = await run(program, ['help'], { env: { ...env, PATH } });
  if (!help.includes('status')) throw new Error(`${program}: no help: ${help}`);
}
