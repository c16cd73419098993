import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../constructs/kit/object.js';
import { ApiError, ConnectionError, isGone, isNotFound } from '../../../runner/api/api-error.js';
import { MERGE_PATCH, type Client } from '../../../runner/api/client.js';
import { listAll } from '../../../runner/api/list.js';

interface Workload extends KubeObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly succeeded?: number;
    readonly phase?: string;
  };
}

const RETRY_MS = 500;

/** How a kind's controller would report that all is well; undefined where it has reported it. */
type Report = (object: Workload, now: string) => object | undefined;

const REPORTS: Readonly<Record<string, Report>> = {
  '/apis/apps/v1/deployments': (object) =>
    ofReplicas(object, ({ replicas }) => ({ availableReplicas: replicas })),
  '/apis/apps/v1/statefulsets': (object) =>
    ofReplicas(object, ({ replicas }) => ({
      availableReplicas: replicas,
      currentReplicas: replicas,
      currentRevision: 'simulated',
      updateRevision: 'simulated',
    })),
  '/apis/batch/v1/jobs': ({ status }, now) =>
    status?.succeeded === undefined ? succeeded(now) : undefined,
  '/api/v1/persistentvolumeclaims': ({ status }) =>
    status?.phase === 'Bound' ? undefined : { phase: 'Bound' },
};

function ofReplicas(
  { metadata, spec, status }: Workload,
  more: (desired: { readonly replicas: number }) => object,
): object | undefined {
  const { generation = 0 } = metadata;
  if (status?.observedGeneration === generation) return undefined;
  const replicas = spec?.replicas ?? 1;
  const counts = { replicas, readyReplicas: replicas, updatedReplicas: replicas };
  return { observedGeneration: generation, ...counts, ...more({ replicas }) };
}

function succeeded(now: string): object {
  const condition = (type: string): object => ({
    ...{ type, status: 'True', reason: 'CompletionsReached', message: 'Reached completions' },
    ...{ lastProbeTime: now, lastTransitionTime: now },
  });
  return {
    ...{ startTime: now, completionTime: now },
    ...{ succeeded: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {} },
    conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
  };
}

/** Whether the API server is about to start. */
function isPassing(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && error.status === 429);
}

async function versionOf(client: Client, path: string): Promise<string> {
  return (await listAll(client, path, { versionOnly: true })).resourceVersion;
}

/** Called with each changed object. */
export type OnObject = (path: string, object: KubeObject) => void;

/**
 * Stands for the controllers of Kubernetes: workloads are available at once, Jobs succeed and claims are
 * bound, all without pods. It sees changes from now on. Resolves when it watches.
 */
export class SimulatedStatuses {
  readonly #stop = new AbortController();
  readonly #listeners = new Set<OnObject>();

  private constructor(
    private readonly client: Client,
    versions: ReadonlyMap<string, string>,
  ) {
    for (const [path, version] of versions) {
      this.#watch(path, version).catch((error: unknown) => {
        process.emitWarning(`${path} is no longer watched: ${String(error)}`);
      });
    }
  }

  static async start(client: Client): Promise<SimulatedStatuses> {
    const versions = new Map<string, string>();
    for (const path of Object.keys(REPORTS)) {
      versions.set(path, await versionOf(client, path));
    }
    return new SimulatedStatuses(client, versions);
  }

  /** @returns ends the calls */
  listen(listener: OnObject): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stop(): void {
    this.#stop.abort();
  }

  async #watch(path: string, from: string): Promise<void> {
    let version: string | undefined = from;
    const ended = (): boolean => this.#stop.signal.aborted;
    while (!ended()) {
      try {
        version ??= await versionOf(this.client, path);
        await this.#follow(path, version, (next) => (version = next));
      } catch (error) {
        if (ended()) return;
        // The API server is restarted after the copies are written, and does not report these.
        if (isGone(error)) version = undefined;
        else if (isPassing(error)) await sleep(RETRY_MS);
        else throw error;
      }
    }
  }

  async #follow(
    path: string,
    resourceVersion: string,
    onVersion: (version: string) => void,
  ): Promise<void> {
    const query = { resourceVersion, allowWatchBookmarks: 'true' };
    const options = { signal: this.#stop.signal, idleTimeoutMs: 300_000 };
    for await (const { type, object } of this.client.watch(path, query, options)) {
      onVersion(object.metadata.resourceVersion ?? resourceVersion);
      if (type === 'ADDED' || type === 'MODIFIED') this.#changed(path, object);
    }
  }

  #changed(path: string, object: KubeObject): void {
    for (const listener of this.#listeners) listener(path, object);
    this.#report(path, object).catch((error: unknown) => {
      process.emitWarning(`no status was written: ${String(error)}`);
    });
  }

  async #report(path: string, object: KubeObject): Promise<void> {
    const status = REPORTS[path]?.(object, new Date().toISOString().replace(/\.\d+/, ''));
    if (!status) return;
    const { namespace = '', name } = object.metadata;
    const cut = path.lastIndexOf('/');
    const to = `${path.slice(0, cut)}/namespaces/${namespace}${path.slice(cut)}/${name}/status`;
    try {
      await this.client.request('PATCH', to, {
        query: { fieldManager: 'simulated' },
        contentType: MERGE_PATCH,
        body: { status },
        timeoutMs: 300_000,
      });
    } catch (error) {
      if (!isNotFound(error) && !this.#stop.signal.aborted) throw error;
    }
  }
}
