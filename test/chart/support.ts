import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { ensureHelm, Helm } from '../../testbed/helm/helm.js';
import { projectRoot } from '../../testbed/project-root.js';

export const CHART = path.join(projectRoot(), 'dist', 'chart');

/** The real Helm, with its files in a temporary folder. */
export async function startHelm(
  kubeconfig?: string,
): Promise<{ readonly helm: Helm; readonly stop: () => Promise<void> }> {
  const binary = await ensureHelm();
  const home = await mkdtemp(path.join(tmpdir(), 'app-operator-helm-'));
  return {
    helm: new Helm(binary, { home, ...(kubeconfig === undefined ? {} : { kubeconfig }) }),
    stop: () => rm(home, { recursive: true, force: true }),
  };
}
