import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Cluster } from '../harness.js';
import { at, type Live, nameOf } from './objects.js';

/** The objects of a namespace, without the names and ids that differ between namespaces. */
export interface Snapshot {
  /** Objects of the operator as text, by `<kind>/<name>`. */
  readonly objects: ReadonlyMap<string, string>;
  /** Number of pods by Job. */
  readonly jobPods: Readonly<Record<string, number>>;
}

/** Pods of the existing Jobs. The garbage collector deletes the pods of deleted Jobs first. */
function podsOfJobs(cluster: Cluster, namespace: string): Promise<readonly Live[]> {
  return cluster.until('the pods of deleted Jobs to be deleted', async () => {
    const jobs = new Set(
      (await cluster.list('Job', namespace)).map(({ metadata }) => metadata.uid),
    );
    const pods = await cluster.list('Pod', namespace, 'job-name');
    const left = pods.filter(
      ({ metadata }) => !jobs.has(metadata.labels?.['batch.kubernetes.io/controller-uid']),
    );
    assert.deepEqual(left.map(nameOf), []);
    return pods;
  });
}

export async function snapshot(cluster: Cluster, namespace: string): Promise<Snapshot> {
  const pods = await podsOfJobs(cluster, namespace);
  const children = await cluster.children(namespace);
  const jobPods: Record<string, number> = {};
  for (const { metadata } of pods) {
    const job = metadata.labels?.['job-name'] ?? '';
    jobPods[job] = (jobPods[job] ?? 0) + 1;
  }
  return {
    objects: new Map(children.map((child) => [nameOf(child), essence(child, namespace)])),
    jobPods,
  };
}

/** An object as text, without fields of the server and without names and ids of the namespace. */
function essence({ metadata, status: _, data, ...rest }: Live, namespace: string): string {
  const { labels, annotations = {}, ownerReferences } = metadata;
  const { ['deployment.kubernetes.io/revision']: _revision, ...others } = annotations;
  const content = rest.kind === 'Secret' ? Object.keys(data ?? {}) : data;
  const text = { labels, annotations: others, ownerReferences, ...rest, content };
  return JSON.stringify(text, undefined, 1)
    .replaceAll(namespace, 'NAMESPACE')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
    .replace(/\b[0-9a-f]{16}\b/g, 'HASH')
    .replace(/\b(s_[a-z_]+)_[0-9a-f]{10}\b/g, '$1_DIGEST')
    .replace(/"(clusterIPs?|volumeName)": (\[[^\]]*\]|"[^"]*")/g, '"$1": "…"');
}

/** Uid and data of every Secret of the operator, by name; they must never change. */
export async function secretsOf(
  cluster: Cluster,
  namespace: string,
): Promise<ReadonlyMap<string, string>> {
  const secrets = (await cluster.children(namespace)).filter(({ kind }) => kind === 'Secret');
  return new Map(
    secrets.map(({ metadata, data }) => [
      metadata.name,
      `${metadata.uid ?? ''} ${JSON.stringify(data)}`,
    ]),
  );
}

/** Compares object by object: the message has the first difference only. */
export function assertSameObjects(actual: Snapshot, expected: Snapshot, what: string): void {
  assert.deepEqual([...actual.objects.keys()].sort(), [...expected.objects.keys()].sort(), what);
  for (const [name, text] of expected.objects) {
    assert.equal(actual.objects.get(name), text, `${what}: ${name}`);
  }
}

/**
 * Waits until every owner of every object of the operator exists: the garbage collector may lag
 * behind.
 */
export async function assertNoOrphans(cluster: Cluster, namespace: string): Promise<void> {
  await cluster.until('every object to have its owners', async () => {
    for (const child of await cluster.children(namespace)) {
      for (const { kind, name, uid } of child.metadata.ownerReferences ?? []) {
        const owner = await cluster.get(kind, namespace, name);
        assert.equal(owner?.metadata.uid, uid, `${nameOf(child)} has an owner that does not exist`);
      }
    }
    return true;
  });
}

/**
 * Waits until an operator has written nothing for longer than a status update may be delayed.
 * Counts polls, not seconds: while the machine is suspended the operator cannot write.
 */
export async function atRest(cluster: Cluster, user: string): Promise<void> {
  let written: number | undefined;
  let polls = 0;
  await cluster.until(`${user} is at rest`, async () => {
    await sleep(500);
    const { length } = await cluster.writes({ user });
    polls = length === written ? polls + 1 : 0;
    written = length;
    return polls >= 20;
  });
}

/** Host names in the nginx configuration of a bench. */
export async function routesOf(
  cluster: Cluster,
  namespace: string,
  bench: string,
): Promise<readonly string[]> {
  const { data } = await cluster.the('ConfigMap', namespace, `${bench}-nginx`);
  const text = Object.values(data ?? {}).join('\n');
  return [...new Set(text.match(/\b[a-z0-9-]+\.example\.com\b/g) ?? [])].sort();
}

/** Waits until a bench's status counts so many sites. */
export async function countsSites(
  cluster: Cluster,
  namespace: string,
  bench: string,
  sites: number,
): Promise<void> {
  const check = (live: Live): boolean => at(live, 'status.sites') === sites;
  await cluster.becomes('AppBench', namespace, bench, {
    what: `has ${sites} sites`,
    check,
  });
}
