import { metadataKeysFor } from '../../../constructs/kit/labels.js';
import type { KubeObject } from '../../../constructs/kit/object.js';
import {
  ConfigMap,
  Deployment,
  Secret,
  type ObjectKind,
} from '../../../constructs/kit/object-kind.js';
import { OPERATOR, PORTS } from '../../../constructs/install/identity.js';
import { isForbidden, isNotFound } from '../../../runner/api/api-error.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import { VERSION } from '../../../runner/version.js';
import type { Asker } from '../../kube/connect.js';
import { CHILD_KINDS, listings, POD, resourceKinds } from '../../kube/kinds.js';
import { listOf, ClusterSnapshot, omitted, type Omission } from '../../kube/snapshot.js';
import { footerOf } from '../status/summary.js';
import { renderTrees } from '../status/render-tree.js';
import { StatusReporter } from '../status/reporter.js';
import { toYaml } from '../../io/yaml.js';
import type { Archive } from './archive.js';
import { outlineOf, type Redaction } from './redaction.js';

const EVENT: ObjectKind = { apiVersion: 'v1', kind: 'Event', plural: 'events' };
const LEASE: ObjectKind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' };
const CRD: ObjectKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
};
const NODE: ObjectKind = { apiVersion: 'v1', kind: 'Node', plural: 'nodes' };
/** Lines of each log, the last ones. */
const LINES = 1_000;
/** And not more bytes than this. */
const BYTES = 1_000_000;
/** Of how many pods logs are taken at most. */
const PODS = 200;

interface PodLike extends KubeObject {
  readonly spec?: {
    readonly initContainers?: readonly { readonly name: string }[];
    readonly containers?: readonly { readonly name: string }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly restartCount?: number;
    }[];
  };
}

export interface CollectorProps {
  readonly client: Asker;
  /** Ends it, with the signal's reason. */
  readonly signal: AbortSignal;
  readonly archive: Archive;
  readonly redaction: Redaction;
  readonly apiGroup: string;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly operatorNamespace: string;
  /** Told each step. */
  readonly onStep: (step: string) => void;
}

/** Puts into an archive what a bug report needs, without secrets. */
export class Collector {
  readonly #omitted: Omission[] = [];

  constructor(private readonly props: CollectorProps) {}

