import { mkdir, mkdtemp, readdir } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../../testbed/controlplane/run.js';
import type { Helm } from '../../testbed/helm/helm.js';
import { writeTarGz } from './tar.js';

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
