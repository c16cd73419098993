import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

import { parse } from 'yaml';

import type { Api, KubernetesObject } from './api.js';
import { asset } from './assets.js';
import { collectionOf } from './kinds.js';
import { FIRST_NODE, PING } from './nodes.js';

const STAGES = collectionOf('stages');
const ECHO = 'kwok.test/echo';

/** Creates the stages that every cluster has, one of each file in `kwok-stages/`. */
export async function createStages(api: Api): Promise<void> {
  const files = await readdir(asset('kwok-stages'));
  await Promise.all(files.map(async (file) => api.apply(STAGES, await readStage(file))));
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
  const { name, file, matchLabels, variables } = derived;
  const stage = await readStage(file, variables);
  const { matchExpressions } = stage.spec.selector;
  await api.request('POST', STAGES, {
    ...stage,
    metadata: { name },
    // A weight wins over the stages without one.
    spec: { weight: 1, ...stage.spec, selector: { matchLabels, matchExpressions } },
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
  let pinged = -Infinity;
  let pauseMs = 1_000;
  await api.until('kwok to know the stages', async () => {
    // kwok looks at a node when it changes, and begins anew when it changes again.
    if (performance.now() - pinged > pauseMs) {
      if (pinged > 0) pauseMs *= 2;
      pinged = performance.now();
      await api.mergePatch(node, { metadata: { annotations: { [PING]: randomUUID() } } });
    }
    const { metadata } = (await api.request('GET', node)) as Annotated;
    return metadata.annotations?.[ECHO] === token;
  });
}

interface Annotated {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

interface StageObject extends KubernetesObject {
  readonly spec: { readonly selector: { readonly matchExpressions: readonly unknown[] } };
}

function replaceVariables(
  text: string,
  variables: Readonly<Record<string, string | number>>,
): string {
  let result = text;
  for (const [name, value] of Object.entries(variables)) {
    const definition = new RegExp(`\\$${name} := [^}]*`);
    if (!definition.test(result)) throw new Error(`the stage defines no variable ${name}`);
    result = result.replace(definition, () => `$${name} := ${JSON.stringify(value)} `);
  }
  return result;
}

async function readStage(
  file: string,
  variables: DerivedStage['variables'] = {},
): Promise<StageObject> {
  const text = await readFile(asset('kwok-stages', file), 'utf8');
  return parse(replaceVariables(text, variables)) as StageObject;
}
