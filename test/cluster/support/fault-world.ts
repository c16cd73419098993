import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Cluster } from '../harness.js';
import { at, type Live, nameOf } from './objects.js';

/** What is in a namespace, apart from what differs between two namespaces of the same content. */
export interface Snapshot {
  /** Every object of the operator: what it is and says, by `<kind>/<name>`. */
  readonly objects: ReadonlyMap<string, string>;
  /** How many pods each Job has had. */
  readonly jobPods: Readonly<Record<string, number>>;
}

/** The pods of the Jobs that are there: those of others go a moment after their Job. */
function podsOfJobs(cluster: Cluster, namespace: string): Promise<readonly Live[]> {
  return cluster.until('pods of Jobs that are gone are gone, too', async () => {
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

/** An object as text, without what the server adds and without what is different in each namespace. */
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

/** The bytes of every Secret of the operator, by name; they must never change. */
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

/** Says what differs first: a whole world is too long to read. */
export function assertSameWorld(actual: Snapshot, expected: Snapshot, what: string): void {
  assert.deepEqual([...actual.objects.keys()].sort(), [...expected.objects.keys()].sort(), what);
  for (const [name, text] of expected.objects) {
    assert.equal(actual.objects.get(name), text, `${what}: ${name}`);
  }
}

/** Every owner of every object of the operator is there, once the garbage collector has been by. */
export async function assertNoOrphans(cluster: Cluster, namespace: string): Promise<void> {
  await cluster.until('nothing is without its owner', async () => {
    for (const child of await cluster.children(namespace)) {
      for (const { kind, name, uid } of child.metadata.ownerReferences ?? []) {
        const owner = await cluster.get(kind, namespace, name);
        assert.equal(owner?.metadata.uid, uid, `${nameOf(child)} belongs to what is not there`);
      }
    }
    return true;
  });
}

/**
 * Waits until an operator has written nothing for longer than a word in a status may wait. In looks, and not in
 * seconds: a machine that stood still has not been at rest.
 */
export async function atRest(cluster: Cluster, user: string): Promise<void> {
  let written: number | undefined;
  let looks = 0;
  await cluster.until(`${user} is at rest`, async () => {
    await sleep(500);
    const { length } = await cluster.writes({ user });
    looks = length === written ? looks + 1 : 0;
    written = length;
    return looks >= 20;
  });
}

/** The names of a bench's routes, as its nginx knows them. */
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
  timeoutMs?: number,
): Promise<void> {
  const check = (live: Live): boolean => at(live, 'status.sites') === sites;
  await cluster.becomes('AppBench', namespace, bench, {
    what: `has ${sites} sites`,
    check,
    timeoutMs,
  });
}
