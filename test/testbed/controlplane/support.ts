import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { ifExists, type KubernetesObject } from '../../../testbed/controlplane/admin-client.js';
import type { ControlPlane } from '../../../testbed/controlplane/controlplane.js';

const WAIT_MS = 120_000;

/** Collections of the kinds that these tests use, by the names that kubectl has for them. */
const COLLECTIONS: Readonly<Record<string, string>> = {
  configmap: '/api/v1/namespaces/default/configmaps',
  deployment: '/apis/apps/v1/namespaces/default/deployments',
  job: '/apis/batch/v1/namespaces/default/jobs',
  persistentvolumeclaim: '/api/v1/namespaces/default/persistentvolumeclaims',
  pod: '/api/v1/namespaces/default/pods',
  statefulset: '/apis/apps/v1/namespaces/default/statefulsets',
};

/** What these tests read of an object. */
interface Observed extends KubernetesObject {
  readonly status?: Readonly<Record<string, unknown>> & {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

function collectionOf(kind: string): string {
  const collection = COLLECTIONS[kind.toLowerCase()];
  if (collection === undefined) throw new Error(`${kind} is no kind of these tests`);
  return collection;
}

/** Path of `job/once`. */
function pathOf(what: string): string {
  const [kind = '', name = ''] = what.split('/');
  return `${collectionOf(kind)}/${name}`;
}

/** Reads one object, such as `job/once`. */
export async function get<T>({ api }: ControlPlane, what: string): Promise<T> {
  return (await api.request('GET', pathOf(what))) as T;
}

/** Reads the pods of a selector. */
export async function podsOf<T>({ api }: ControlPlane, selector: string): Promise<readonly T[]> {
  const query = new URLSearchParams({ labelSelector: selector }).toString();
  const list = await api.request('GET', `${collectionOf('pod')}?${query}`);
  return (list as { readonly items: readonly T[] }).items;
}

export async function apply(
  { api }: ControlPlane,
  ...objects: readonly KubernetesObject[]
): Promise<void> {
  for (const object of objects) await api.apply(collectionOf(object.kind), object);
}

/** Deletes an object, and waits until it does not exist. */
export async function remove(
  { api }: ControlPlane,
  what: string,
  propagation: 'Background' | 'Foreground' = 'Background',
): Promise<void> {
  const path = pathOf(what);
  await api.request('DELETE', `${path}?propagationPolicy=${propagation}`);
  await api.until(`${what} to be gone`, async () => {
    return (await ifExists(api.request('GET', path))) === undefined;
  });
}

/** Whether `Available`, or `Ready=False`, is so. */
function hasCondition({ status }: Observed, condition: string): boolean {
  const [type, value = 'True'] = condition.split('=');
  return status?.conditions?.some((one) => one.type === type && one.status === value) ?? false;
}

/** Waits until an object has a condition. */
export function untilCondition(
  cluster: ControlPlane,
  what: string,
  condition: string,
): Promise<void> {
  return cluster.api.until(
    `${what} to be ${condition}`,
    async () => hasCondition(await get<Observed>(cluster, what), condition),
    WAIT_MS,
  );
}

/** Waits until a field of an object's status has a value. */
export function untilStatus(
  cluster: ControlPlane,
  what: string,
  field: string,
  value: unknown,
): Promise<void> {
  return cluster.api.until(
    `${field} of ${what} to be ${String(value)}`,
    async () => (await get<Observed>(cluster, what)).status?.[field] === value,
    WAIT_MS,
  );
}

/** Waits until all pods of a selector, of which there must be some, are so. */
export function untilPods(
  cluster: ControlPlane,
  selector: string,
  check: { readonly condition?: string; readonly phase?: string },
): Promise<void> {
  const { condition, phase } = check;
  return cluster.api.until(
    `the pods of ${selector} to be ${condition ?? phase ?? ''}`,
    async () => {
      const pods = await podsOf<Observed>(cluster, selector);
      return (
        pods.length > 0 &&
        pods.every(
          (pod) =>
            (condition === undefined || hasCondition(pod, condition)) &&
            (phase === undefined || pod.status?.['phase'] === phase),
        )
      );
    },
    WAIT_MS,
  );
}

/** A Job that is tried `1 + backoffLimit` times. */
export function aJob(name: string, backoffLimit = 0): KubernetesObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { backoffLimit, template: podTemplate({}, 'Never') },
  };
}

export function aDeployment(
  name: string,
  annotations: Record<string, string> = {},
): KubernetesObject {
  const labels = { app: name };
  const template = podTemplate(labels, 'Always', annotations);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  };
}

export function aClaim(name: string, accessMode: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: [accessMode], resources: { requests: { storage: '1Gi' } } },
  };
}

export function podTemplate(
  labels: Record<string, string>,
  restartPolicy: string,
  annotations: Record<string, string> = {},
): unknown {
  const containers = [{ name: 'main', image: 'example.test/none:1' }];
  return { metadata: { labels, annotations }, spec: { restartPolicy, containers } };
}

/** Process ids of a group that have not ended; one that only waits to be reaped has. */
export function processesOf(group: number): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const [state, , pgrp] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        return Number(pgrp) === group && state !== 'Z';
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Waits until `check` is true, for some two minutes; returns whether it became so. */
export async function eventually(check: () => boolean): Promise<boolean> {
  for (let tries = 0; tries < 1_200; tries++) {
    if (check()) return true;
    await sleep(100);
  }
  return false;
}
