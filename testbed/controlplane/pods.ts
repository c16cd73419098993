import { randomUUID } from 'node:crypto';

import { type AdminClient, ifExists } from './admin-client.js';
import { createDerivedStage, deleteStage, type DerivedStage, stagesKnown } from './stages.js';

/** Labels that a pod must have, all of them: `{ 'job-name': 'backup' }`. */
export type Labels = Readonly<Record<string, string>>;

/** What `failPods`, `holdPods` or `completePods` has begun, and `release` ends. */
export interface Interference {
  readonly stage: string;
  readonly labels: Labels;
}

export interface FailPodsOptions {
  /** Exit code of every container, not 0. Default: 1. */
  readonly exitCode?: number;
  /** Termination message of every container. Default: `failed on demand`. */
  readonly message?: string;
}

/** What is needed of a control plane. */
interface Cluster {
  readonly api: AdminClient;
}

/**
 * Lets pods with these labels fail, in all namespaces, those that run now and those to come, until
 * `release`. Once the promise resolves, no new pod escapes.
 */
export function failPods(
  { api }: Cluster,
  labels: Labels,
  { exitCode = 1, message = 'failed on demand' }: FailPodsOptions = {},
): Promise<Interference> {
  const name = `fail-${randomUUID().slice(0, 8)}`;
  const variables = { exitCode, message };
  return interfere(api, { name, file: 'pod-fail.yaml', matchLabels: labels, variables });
}

/**
 * Keeps pods with these labels from being Ready, in all namespaces, and Jobs of such pods from
 * completing: those that run now and those to come, until `release`. Once the promise resolves, no
 * new pod escapes.
 */
export function holdPods({ api }: Cluster, labels: Labels): Promise<Interference> {
  const name = `hold-${randomUUID().slice(0, 8)}`;
  return interfere(api, { name, file: 'pod-hold.yaml', matchLabels: labels });
}

/**
 * Lets pods of Jobs with these labels complete with a termination message, until `release`. Once the
 * promise resolves, no new pod escapes; those that have completed stay as they are.
 */
export function completePods(
  { api }: Cluster,
  labels: Labels,
  message: string,
): Promise<Interference> {
  const name = `complete-${randomUUID().slice(0, 8)}`;
  const variables = { message };
  return interfere(api, { name, file: 'pod-complete.yaml', matchLabels: labels, variables });
}

/** Ends an interference: held pods become Ready; failed ones stay so, and new ones succeed. */
export async function release({ api }: Cluster, { stage, labels }: Interference): Promise<void> {
  await deleteStage(api, stage);
  await stagesKnown(api);
  await nudge(api, labels);
}

async function interfere(api: AdminClient, stage: DerivedStage): Promise<Interference> {
  await createDerivedStage(api, stage);
  await stagesKnown(api);
  await nudge(api, stage.matchLabels);
  return { stage: stage.name, labels: stage.matchLabels };
}

/** kwok looks at a pod when it changes, so a change of the stages alone moves no pod. */
async function nudge(api: AdminClient, labels: Labels): Promise<void> {
  const patch = { metadata: { annotations: { 'kwok.test/nudge': randomUUID() } } };
  const paths = (await listPods(api, labels))
    .filter(({ status }) => status.phase !== 'Succeeded' && status.phase !== 'Failed')
    .map(({ metadata }) => `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`);
  await Promise.all(
    paths.map((path) =>
      api.until('a pod to be looked at', async () => {
        await ifExists(api.mergePatch(path, patch));
        return true;
      }),
    ),
  );
}

interface Pod {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: { readonly containers: readonly { readonly name: string }[] };
  readonly status: { readonly phase?: string };
}

/** The pods with these labels, of all namespaces. */
export async function listPods(api: AdminClient, labels: Labels): Promise<readonly Pod[]> {
  const selector = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const query = new URLSearchParams({ labelSelector: selector.join(',') });
  const list = await api.request('GET', `/api/v1/pods?${query.toString()}`);
  return (list as { readonly items: readonly Pod[] }).items;
}
