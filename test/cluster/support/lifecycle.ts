import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { objectKind } from '../../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../../constructs/registry.js';
import type { AuditEvent } from '../../../testbed/controlplane/audit.js';
import type { Answer, WrittenDocument } from '../../../testbed/stand-in/document-script.js';
import type { Cluster } from '../harness.js';
import { aBench, API_VERSION, aSecret, aSite } from './builders.js';
import {
  at,
  conditionOf,
  conditionsOf,
  type Live,
  type Manifest,
  nameOf,
  summaryOf,
} from './objects.js';
import { snapshot } from './snapshot.js';

/** What a user does with a namespace, in this order. */
export const OPERATIONS = ['create', 'change', 'upgrade', 'delete'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** For an operator that is killed again and again meanwhile. */
const TIMEOUT_MS = 300_000;
/** Lists of resources are shared by all namespaces for so long. */
const FRESH_MS = 1_900;
/** Schedules that no run of the tests meets: on one day in four years. */
const [SELDOM, SELDOM_TOO] = ['0 2 29 2 *', '0 3 29 2 *'];
/** The record of a Job that a fault may leave out: nothing needs it (ADR 31). */
const REOPEN_RECORD = /,\\"[^"\\]+-reopen\\":\\"HASH\\"/;
const OURS = DEFINITIONS.map((definition) => objectKind(definition).kind);
const few = { workerDefault: 0, workerShort: 0, workerLong: 0 };

/** The state of a namespace after an operation, object by object. */
export interface End {
  /** Objects, conditions of resources and documents as text, by `<kind>/<name>`. */
  readonly objects: ReadonlyMap<string, string>;
  /** Number of pods by Job. */
  readonly jobPods: Readonly<Record<string, number>>;
}

/** The documents of all sites, as `site_documents.py` would leave them. Their names have the namespace. */
export class SiteDocuments {
  readonly #known = new Map<string, string>();

