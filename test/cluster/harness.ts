import { setTimeout as sleep } from 'node:timers/promises';

import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { ifExists } from '../../testbed/controlplane/admin-client.js';
import { type AuditEvent, AuditLog } from '../../testbed/controlplane/audit.js';
import { type ControlPlane, startControlPlane } from '../../testbed/controlplane/controlplane.js';
import type { ControlPlaneOptions } from '../../testbed/controlplane/options.js';
import { freePort } from '../../testbed/controlplane/ports.js';
import { deadline, timeLimit } from '../../testbed/timeouts.js';
import {
  conditionOf,
  at,
  CHILD_KINDS,
  kindNamed,
  isReady,
  type Live,
  type Manifest,
  nameOf,
  summaryOf,
} from './support/objects.js';
import { observed } from './support/observe.js';
import { argsOf, envOf, Operator, type OperatorOptions } from './support/operator.js';
import { Lease, prepareCluster } from './support/shared-control-plane.js';

/** A condition is polled soon at first, then less often: polls take time from what they wait for. */
const POLL_MS = { first: 50, most: 250, growth: 1.2 };
const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection'];

export interface CallFilter {
  readonly user?: string;
  readonly namespace?: string;
  /** Only requests that were received since then. */
  readonly since?: Date;
}

/** A state that a test waits for. */
export interface Expectation {
  /** What the object does or is, for the message: `is Ready`. */
  readonly what: string;
  readonly check: (object: Live) => boolean;
  /** Default: 120,000. */
  readonly timeoutMs?: number | undefined;
}

interface Watched<T> {
  readonly what: string;
  /** Undefined for an object that does not exist. */
  readonly check: (object: Live | undefined) => T | undefined;
  readonly timeoutMs?: number | undefined;
}

/** A control plane that knows our kinds, and the operators that tests run against it. */
export class Cluster {
  readonly #operators: Operator[] = [];
  #namespaces = 0;
  #audit: AuditLog | undefined;

  constructor(
    readonly controlPlane: ControlPlane,
    private readonly lease?: Lease,
  ) {}

  /** A fresh namespace, in which pods can run. */
  async namespace(): Promise<string> {
    const name = `test-${this.lease?.nextNamespace() ?? ++this.#namespaces}`;
    await this.apply('', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await this.until(`the service account of ${name}`, () =>
      this.get('ServiceAccount', name, 'default'),
    );
    return name;
  }

  /** Starts an operator; `stop` kills it at the latest. */
  async operator(args: readonly string[] = [], options: OperatorOptions = {}): Promise<Operator> {
    const { user = 'operator', groups = ['system:masters'], wait = true } = options;
    const kubeconfig = await this.controlPlane.userKubeconfig(user, groups);
    const env = envOf(options);
    const operator = new Operator({
      ...{ user, kubeconfig, env, args: [...argsOf(options), ...args] },
      ...(options.main === undefined ? {} : { main: options.main }),
    });
    this.#operators.push(operator);
    if (wait) await operator.logged('caches are filled');
    return operator;
  }

  freePort(): Promise<number> {
    return freePort();
  }

  /** Applies manifests by server-side apply, as a user, in their order. */
  async apply(namespace: string, ...manifests: readonly Manifest[]): Promise<readonly Live[]> {
    const answers: Live[] = [];
    for (const manifest of manifests) {
      const { metadata } = manifest;
      const place = metadata.namespace ?? (namespace || undefined);
      const path = resourcePath(kindNamed(manifest.kind), place, metadata.name);
      answers.push(
        await this.#send<Live>(
          'PATCH',
          `${path}?fieldManager=user&force=true`,
          manifest,
          'application/apply-patch+yaml',
        ),
      );
    }
    return answers;
  }

  /** Creates an object with all fields of the manifest, status and metadata included. */
  create(namespace: string, manifest: Manifest): Promise<Live> {
    return this.#send('POST', resourcePath(kindNamed(manifest.kind), namespace), manifest);
  }

