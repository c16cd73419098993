import { at, type Live, type Manifest } from '../../cluster/support/objects.js';
import { aBench } from '../../cluster/support/builders.js';
import { TAGS } from '../framework.js';
import type { E2e } from '../harness.js';

/** A bench with no more processes than serve a site: its jobs wait for ever. */
export function smallBench(name: string, spec: Readonly<Record<string, unknown>> = {}): Manifest {
  return aBench(name, {
    image: { tag: TAGS.bench },
    componentReplicas: {
      socketio: 0,
      scheduler: 0,
      workerDefault: 0,
      workerShort: 0,
      workerLong: 0,
    },
    ...spec,
  });
}

/** Deletes benches and sites with their namespace. Their databases are deleted with the volumes. */
export async function cleanUp(cluster: E2e, namespace: string): Promise<void> {
  const all = async (kind: string): Promise<readonly string[]> =>
    (await cluster.list(kind, namespace)).map(({ metadata }) => metadata.name);
  const annotations = { 'app-operator.io/skip-drop': 'true' };
  for (const [kind, patch] of [
    ['AppSite', { metadata: { annotations } }],
    ['AppBench', {}],
  ] as const) {
    const names = await all(kind);
    for (const name of names) await cluster.patch(kind, namespace, name, patch);
    for (const name of names) await cluster.delete(kind, namespace, name);
    for (const name of names) await cluster.deleted(kind, namespace, name, 120_000);
  }
  await cluster.delete('Namespace', '', namespace);
}

/** A pod that runs, by the value of its label `app`. */
export async function runningPod(cluster: E2e, namespace: string, app: string): Promise<string> {
  const isReady = (pod: Live): boolean =>
    pod.metadata.deletionTimestamp === undefined && at(pod, 'status.phase') === 'Running';
  const pods = await cluster.pods(namespace, `app=${app}`);
  const found = pods.find(isReady);
  if (!found) throw new Error(`no pod of ${app} runs`);
  return found.metadata.name;
}
