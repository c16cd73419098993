import { selectorText } from '../../../constructs/kit/labels.js';
import { metadataKeysFor } from '../../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../../constructs/kit/object.js';
import {
  ConfigMap,
  Deployment,
  Secret,
  type ObjectKind,
} from '../../../constructs/kit/object-kind.js';
import { OPERATOR, OPERATOR_SELECTOR, PORTS } from '../../../constructs/kit/operator-identity.js';
import { isForbidden, isNotFound } from '../../../runner/api/api-error.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import { VERSION } from '../../../runner/kit/version.js';
import type { ApiClient } from '../../kube/connect.js';
import { ServedKinds } from '../../kube/discovery.js';
import { serverMessageOf } from '../../kube/errors.js';
import { childKinds, listings, POD, resourceKinds } from '../../kube/kinds.js';
import { metricsPath } from '../../kube/metrics-path.js';
import {
  ClusterSnapshot,
  FORBIDDEN_LIST,
  listOf,
  omitted,
  type Omission,
} from '../../kube/snapshot.js';
import { renderTrees } from '../status/render-tree.js';
import { exportersIn } from '../status/queue-lengths.js';
import { statusOf } from '../status/reporter.js';
import { summaryOf } from '../status/summary.js';
import { toYaml } from '../../io/yaml.js';
import type { Archive } from './archive.js';
import { Omissions } from './omissions.js';
import { outlineOf, type Redaction } from './redaction.js';

const EVENT: ObjectKind = { apiVersion: 'v1', kind: 'Event', plural: 'events' };
const LEASE: ObjectKind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' };
const CRD: ObjectKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
};
const NODE: ObjectKind = { apiVersion: 'v1', kind: 'Node', plural: 'nodes' };
/** The last lines of each log. */
const LINES = 1_000;
/** The limit of each log. */
const BYTES = 1_000_000;
/** The limit of pods whose logs are read. */
const PODS = 200;

/** The operator's namespace may have other operators too. */
const OPERATOR_LABEL = selectorText(OPERATOR_SELECTOR);

interface ApiGroups {
  readonly groups: readonly {
    readonly name: string;
    readonly versions: readonly { readonly version: string }[];
  }[];
}

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

type Failure = Pick<Omission, 'why' | 'message'>;

export interface CollectorProps {
  readonly client: ApiClient;
  /** Cancels the collection. */
  readonly signal: AbortSignal;
  readonly archive: Archive;
  readonly redaction: Redaction;
  readonly apiGroup: string;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly operatorNamespace: string;
  /** Called with the name of each step. */
  readonly onStep: (step: string) => void;
}

/** Collects the files of a bug report in an archive, without secrets. */
export class Collector {
  readonly #omitted = new Omissions();
  readonly #served: ServedKinds;

  constructor(private readonly props: CollectorProps) {
    this.#served = new ServedKinds(props.client);
  }

  /** @returns what could not be read @throws the signal's reason once it is aborted */
  async collect(): Promise<Omissions> {
    const { signal, namespace, operatorNamespace, onStep } = this.props;
    onStep('Secrets: names, keys and sizes');
    await this.#secrets();
    onStep('served APIs');
    await this.#cluster();
    onStep(`operator in namespace ${operatorNamespace}`);
    await this.#operator();
    onStep('resources and their children');
    const snapshot = await this.#snapshot();
    for (const omission of snapshot.omitted) this.#omitted.add(omission);
    await this.#resources(snapshot);
    onStep('events');
    await this.#objects('events', await this.#list(EVENT, namespace));
    onStep('status tree');
    await this.#status(snapshot);
    await this.#scrapes(snapshot);
    await this.#logs('logs', snapshot.of(POD));
    // The status tree ignores failed requests, also cancelled ones.
    signal.throwIfAborted();
    await this.#json('MANIFEST.json', this.#manifest());
    return this.#omitted;
  }