  get(kind: string, namespace: string, name: string): Promise<Live | undefined> {
    return ifExists(this.#send<Live>('GET', pathOf(kind, namespace, name)));
  }

  /** An object that must exist. */
  async the(kind: string, namespace: string, name: string): Promise<Live> {
    const found = await this.get(kind, namespace, name);
    if (!found) throw new Error(`${kind}/${name} does not exist`);
    return found;
  }

  async list(kind: string, namespace: string, labels = ''): Promise<readonly Live[]> {
    return this.#list(kindNamed(kind), namespace, labels);
  }

  /** Merge-patches an object. */
  patch(kind: string, namespace: string, name: string, patch: unknown): Promise<Live> {
    const path = pathOf(kind, namespace, name);
    return this.#send('PATCH', path, patch, 'application/merge-patch+json');
  }

  /** Merge-patches an object through its subresource `status`. */
  patchStatus(kind: string, namespace: string, name: string, patch: unknown): Promise<Live> {
    const path = `${pathOf(kind, namespace, name)}/status`;
    return this.#send('PATCH', path, patch, 'application/merge-patch+json');
  }

  /** Deletes an object, if it exists. */
  async delete(
    kind: string,
    namespace: string,
    name: string,
    propagation: 'Background' | 'Foreground' = 'Background',
  ): Promise<void> {
    const path = pathOf(kind, namespace, name);
    await ifExists(this.#send('DELETE', `${path}?propagationPolicy=${propagation}`));
  }

  /** The operator's objects in a namespace, by kind and name. */
  async children(namespace: string): Promise<readonly Live[]> {
    return this.everything(namespace, `${MANAGED_BY_LABEL}=${MANAGED_BY}`);
  }

  /** All objects of the kinds of children in a namespace. */
  async everything(namespace: string, labels = ''): Promise<readonly Live[]> {
    const lists = CHILD_KINDS.map((kind) => this.#list(kind, namespace, labels));
    return (await Promise.all(lists))
      .flat()
      .filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt');
  }

  /**
   * Polls a condition until its value is neither undefined nor false, and returns the value. A condition
   * may throw to name what is missing: the error of the timeout shows the last message.
   */
  async until<T>(
    what: string,
    condition: () => Promise<T | undefined | false>,
    timeoutMs = 120_000,
  ): Promise<T> {
    const isOver = deadline(timeoutMs);
    for (let pollMs = POLL_MS.first; ; pollMs = Math.min(pollMs * POLL_MS.growth, POLL_MS.most)) {
      let last: unknown;
      try {
        const value = await condition();
        if (value !== undefined && value !== false) return value;
      } catch (error) {
        last = error;
      }
      if (isOver()) throw this.#notWithin(timeoutMs, what, last);
      await sleep(pollMs);
    }
  }

  #notWithin(timeoutMs: number, what: string, last: unknown): Error {
    const logs = this.#operators.map((operator) => `${operator.user}: ${operator.tail()}`);
    const state = last instanceof Error ? last.message : 'nothing';
    return new Error(
      `not within ${timeoutMs / 1000} s: ${what}\nlast: ${state}\n${logs.join('\n')}`,
      { cause: last },
    );
  }

  /**
   * Waits until a resource passes a check, and returns it. The error shows its last status and
   * the pods that are not scheduled.
   */
  async becomes(
    kind: string,
    namespace: string,
    name: string,
    { what, check, timeoutMs }: Expectation,
  ): Promise<Live> {
    const awaited = this.#watched(kind, namespace, name, {
      what,
      check: (object) => (object && check(object) ? object : undefined),
      timeoutMs,
    });
    return this.#withUnscheduledPods(namespace, awaited);
  }