  readonly answer = ({ doctype, name, state, ...content }: WrittenDocument): Answer => {
    const key = `${doctype} ${name}`;
    if (state === 'absent') return [this.#known.delete(key) ? 'Deleted' : 'Absent'];
    const outcome = this.#known.has(key) ? 'Changed' : 'Created';
    const { id: _, ...others } = content;
    this.#known.set(key, JSON.stringify(others));
    return [outcome];
  };

  of(namespace: string): readonly (readonly [name: string, text: string])[] {
    return [...this.#known]
      .filter(([key]) => key.split(/[ @.]/).includes(namespace))
      .map(([key, text]) => [
        `Document/${key.replaceAll(namespace, 'NAMESPACE')}`,
        text.replaceAll(namespace, 'NAMESPACE').replace(/\b[0-9a-f]{16}\b/g, 'HASH'),
      ]);
  }
}

/** Resources of all namespaces, listed at most once in two seconds. */
export class Resources {
  #listed = -Infinity;
  #lists: Promise<readonly Live[]> = Promise.resolve([]);

  constructor(private readonly cluster: Cluster) {}

  /** @param after the list is not older, by `performance.now()` */
  async of(namespace: string, after: number): Promise<readonly Live[]> {
    const now = performance.now();
    if (this.#listed < after || now - this.#listed > FRESH_MS) {
      this.#listed = now;
      this.#lists = Promise.all(OURS.map((kind) => this.cluster.list(kind, ''))).then((lists) =>
        lists.flat(),
      );
    }
    return (await this.#lists).filter(({ metadata }) => metadata.namespace === namespace);
  }
}

function ofSite(kind: string, name: string, spec: Readonly<Record<string, unknown>>): Manifest {
  const metadata = { name };
  return { apiVersion: API_VERSION, kind, metadata, spec: { siteRef: { name: 's' }, ...spec } };
}

const aJob = (name: string): Manifest => ofSite('SiteJob', name, { command: ['migrate'] });

const aBackup = (schedule: string): Manifest =>
  ofSite('SiteBackup', 'k', {
    schedule,
    destination: {
      s3: { endpoint: 'https://s3.example.com', bucket: 'backups', secretRef: { name: 'store' } },
    },
  });

/** The resources whose documents a site has. */
function documents(namespace: string, changed: boolean): readonly Manifest[] {
  return [
    ofSite('SiteUser', 'u', {
      email: `u@${namespace}.example.com`,
      firstName: changed ? 'Ann' : 'Anna',
    }),
    ofSite('SiteDashboardChart', 'c', {
      chartName: `Chart ${namespace}`,
      chartType: 'Count',
      documentType: 'ToDo',
      basedOn: changed ? 'modified' : 'creation',
    }),
    ofSite('SiteDashboard', 'd', {
      dashboardName: `Board ${namespace}`,
      charts: [{ chart: { name: 'c' }, width: changed ? 'Half' : 'Full' }],
    }),
    ofSite('SiteWorkspace', 'w', {
      title: `Room ${namespace}`,
      icon: changed ? 'tool' : 'home',
    }),
  ];
}

/** A namespace with resources of all kinds, that a user creates, changes, upgrades and deletes. */
export class Lifecycle {
  /** When each operation began and ended. */
  readonly times = new Map<Operation, readonly [from: number, until: number]>();
  #began = 0;
  #image = 'version-15';

  constructor(
    private readonly cluster: Cluster,
    readonly namespace: string,
    private readonly resources: Resources,
    private readonly siteDocuments: SiteDocuments,
  ) {}

  /** The user's part of an operation. */
  async begin(operation: Operation): Promise<void> {
    this.#began = Date.now();
    await this[operation]();
  }

  /** Waits until the operator has done its part. */
  async done(operation: Operation): Promise<void> {
    const begun = performance.now();
    await this.cluster.until(
      `${operation} in ${this.namespace}`,
      async () => {
        await sleep(1_000);
        const here = await this.resources.of(this.namespace, begun);
        if (operation === 'delete') {
          assert.deepEqual(here.map(summaryOf), []);
          return true;
        }
        const waiting = here.filter((live) => !this.#isSettled(live));
        assert.deepEqual(waiting.map(summaryOf), []);
        return here.length > 0;
      },
      TIMEOUT_MS,
    );
    this.times.set(operation, [this.#began, Date.now()]);
  }

  /** The present state. */
  async end(): Promise<End> {
    const { namespace } = this;
    const { objects, jobPods } = await snapshot(this.cluster, namespace);
    // Which documents a batch has depends on when they came.
    const isBatch = (text: string): boolean => text.includes('documents');
    const lists = await Promise.all(OURS.map((kind) => this.cluster.list(kind, namespace)));
    const resources = lists.flat().map((live): [string, string] => [nameOf(live), stateOf(live)]);
    return {
      objects: new Map([
        ...[...objects]
          .filter(([name]) => !isBatch(name))
          .map(([name, text]): [string, string] => [name, text.replace(REOPEN_RECORD, '')]),
        ...resources.map(([name, text]): [string, string] => [
          name,
          text.replaceAll(namespace, 'NAMESPACE'),
        ]),
        // A site that is dropped takes its documents with it.
        ...(lists.some((list) => list.some(({ kind }) => kind === 'AppSite'))
          ? this.siteDocuments.of(namespace)
          : []),
      ]),
      jobPods: Object.fromEntries(Object.entries(jobPods).filter(([name]) => !isBatch(name))),
    };
  }

  /** Waits until the state is another namespace's, and compares object by object. */
  async becomes(expected: End, what: string): Promise<void> {
    await this.cluster.until(
      `${this.namespace} to be as the undisturbed one`,
      async () => {
        const { objects, jobPods } = await this.end();
        assert.deepEqual([...objects.keys()].sort(), [...expected.objects.keys()].sort(), what);
        for (const [name, text] of expected.objects) {
          assert.equal(objects.get(name), text, `${what}: ${name}`);
        }
        assert.deepEqual(jobPods, expected.jobPods, `${what}: a Job runs twice`);
        await sleep(500);
        return true;
      },
      30_000,
    );
  }

  /** How often each Job was created during an operation, batches of documents apart. */
  jobs(calls: readonly AuditEvent[], operation: Operation): Readonly<Record<string, number>> {
    const [from, until] = this.times.get(operation) ?? [0, 0];
    const made: Record<string, number> = {};
    for (const call of calls) {
      const name = createdJob(call, this.namespace);
      const received = Date.parse(call.requestReceivedTimestamp);
      if (name && received >= from && received <= until) made[name] = (made[name] ?? 0) + 1;
    }
    return made;
  }

  private async create(): Promise<void> {
    await this.cluster.apply(
      this.namespace,
      aSecret('store', { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'y' }),
      aBench('b', { deletionPolicy: 'Delete', componentReplicas: { ...few, nginx: 2 } }),
      aSite('s', {
        bench: 'b',
        deletionPolicy: 'Delete',
        ingress: { enabled: true },
        componentReplicas: few,
      }),
      aJob('j'),
      aBackup(SELDOM),
      ...documents(this.namespace, false),
    );
  }

  /** Replaces Jobs and a StatefulSet, creates and prunes. */
  private async change(): Promise<void> {
    const { cluster, namespace } = this;
    await cluster.patch('AppBench', namespace, 'b', {
      spec: { componentReplicas: { nginx: 3 }, dbConfig: { storage: { size: '20Gi' } } },
    });
    await cluster.patch('AppSite', namespace, 's', {
      spec: { ingress: { enabled: false }, componentReplicas: { gunicorn: 2 } },
    });
    await cluster.apply(namespace, aJob('l'), aBackup(SELDOM_TOO), ...documents(namespace, true));
  }

  private async upgrade(): Promise<void> {
    const { cluster, namespace } = this;
    this.#image = 'version-15.1';
    await cluster.patch('AppBench', namespace, 'b', { spec: { frameworkVersion: this.#image } });
    await cluster.patch('AppSite', namespace, 's', { spec: { ingress: { enabled: true } } });
  }

  private async delete(): Promise<void> {
    const all = await this.resources.of(this.namespace, performance.now());
    // A bench without its finalizer would be gone at once, and its site could not be dropped.
    const benchLast = [...all].sort(
      (a, b) => Number(a.kind === 'AppBench') - Number(b.kind === 'AppBench'),
    );
    for (const live of benchLast) {
      await this.cluster.delete(live.kind, this.namespace, live.metadata.name);
    }
  }

  #isSettled(live: Live): boolean {
    const { metadata, kind, status = {} } = live;
    if (metadata.deletionTimestamp !== undefined) return false;
    if (status['observedGeneration'] !== metadata.generation) return false;
    if (kind === 'SiteJob') return status['phase'] === 'Succeeded';
    if (conditionOf(live, 'Ready')?.status !== 'True') return false;
    if (kind !== 'AppBench' && kind !== 'AppSite') return true;
    const isOnImage = String(status['image']).endsWith(`:${this.#image}`);
    return Boolean(status['appliedHash']) && isOnImage && status['upgrade'] === undefined;
  }
}

/** The name of the Job that a call has created; undefined for a batch of documents, and other calls. */
function createdJob({ objectRef, responseStatus }: AuditEvent, place: string): string | undefined {
  if (objectRef?.resource !== 'jobs' || responseStatus?.code !== 201) return undefined;
  const { name = '', namespace } = objectRef;
  return namespace === place && !name.includes('documents') ? name : undefined;
}

/** The phase and the conditions of a resource, without times. */
function stateOf(live: Live): string {
  const conditions = conditionsOf(live).map(({ type, status, reason, message }) =>
    `${type}=${status} ${reason}: ${message}`.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'),
  );
  const image = at(live, 'status.image');
  const phase = at(live, 'status.phase');
  return JSON.stringify({ phase, image, conditions: conditions.sort() }, undefined, 1);
}