  /** Runs first: the values of Secrets are redacted in every later file. */
  async #secrets(): Promise<void> {
    const { namespace, operatorNamespace, redaction } = this.props;
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
  }

  /** Unlike `takeSnapshot`, it accepts that custom resources are not served, or may not be listed. */
  async #snapshot(): Promise<ClusterSnapshot> {
    const { client, apiGroup, namespace } = this.props;
    const snapshot = new ClusterSnapshot();
    await Promise.all(
      listings(apiGroup).map(async (listing) => {
        try {
          snapshot.replace(listing.kind, await listOf(client, listing, namespace));
        } catch (error) {
          if (isNotFound(error) && !listing.required) return;
          if (isForbidden(error) && !(await this.#served.mayServe(listing.kind))) return;
          snapshot.omitted.push({
            ...omitted(listing.kind, namespace, ''),
            ...this.#listFailure(error),
          });
        }
      }),
    );
    return snapshot;
  }

  /** Why a kind could not be listed. @throws the signal's reason once it is aborted */
  #listFailure(error: unknown): Failure {
    if (isForbidden(error)) return { why: FORBIDDEN_LIST, message: this.#messageOf(error) };
    return { why: isNotFound(error) ? 'the cluster does not serve them' : this.#messageOf(error) };
  }

  /** Why something could not be read. @throws the signal's reason once it is aborted */
  #messageOf(error: unknown): string {
    this.props.signal.throwIfAborted();
    return this.props.redaction.text(serverMessageOf(error));
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
      omitted: this.#omitted.all,
      files: archive.names,
    };
  }

  async #cluster(): Promise<void> {
    const { apiGroup } = this.props;
    await this.#discovery('/version', 'cluster/version.json', (version) => version);
    await this.#discovery('/apis', 'cluster/apis.json', ({ groups }: ApiGroups) =>
      groups.map(
        ({ name, versions }) => `${name}: ${versions.map(({ version }) => version).join(', ')}`,
      ),
    );
    const crds = await this.#list(CRD, undefined);
    const own = crds.filter(({ metadata }) => metadata.name.endsWith(`.${apiGroup}`));
    // The schemas are in the release.
    await this.#objects(
      'cluster/crds',
      own.map(({ spec: _, ...crd }: KubeObject & { spec?: unknown }) => crd),
    );
    const nodes = await this.#list(NODE, undefined);
    await this.#json('cluster/nodes.json', nodes.map(nodeOutline));
  }

  /** Some clusters let no ordinary user read the discovery. */
  async #discovery<T>(
    path: string,
    file: string,
    content: (response: T) => unknown,
  ): Promise<void> {
    try {
      await this.#json(file, content(await this.props.client.request<T>('GET', path)));
    } catch (error) {
      if (!isForbidden(error)) throw error;
      this.#omitted.add({ what: path, why: 'forbidden: get', message: this.#messageOf(error) });
    }
  }

  async #operator(): Promise<void> {
    const { operatorNamespace: place } = this.props;
    for (const kind of [LEASE, EVENT])
      await this.#objects(`operator/${kind.plural}`, await this.#list(kind, place));
    const deployments = await this.#list(Deployment, place, OPERATOR_LABEL);
    await this.#objects('operator/deployments', deployments);
    const pods = await this.#list(POD, place, OPERATOR_LABEL);
    await this.#objects('operator/pods', pods);
    await this.#logs('operator/logs', pods);
    const service = `https:${OPERATOR.metricsService}:${PORTS.https}`;
    const source = { what: 'metrics of the operator', namespace: place };
    await this.#scrape('operator/metrics.txt', metricsPath(place, service), source);
  }

  async #resources(snapshot: ClusterSnapshot): Promise<void> {
    const { apiGroup } = this.props;
    const metadataKeys = metadataKeysFor(apiGroup);
    for (const kind of resourceKinds(apiGroup))
      await this.#objects(`resources/${kind.plural}`, snapshot.of(kind));
    for (const kind of childKinds()) {
      // Secrets have an outline only. The snapshot holds only the metadata of ConfigMaps.
      if (kind.kind === Secret.kind || !snapshot.lists(kind)) continue;
      const objects =
        kind.kind === ConfigMap.kind
          ? await this.#managed(kind, metadataKeys.owner)
          : snapshot.of(kind);
      await this.#objects(`children/${kind.plural}`, objects);
    }
    await this.#objects('children/pods', snapshot.of(POD));
  }

  async #managed(kind: ObjectKind, label: string): Promise<readonly KubeObject[]> {
    const { client, namespace } = this.props;
    return listOf(client, { kind, labelSelector: label }, namespace);
  }

  async #status(snapshot: ClusterSnapshot): Promise<void> {
    const { client, apiGroup, namespace, archive, redaction } = this.props;
    const report = await statusOf(snapshot, { client, apiGroup, namespace, selection: {} });
    const lines = renderTrees(report.resources, {
      colours: false,
      now: Date.now(),
      all: true,
      namespaces: namespace === undefined,
    });
    await archive.add(
      'status.txt',
      redaction.text([...lines, ...summaryOf(report), ''].join('\n')),
    );
    await this.#json('status.json', report);
  }

  async #scrapes(snapshot: ClusterSnapshot): Promise<void> {
    for (const { resource, path } of exportersIn(snapshot, this.props.apiGroup)) {
      const { namespace = '', name } = resource.metadata;
      await this.#scrape(`metrics/${namespace}/${name}.txt`, path, {
        what: `metrics of ${name}`,
        namespace,
      });
    }
  }

  /** A scrape through the API server. */
  async #scrape(file: string, path: string, source: Omit<Omission, 'why'>): Promise<void> {
    const { client, archive, redaction } = this.props;
    try {
      const text = await client.request<string>('GET', path, { answer: 'text', timeoutMs: 5_000 });
      await archive.add(file, redaction.text(text));
    } catch (error) {
      this.#omitted.add({ ...source, why: this.#messageOf(error) });
    }
  }

  async #logs(folder: string, pods: readonly KubeObject[]): Promise<void> {
    const { onStep } = this.props;
    const some = (pods as readonly PodLike[]).slice(0, PODS);
    const rest = pods.length - some.length;
    if (rest > 0) this.#omitted.add({ what: `logs of ${rest} more pods`, why: 'too many' });
    for (const [index, pod] of some.entries()) {
      if (index % 10 === 0) onStep(`logs: pod ${index + 1} of ${some.length}`);
      await this.#logsOfPod(folder, pod);
    }
  }

  async #logsOfPod(folder: string, pod: PodLike): Promise<void> {
    const { initContainers = [], containers = [] } = pod.spec ?? {};
    for (const { name } of [...initContainers, ...containers]) {
      await this.#log(folder, pod, { container: name, previous: false });
      const status = pod.status?.containerStatuses?.find((one) => one.name === name);
      if ((status?.restartCount ?? 0) > 0)
        await this.#log(folder, pod, { container: name, previous: true });
    }
  }

  async #log(
    folder: string,
    pod: PodLike,
    { container, previous }: { readonly container: string; readonly previous: boolean },
  ): Promise<void> {
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
      const message = this.#messageOf(error);
      const failure = isForbidden(error)
        ? { why: 'forbidden: get pods/log', message }
        : { why: message };
      this.#omitted.add({ what: file, namespace, ...failure });
    }
  }

  async #list(
    kind: ObjectKind,
    namespace: string | undefined,
    labelSelector?: string,
  ): Promise<readonly KubeObject[]> {
    const listing = { kind, ...(labelSelector === undefined ? {} : { labelSelector }) };
    try {
      return await listOf(this.props.client, listing, namespace);
    } catch (error) {
      this.#omitted.add({ ...omitted(kind, namespace, ''), ...this.#listFailure(error) });
      return [];
    }
  }

  /** A file of YAML documents; none without objects. */
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

/** The fields of a node that affect pods, without its addresses. */
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
