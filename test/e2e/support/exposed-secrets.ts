import { readdirSync, readFileSync } from 'node:fs';

import { at, type Live, nameOf } from '../../cluster/support/objects.js';
import type { E2e } from '../harness.js';
import { podLog } from './pod-log.js';

/** Shorter values, such as the user name `root`, do not count as secrets. */
const SHORTEST = 8;
const SAMPLE_MS = 100;
/** Kinds that hold no secret value; Secrets themselves are left out. */
const KINDS = [
  'AppBench',
  'AppSite',
  'ConfigMap',
  'Deployment',
  'Event',
  'Ingress',
  'Job',
  'NetworkPolicy',
  'PersistentVolumeClaim',
  'Pod',
  'ReplicaSet',
  'Service',
  'StatefulSet',
];

/** A text outside of Secrets, and where it is. */
interface Place {
  readonly where: string;
  readonly text: string;
}

/**
 * Records the arguments of all processes of this machine, those of pods included, also of
 * short-lived client programs.
 */
export class ArgumentLists {
  readonly #seen = new Set<string>();
  readonly #timer = setInterval(() => {
    this.#sample();
  }, SAMPLE_MS).unref();

  stop(): void {
    clearInterval(this.#timer);
  }

  get all(): readonly Place[] {
    return [...this.#seen].map((text) => ({
      where: `arguments of ${text.split(' ')[0] ?? ''}`,
      text,
    }));
  }

  #sample(): void {
    for (const id of readdirSync('/proc')) {
      if (!/^\d+$/.test(id)) continue;
      try {
        this.#seen.add(readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' '));
      } catch {
        // The process has ended meanwhile.
      }
    }
  }
}

/**
 * Finds values of Secrets of a namespace outside of Secrets: in objects with their status, events,
 * logs of all containers and of the operator, and argument lists. It searches for the value, its
 * base64 form, and the forms escaped for URLs and JSON.
 *
 * @returns the places, and how many values were searched in how many places; never a value itself
 */
export async function exposedSecrets(
  cluster: E2e,
  namespace: string,
  lists: ArgumentLists,
): Promise<{
  readonly exposed: readonly string[];
  readonly values: number;
  readonly places: number;
}> {
  const needles = (await cluster.list('Secret', namespace)).flatMap(needlesOf);
  const places = [...(await placesIn(cluster, namespace)), ...lists.all];
  const exposed = places.flatMap(({ where, text }) =>
    needles
      .filter(({ forms }) => forms.some((form) => text.includes(form)))
      .map(({ name }) => `${name} in ${where}`),
  );
  return { exposed: [...new Set(exposed)], values: needles.length, places: places.length };
}

function needlesOf(secret: Live): { readonly name: string; readonly forms: readonly string[] }[] {
  return Object.entries(secret.data ?? {}).flatMap(([key, base64]) => {
    const value = Buffer.from(base64, 'base64').toString();
    if (value.length < SHORTEST) return [];
    const forms = [value, base64, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
    return [{ name: `${nameOf(secret)} ${key}`, forms: [...new Set(forms)] }];
  });
}

async function placesIn(cluster: E2e, namespace: string): Promise<readonly Place[]> {
  const objects = await Promise.all(KINDS.map((kind) => cluster.list(kind, namespace)));
  const pods = await cluster.pods(namespace);
  const logs = await Promise.all(pods.flatMap((pod) => logsOf(cluster, namespace, pod)));
  return [
    ...objects.flat().map((object) => ({ where: nameOf(object), text: JSON.stringify(object) })),
    ...logs,
    { where: 'log of the operator', text: await cluster.operatorLogs() },
  ];
}

/** The logs of each container of a pod, also of replaced containers. */
function logsOf(cluster: E2e, namespace: string, pod: Live): Promise<Place>[] {
  const statuses = ['initContainerStatuses', 'containerStatuses'].flatMap(
    (field) => (at(pod, `status.${field}`) ?? []) as readonly ContainerStatus[],
  );
  return statuses
    .filter(({ containerID }) => containerID)
    .flatMap(({ name, restartCount }) =>
      [false, ...(restartCount > 0 ? [true] : [])].map(async (previous) => ({
        where: `log of ${pod.metadata.name}/${name}`,
        text: await podLog(cluster, namespace, pod.metadata.name, { container: name, previous }),
      })),
    );
}

interface ContainerStatus {
  readonly name: string;
  readonly containerID?: string;
  readonly restartCount: number;
}