  /** Checks an object now and at each change, until the check returns a value. It may throw to name what is missing. */
  async #watched<T>(
    kind: string,
    namespace: string,
    name: string,
    { what, check, timeoutMs = 120_000 }: Watched<T>,
  ): Promise<T> {
    using limit = timeLimit(timeoutMs);
    let last: unknown;
    const one = { kind: kindNamed(kind), namespace, name, signal: limit.signal };
    for await (const object of observed(this.controlPlane.api, one)) {
      last = new Error(summaryOf(object));
      try {
        const value = check(object);
        if (value !== undefined) return value;
      } catch (error) {
        last = error;
      }
    }
    throw this.#notWithin(timeoutMs, `${kind}/${name} ${what}`, last);
  }

  /** Waits until a bench or a site is Ready for its present spec. */
  ready(kind: string, namespace: string, name: string, timeoutMs?: number): Promise<Live> {
    return this.becomes(kind, namespace, name, { what: 'is Ready', check: isReady, timeoutMs });
  }

  /** Waits until all children of a resource are applied: a bench may be Ready before its exporter is. */
  applied(kind: string, namespace: string, name: string): Promise<Live> {
    return this.becomes(kind, namespace, name, {
      what: 'has all its children applied',
      check: (live) => Boolean(at(live, 'status.appliedHash')),
    });
  }

  async deleted(kind: string, namespace: string, name: string, timeoutMs?: number): Promise<void> {
    const awaited = this.#watched(kind, namespace, name, {
      what: 'is deleted',
      check: (object) => (object ? undefined : true),
      timeoutMs,
    });
    await this.#withUnscheduledPods(namespace, awaited);
  }

  /** The requests that the API server has answered, in the order of their answers; needs `audit`. */
  async calls({ user = 'operator', namespace, since }: CallFilter = {}): Promise<AuditEvent[]> {
    const { auditLog } = this.controlPlane;
    if (auditLog === undefined) throw new Error('start the cluster with { audit: true }');
    this.#audit ??= new AuditLog(auditLog, this.lease?.auditStart);
    return (await this.#audit.events()).filter(
      (event) =>
        event.user.username === user &&
        (namespace === undefined || event.objectRef?.namespace === namespace) &&
        (!since || Date.parse(event.requestReceivedTimestamp) >= since.getTime()),
    );
  }

  /** The writes, as `patch deployments/shop-gunicorn`, without those of Events and Leases. */
  async writes(filter: CallFilter = {}): Promise<string[]> {
    return (await this.calls(filter))
      .filter(({ verb, objectRef, responseStatus }) => {
        const { resource = '' } = objectRef ?? {};
        // A reconcile deletes an object that its cache still has.
        if (verb === 'delete' && responseStatus?.code === 404) return false;
        return WRITES.includes(verb) && resource !== 'events' && resource !== 'leases';
      })
      .map(({ verb, objectRef: { resource = '', name = '', subresource } = {} }) =>
        [`${verb} ${resource}`, name, subresource].filter(Boolean).join('/'),
      );
  }

  async stop(): Promise<void> {
    for (const operator of this.#operators) if (operator.running) operator.kill('SIGKILL');
    await Promise.all(this.#operators.map(({ exited }) => exited));
    await (this.lease?.release() ?? this.controlPlane.stop());
  }

  /** Adds the pods that are not scheduled to the message of a failure. */
  async #withUnscheduledPods<T>(namespace: string, awaited: Promise<T>): Promise<T> {
    try {
      return await awaited;
    } catch (error) {
      const unscheduled = await this.#unscheduledPods(namespace);
      if (error instanceof Error && unscheduled) error.message += `\n${unscheduled}`;
      throw error;
    }
  }

  /** Pods without a node, with the scheduler's message, and the phases of all PersistentVolumeClaims. */
  async #unscheduledPods(namespace: string): Promise<string> {
    const [pods, claims] = await Promise.all([
      this.list('Pod', namespace),
      this.list('PersistentVolumeClaim', namespace),
    ]);
    const waiting = pods.filter(({ spec }) => at(spec, 'nodeName') === undefined);
    if (waiting.length === 0) return '';
    const volumes = claims.map((claim) => {
      const deleting = claim.metadata.deletionTimestamp === undefined ? '' : ', terminating';
      return `${nameOf(claim)} ${String(at(claim, 'status.phase'))}${deleting}`;
    });
    const why = waiting.map(
      (pod) => `${nameOf(pod)} (${conditionOf(pod, 'PodScheduled')?.message ?? 'not yet tried'})`,
    );
    return `not scheduled: ${why.join(', ')}; claims: ${volumes.join(', ')}`;
  }

  async #list(kind: ObjectKind, namespace: string, labels: string): Promise<readonly Live[]> {
    const query = labels ? `?labelSelector=${encodeURIComponent(labels)}` : '';
    const path = `${resourcePath(kind, namespace || undefined)}${query}`;
    const { items } = await this.#send<{ items: readonly Live[] }>('GET', path);
    return items
      .map((item) => ({ ...item, apiVersion: kind.apiVersion, kind: kind.kind }))
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  async #send<T>(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<T> {
    return (await this.controlPlane.api.request(method, path, body, contentType)) as T;
  }
}

function pathOf(kind: string, namespace: string, name: string): string {
  return resourcePath(kindNamed(kind), namespace || undefined, name);
}

export interface ClusterOptions extends ControlPlaneOptions {
  /** Whether it needs a control plane that no other test file uses. Default: false. */
  readonly own?: boolean;
}

/** What every shared control plane has. */
const SHARED_OPTIONS = ['audit', 'persistentVolumes'];

/**
 * Leases a shared control plane, or starts one where none is free or the options ask for more.
 * Call it in `before`, and `cluster.stop()` in `after`.
 */
export async function startCluster({
  own = false,
  ...options
}: ClusterOptions = {}): Promise<Cluster> {
  const isShared = Object.keys(options).every((option) => SHARED_OPTIONS.includes(option));
  const lease = own || !isShared ? undefined : await Lease.take();
  if (lease) return new Cluster(lease.controlPlane, lease);
  return new Cluster(
    await startControlPlane({ persistentVolumes: 100, prepare: prepareCluster, ...options }),
  );
}

/** Applies a CustomResourceDefinition and waits until its objects can be listed. */
export async function installCrd(cluster: Cluster, crd: Manifest): Promise<void> {
  await cluster.apply('', crd);
  const { group, versions, names } = crd['spec'] as {
    readonly group: string;
    readonly versions: readonly { readonly name: string }[];
    readonly names: { readonly plural: string };
  };
  const path = `/apis/${group}/${versions[0]?.name ?? ''}/${names.plural}`;
  await cluster.until(`${names.plural} to be served`, async () => {
    await cluster.controlPlane.api.request('GET', path);
    return true;
  });
}