  async collect(): Promise<void> {
    const { signal, namespace, operatorNamespace, redaction, onStep } = this.props;
    // First of all: what is known of Secrets is taken out of everything else.
    onStep('Secrets: names, keys and sizes');
    const places =
      namespace === undefined ? [undefined] : [...new Set([namespace, operatorNamespace])];
    for (const place of places) {
      const secrets = await this.#list(Secret, place);
      redaction.learn(secrets);
      await this.#objects(
        `secrets${place === undefined ? '' : `-${place}`}`,
        secrets.map(outlineOf),
      );
    }
    onStep('what the cluster serves');
    await this.#cluster();
    onStep(`the operator in namespace ${operatorNamespace}`);
    await this.#operator();
    onStep('resources and their children');
    const snapshot = await this.#look();
    this.#omitted.push(...snapshot.omitted);
    await this.#resources(snapshot);
    onStep('events');
    await this.#objects('events', await this.#list(EVENT, namespace));
    onStep('the status tree');
    await this.#status(snapshot);
    await this.#metricsOfBenches(snapshot);
    await this.#logs('logs', snapshot.of(POD));
    // Who asks for logs and queues in the tree passes over what fails.
    signal.throwIfAborted();
    await this.#json('MANIFEST.json', this.#manifest());
  }

  /** All that there is to see. Kinds of ours that are not served are no reason not to write the rest. */
  async #look(): Promise<ClusterSnapshot> {
    const { client, apiGroup, namespace } = this.props;
    const snapshot = new ClusterSnapshot();
    await Promise.all(
      listings(apiGroup).map(async (listing) => {
        try {
          snapshot.replace(listing.kind, await listOf(client, listing, namespace));
        } catch (error) {
          if (isNotFound(error) && !listing.required) return;
          snapshot.omitted.push(omitted(listing.kind, namespace, this.#whyNot(error)));
        }
      }),
    );
    return snapshot;
  }

  /** Why objects are not in the report. @throws the signal's reason, where that is why */
  #whyNot(error: unknown): string {
    if (isForbidden(error)) return 'you may not list them';
    return isNotFound(error) ? 'the cluster does not serve them' : this.#why(error);
  }

  /** Why something is not in the report. @throws the signal's reason, where that is why */
  #why(error: unknown): string {
    this.props.signal.throwIfAborted();
    return error instanceof Error ? error.message : String(error);
  }

  #manifest(): unknown {
    const { archive, redaction, namespace, operatorNamespace, apiGroup } = this.props;
    return {
      version: 1,
      appOperator: VERSION,
      node: process.version,
      time: new Date().toISOString(),
      namespace: namespace ?? null,
      operatorNamespace,
      apiGroup,
      redacted: redaction.count,
      omitted: this.#omitted,
      files: archive.names,
    };
  }

  async #cluster(): Promise<void> {
    const { client, apiGroup } = this.props;
    await this.#json('cluster/version.json', await client.request('GET', '/version'));
    const { groups } = await client.request<{
      groups: readonly { name: string; versions: readonly { version: string }[] }[];
    }>('GET', '/apis');
    await this.#json(
      'cluster/apis.json',
      groups.map(
        ({ name, versions }) => `${name}: ${versions.map(({ version }) => version).join(', ')}`,
      ),
    );
    const crds = await this.#list(CRD, undefined);
    const ours = crds.filter(({ metadata }) => metadata.name.endsWith(`.${apiGroup}`));
    // Their schemas are the release's.
    await this.#objects(
      'cluster/crds',
      ours.map(({ spec: _, ...crd }: KubeObject & { spec?: unknown }) => crd),
    );
    const nodes = await this.#list(NODE, undefined);
    await this.#json('cluster/nodes.json', nodes.map(nodeOutline));
  }

  async #operator(): Promise<void> {
    const { operatorNamespace: place } = this.props;
    for (const kind of [Deployment, LEASE, EVENT])
      await this.#objects(`operator/${kind.plural}`, await this.#list(kind, place));
    const pods = await this.#list(POD, place);
    await this.#objects('operator/pods', pods);
    await this.#logs('operator/logs', pods);
    const service = `https:${OPERATOR.metricsService}:${PORTS.https}`;
    await this.#metrics('operator/metrics.txt', place, service, 'metrics of the operator');
  }

  async #resources(snapshot: ClusterSnapshot): Promise<void> {
    const { apiGroup } = this.props;
    const marks = metadataKeysFor(apiGroup);
    for (const kind of resourceKinds(apiGroup))
      await this.#objects(`resources/${kind.plural}`, snapshot.of(kind));
    for (const kind of CHILD_KINDS) {
      // Secrets have their outline, and ConfigMaps are asked for whole.
      if (kind.kind === Secret.kind || !snapshot.sees(kind)) continue;
      const objects =
        kind.kind === ConfigMap.kind ? await this.#ours(kind, marks.owner) : snapshot.of(kind);
      await this.#objects(`children/${kind.plural}`, objects);
    }
    await this.#objects('children/pods', snapshot.of(POD));
  }

  async #ours(kind: ObjectKind, label: string): Promise<readonly KubeObject[]> {
    const { client, namespace } = this.props;
    return listOf(client, { kind, labelSelector: label }, namespace);
  }

  async #status(snapshot: ClusterSnapshot): Promise<void> {
    const { client, apiGroup, namespace, archive, redaction } = this.props;
    const now = (): number => performance.now();
    const reporter = new StatusReporter({ client, apiGroup, namespace, wanted: {}, now });
    const report = await reporter.report(snapshot);
    const lines = renderTrees(report.resources, {
      colours: false,
      now: Date.now(),
      all: true,
      namespaces: namespace === undefined,
    });
    await archive.add('status.txt', redaction.text([...lines, ...footerOf(report), ''].join('\n')));
    await this.#json('status.json', report);
  }

  async #metricsOfBenches(snapshot: ClusterSnapshot): Promise<void> {
    const [bench] = resourceKinds(this.props.apiGroup).filter(({ kind }) => kind === 'AppBench');
    for (const { metadata } of bench ? snapshot.of(bench) : []) {
      const { namespace = '', name } = metadata;
      const file = `metrics/${namespace}/${name}.txt`;
      await this.#metrics(file, namespace, `${name}-metrics:metrics`, `metrics of ${name}`);
    }
  }

  /** A scrape through the API server, where there is somebody who answers. */
  async #metrics(file: string, namespace: string, service: string, what: string): Promise<void> {
    const { client, archive, redaction } = this.props;
    const path = `/api/v1/namespaces/${namespace}/services/${service}/proxy/metrics`;
    try {
      const text = await client.request<string>('GET', path, { answer: 'text', timeoutMs: 5_000 });
      await archive.add(file, redaction.text(text));
    } catch (error) {
      this.#omitted.push({ what, namespace, why: this.#why(error) });
    }
  }

  async #logs(folder: string, pods: readonly KubeObject[]): Promise<void> {
    const { onStep } = this.props;
    const some = (pods as readonly PodLike[]).slice(0, PODS);
    if (pods.length > some.length)
      this.#omitted.push({
        what: `logs of ${pods.length - some.length} more pods`,
        why: 'too many',
      });
    for (const [index, pod] of some.entries()) {
      if (index % 10 === 0) onStep(`logs: pod ${index + 1} of ${some.length}`);
      const { initContainers = [], containers = [] } = pod.spec ?? {};
      for (const { name } of [...initContainers, ...containers]) {
        await this.#log(folder, pod, name, false);
        const status = pod.status?.containerStatuses?.find((one) => one.name === name);
        if ((status?.restartCount ?? 0) > 0) await this.#log(folder, pod, name, true);
      }
    }
  }

  async #log(folder: string, pod: PodLike, container: string, previous: boolean): Promise<void> {
    const { client, archive, redaction } = this.props;
    const { namespace = '', name } = pod.metadata;
    const query = {
      container,
      previous: String(previous),
      tailLines: String(LINES),
      limitBytes: String(BYTES),
    };
    const file = `${folder}/${namespace}/${name}/${container}${previous ? '.previous' : ''}.log`;
    try {
      const path = resourcePath(POD, namespace, name, 'log');
      const text = await client.request<string>('GET', path, {
        query,
        answer: 'text',
        timeoutMs: 20_000,
      });
      if (text !== '') await archive.add(file, redaction.text(text));
    } catch (error) {
      const why = isForbidden(error) ? 'you may not get pods/log' : this.#why(error);
      this.#omitted.push({ what: file, namespace, why });
    }
  }

  async #list(kind: ObjectKind, namespace: string | undefined): Promise<readonly KubeObject[]> {
    try {
      return await listOf(this.props.client, { kind }, namespace);
    } catch (error) {
      this.#omitted.push(omitted(kind, namespace, this.#whyNot(error)));
      return [];
    }
  }

  /** A file of YAML documents, where there are any. */
  async #objects(name: string, objects: readonly unknown[]): Promise<void> {
    const { archive, redaction } = this.props;
    if (objects.length === 0) return;
    const clean = objects.map((object) => redaction.object(withoutManagers(object)) as object);
    await archive.add(`${name}.yaml`, toYaml(clean));
  }

  async #json(name: string, value: unknown): Promise<void> {
    const { archive, redaction } = this.props;
    await archive.add(name, `${JSON.stringify(redaction.object(value), undefined, 2)}\n`);
  }
}

function withoutManagers(object: unknown): unknown {
  const { metadata, ...rest } = object as { readonly metadata?: Readonly<Record<string, unknown>> };
  if (!metadata) return object;
  const { managedFields: _, ...others } = metadata;
  return { ...rest, metadata: others };
}

/** Of a node what matters to pods: not its addresses. */
function nodeOutline(node: KubeObject): unknown {
  const { spec = {}, status = {} } = node as {
    readonly spec?: { readonly taints?: unknown; readonly unschedulable?: unknown };
    readonly status?: Readonly<Record<string, unknown>>;
  };
  const { nodeInfo, allocatable, conditions } = status;
  return {
    name: node.metadata.name,
    taints: spec.taints,
    unschedulable: spec.unschedulable,
    nodeInfo,
    allocatable,
    conditions,
  };
}
