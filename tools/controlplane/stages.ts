import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

import { parse } from 'yaml';

import { type Api, type KubernetesObject, until } from './api.js';
import { asset } from './assets.js';
import { FIRST_NODE } from './nodes.js';

const STAGES = '/apis/kwok.x-k8s.io/v1alpha1/stages';
const PING = 'kwok.test/ping';
const ECHO = 'kwok.test/echo';

/** The stages of every cluster, and the kind that they are of; kwok starts after them. */
export async function createStages(api: Api): Promise<void> {
  const crd = await readObject('crd.yaml');
  await api.ensure('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  await until('the kind Stage', async () => {
    await api.request('GET', STAGES);
    return true;
  });
  const files = (await readdir(asset('kwok-stages'))).filter(
    (file) => file.endsWith('.yaml') && file !== 'crd.yaml',
  );
  const stages = await Promise.all(files.map(readObject));
  await Promise.all(stages.map((stage) => api.ensure(STAGES, stage)));
}

/** A Stage of its own, made from one of the files: another name, other pods, other variables. */
export interface DerivedStage {
  readonly name: string;
  readonly file: string;
  readonly matchLabels: Readonly<Record<string, string>>;
  /** Values in place of those that the file's template gives its variables. Default: none. */
  readonly variables?: Readonly<Record<string, string | number>>;
}

export async function createDerivedStage(api: Api, derived: DerivedStage): Promise<void> {
  const { name, file, matchLabels, variables = {} } = derived;
  const stage = parseStage(replaceVariables(await readFile(fileOf(file), 'utf8'), variables));
  const { matchExpressions } = stage.spec.selector;
  await api.request('POST', STAGES, {
    ...stage,
    metadata: { name },
    spec: { ...stage.spec, selector: { matchLabels, matchExpressions } },
  });
}

export async function deleteStage(api: Api, name: string): Promise<void> {
  await api.request('DELETE', `${STAGES}/${name}`);
}

/**
 * Waits until kwok knows the Stages as they are now. Stages have no status, so one Stage echoes a
 * token on a node; kwok sees it after all that was changed before it, in the order of the watch.
 */
export async function stagesKnown(api: Api): Promise<void> {
  const token = randomUUID();
  const template = `annotations: { ${ECHO}: "${token}" }`;
  await api.mergePatch(`${STAGES}/node-echo`, {
    spec: { next: { patches: [{ type: 'merge', root: 'metadata', template }] } },
  });
  const node = `/api/v1/nodes/${FIRST_NODE}`;
  await until('kwok to know the stages', async () => {
    // kwok looks at a node when it changes.
    const ping = { metadata: { annotations: { [PING]: randomUUID() } } };
    const { metadata } = (await api.mergePatch(node, ping)) as Annotated;
    return metadata.annotations?.[ECHO] === token;
  });
}

interface Annotated {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

interface StageObject extends KubernetesObject {
  readonly spec: { readonly selector: { readonly matchExpressions: readonly unknown[] } };
}

function replaceVariables(text: string, variables: DerivedStage['variables'] = {}): string {
  let result = text;
  for (const [name, value] of Object.entries(variables)) {
    const definition = new RegExp(`\\$${name} := [^}]*`);
    if (!definition.test(result)) throw new Error(`the stage defines no variable ${name}`);
    result = result.replace(definition, () => `$${name} := ${JSON.stringify(value)} `);
  }
  return result;
}

function parseStage(text: string): StageObject {
  return parse(text) as StageObject;
}

async function readObject(file: string): Promise<KubernetesObject> {
  return parse(await readFile(fileOf(file), 'utf8')) as KubernetesObject;
}

function fileOf(name: string): string {
  return asset('kwok-stages', name);
}
