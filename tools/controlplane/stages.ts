import { readdir, readFile } from 'node:fs/promises';

import { parse } from 'yaml';

import { type Api, type KubernetesObject, until } from './api.js';
import { asset } from './assets.js';

const STAGES = '/apis/kwok.x-k8s.io/v1alpha1/stages';

/** The stages of every cluster, and the kind that they are of; kwok starts after them. */
export async function createStages(api: Api): Promise<void> {
  const crd = await readStageFile('crd.yaml');
  await api.ensure('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  await until('the kind Stage', async () => {
    await api.request('GET', STAGES);
    return true;
  });
  const files = (await readdir(asset('kwok-stages'))).filter(
    (file) => file.endsWith('.yaml') && file !== 'crd.yaml',
  );
  const stages = await Promise.all(files.map(readStageFile));
  await Promise.all(stages.map((stage) => api.ensure(STAGES, stage)));
}

export function createStage(api: Api, stage: KubernetesObject): Promise<void> {
  return api.ensure(STAGES, stage);
}

export async function deleteStage(api: Api, name: string): Promise<void> {
  await api.request('DELETE', `${STAGES}/${name}`);
}

export function patchStage(api: Api, name: string, patch: unknown): Promise<unknown> {
  return api.mergePatch(`${STAGES}/${name}`, patch);
}

/** Reads one file of `kwok-stages/`. */
export async function readStageFile(file: string): Promise<KubernetesObject> {
  return parse(await readFile(asset('kwok-stages', file), 'utf8')) as KubernetesObject;
}
