import { randomUUID } from 'node:crypto';

import { selectorText } from '../../constructs/kit/labels.js';
import { type AdminClient, ifExists } from './admin-client.js';
import { createDerivedStage, deleteStage, type DerivedStage, stagesKnown } from './kwok-stages.js';

/** Labels that a pod must have, all of them: `{ 'job-name': 'backup' }`. */
export type Labels = Readonly<Record<string, string>>;

/** The result of `failPods`, `holdPods` or `completePods`; `release` ends it. */
export interface Interference {
  readonly stage: string;
  readonly labels: Labels;
}

export interface FailPodsOptions {
  /** Exit code of every container, not 0. Default: 1. */
  readonly exitCode?: number;
  /** Termination message of every container. Default: `failed on demand`. */
  readonly message?: string;
  /** Only pods of this namespace. Default: of all. */
  readonly namespace?: string;
}

/** The part of a control plane that these functions use. */
interface Cluster {
  readonly api: AdminClient;
}

/**
 * Makes running and new pods with these labels fail, in all namespaces, until `release`. Once the
 * promise resolves, every new pod fails.
 */
export function failPods(
  { api }: Cluster,
  labels: Labels,
  { exitCode = 1, message = 'failed on demand', namespace }: FailPodsOptions = {},
): Promise<Interference> {
  const name = `fail-${randomUUID().slice(0, 8)}`;
  const variables = { exitCode, message };
  return interfere(api, { name, file: 'pod-fail.yaml', matchLabels: labels, namespace, variables });
}

/**
 * Keeps running and new pods with these labels from being Ready, in all namespaces, and their Jobs
 * from completing, until `release`. Once the promise resolves, every new pod is kept.
 */
export function holdPods({ api }: Cluster, labels: Labels): Promise<Interference> {
  const name = `hold-${randomUUID().slice(0, 8)}`;
  return interfere(api, { name, file: 'pod-hold.yaml', matchLabels: labels });
}

/**
 * Completes pods of Jobs with these labels with a termination message, and with what the container
 * runtime names as their image, until `release`. Once the
 * promise resolves, every new pod completes so; completed pods do not change.
 */
export function completePods(
  { api }: Cluster,
  labels: Labels,
  message: string,
  imageID = '',
): Promise<Interference> {
  const name = `complete-${randomUUID().slice(0, 8)}`;
  const variables = { message, imageID };
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

/** kwok reconciles a pod when the pod changes: a change of the stages alone has no effect. */
async function nudge(api: AdminClient, labels: Labels): Promise<void> {
  const patch = { metadata: { annotations: { 'kwok.test/nudge': randomUUID() } } };
  const paths = (await listPods(api, labels))
    .filter(({ status }) => status.phase !== 'Succeeded' && status.phase !== 'Failed')
    .map(({ metadata }) => `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`);
  await Promise.all(
    paths.map((path) =>
      api.until('a pod to be patched', async () => {
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
  const query = new URLSearchParams({ labelSelector: selectorText(labels) });
  const list = await api.request('GET', `/api/v1/pods?${query.toString()}`);
  return (list as { readonly items: readonly Pod[] }).items;
}
