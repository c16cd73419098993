import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

import { parse } from 'yaml';

import type { AdminClient, KubernetesObject } from './admin-client.js';
import { ownFile } from '../own-file.js';
import { collectionOf } from './kwok-kinds.js';
import { withBackoff } from './backoff.js';

const STAGES = collectionOf('stages');
const ECHO = 'kwok.test/echo';
/** The node that `node-echo` is for. */
const ECHO_NODE = 'kwok-0';
/** Annotation that is changed to make kwok read a node, or the Stages, again. */
const PING = 'kwok.test/ping';

/** Creates the stages that every cluster has, one of each file in `kwok-stages/`. */
export async function createStages(api: AdminClient): Promise<void> {
  const files = await readdir(ownFile('controlplane', 'kwok-stages'));
  await Promise.all(files.map(async (file) => api.apply(STAGES, await readStage(file))));
}

/**
 * A Stage that is made from one of the files, with another name, other pods and other variables.
 */
export interface DerivedStage {
  readonly name: string;
  readonly file: string;
  readonly matchLabels: Readonly<Record<string, string>>;
  /** Only pods of this namespace. Default: of all. */
  readonly namespace?: string | undefined;
  /** Values that replace variables of the file's template. Default: none. */
  readonly variables?: Readonly<Record<string, string | number>>;
}

export async function createDerivedStage(api: AdminClient, derived: DerivedStage): Promise<void> {
  const { name, file, matchLabels, namespace, variables } = derived;
  const stage = await readStage(file, variables);
  const ofNamespace =
    namespace === undefined
      ? []
      : [{ key: '.metadata.namespace', operator: 'In', values: [namespace] }];
  const matchExpressions = [...stage.spec.selector.matchExpressions, ...ofNamespace];
  await api.request('POST', STAGES, {
    ...stage,
    metadata: { name },
    // A weight wins over the stages without one.
    spec: { weight: 1, ...stage.spec, selector: { matchLabels, matchExpressions } },
  });
}

export async function deleteStage(api: AdminClient, name: string): Promise<void> {
  await api.request('DELETE', `${STAGES}/${name}`);
}

/**
 * Waits until kwok knows the Stages as they are now, and acts on them.
 *
 * Stages have no status, so one of them echoes a token on a node; kwok sees it after all that was
 * changed before it, in the order of the watch. It does so twice, as kwok v0.7.0 keeps the list
 * that it has read for as long as the list's version is the same, and knows of the version before
 * it has all that belongs to it: what it begins for a kind, or plays on a pod, may lack what the
 * node already shows. Then the second change makes it read again.
 */
export async function stagesKnown(api: AdminClient): Promise<void> {
  await echo(api);
  await echo(api);
}

async function echo(api: AdminClient): Promise<void> {
  const token = randomUUID();
  const template = `annotations: { ${ECHO}: "${token}" }`;
  await changeEchoStage(api, {
    spec: { next: { patches: [{ type: 'merge', root: 'metadata', template }] } },
  });
  await pingNode(api, ECHO_NODE);
  const remind = withBackoff(async () => {
    await resendStages(api);
    await pingNode(api, ECHO_NODE);
  });
  await api.until('kwok to know the stages', async () => {
    const { metadata } = (await api.request('GET', pathOf(ECHO_NODE))) as Annotated;
    if (metadata.annotations?.[ECHO] === token) return true;
    await remind();
    return false;
  });
}

/** Makes kwok read all Stages again: one of them changes, in what means nothing. */
export async function resendStages(api: AdminClient): Promise<void> {
  await changeEchoStage(api, { metadata: { annotations: { [PING]: randomUUID() } } });
}

async function changeEchoStage(api: AdminClient, patch: unknown): Promise<void> {
  await api.mergePatch(`${STAGES}/node-echo`, patch);
}

/** Makes kwok read a node again. */
export async function pingNode(api: AdminClient, name: string): Promise<void> {
  await api.mergePatch(pathOf(name), { metadata: { annotations: { [PING]: randomUUID() } } });
}

function pathOf(node: string): string {
  return `/api/v1/nodes/${node}`;
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
  const text = await readFile(ownFile('controlplane', 'kwok-stages', file), 'utf8');
  return parse(replaceVariables(text, variables)) as StageObject;
}
