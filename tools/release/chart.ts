import { mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { CHART_REPOSITORY, PROJECT } from '../../constructs/project.js';
import { run } from '../../testbed/controlplane/run.js';
import { ensureHelm, Helm } from '../../testbed/helm/helm.js';
import type { Release } from './release.js';
import { writeTarGz } from './tar.js';

/** Helm with its files in the folder of a release. */
export async function helmOf({ scratch }: Release): Promise<Helm> {
  const home = path.join(scratch, 'helm');
  await mkdir(home, { recursive: true });
  return new Helm(await ensureHelm(), { home });
}

/**
 * Packages a chart as `helm package` does. Helm writes the time of the day into its archive; here equal
 * files give an equal archive.
 *
 * @returns the name of the archive in `out`
 */
export async function packageChart(
  helm: Helm,
  {
    chart,
    out,
    scratch,
  }: { readonly chart: string; readonly out: string; readonly scratch: string },
): Promise<string> {
  const folder = await mkdtemp(path.join(scratch, 'chart-'));
  await helm.run('package', chart, '--destination', folder);
  const [name = ''] = await readdir(folder);
  const files = path.join(folder, 'files');
  await mkdir(files);
  await run('tar', ['-xzf', path.join(folder, name), '-C', files]);
  await writeTarGz(path.join(out, name), files, await readdir(files));
  return name;
}

/** Pushes the chart. @returns its reference by digest */
export async function pushChart(
  release: Release,
  archive: string,
  registry: string,
): Promise<string> {
  const repository = `${registry}/${CHART_REPOSITORY.slice(CHART_REPOSITORY.indexOf('/') + 1)}`;
  const flags =
    registry === release.registry
      ? ['--plain-http']
      : ['--registry-config', path.join(homedir(), '.docker', 'config.json')];
  const helm = await helmOf(release);
  const { code, out, err } = await helm.try('push', archive, `oci://${repository}`, ...flags);
  const digest = /^Digest: (sha256:[0-9a-f]{64})$/m.exec(`${out}${err}`)?.[1];
  if (code !== 0 || digest === undefined) throw new Error(`helm push: ${err}`);
  return `${repository}/${PROJECT.name}@${digest}`;
}
