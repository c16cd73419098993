import assert from 'node:assert/strict';
import { after } from 'node:test';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';

import { type AuditEvent, readAudit } from '../../testbed/controlplane/audit.js';
import { printProgress, withProgress } from '../../testbed/controlplane/progress.js';
import { NODE_NAME } from '../../testbed/node/configs.js';
import { ensureImage, type ImageDefinition } from '../../testbed/node/image.js';
import { whyNot } from '../../testbed/node/machine.js';
import { type RealNode, startNode } from '../../testbed/node/node.js';
import { projectRoot } from '../../testbed/project-root.js';
import { Cluster } from '../cluster/harness.js';
import { at, type Live, type Manifest } from '../cluster/support/objects.js';
import { frappeImage, VERSIONS } from '../../testbed/stand-in/image.js';
import { EXAMPLES_VERSION, FRAMEWORK_IMAGE, TAGS } from './framework.js';
import { mariadb } from '../../testbed/images/mariadb.js';
import { operator, OPERATOR_IMAGE } from '../../testbed/images/operator.js';
import { postgres } from '../../testbed/images/postgres.js';
import { redis } from '../../testbed/images/redis.js';
import { Figures } from '../support/figures.js';
import { Timeline } from '../support/timeline.js';
import {
  type Answer,
  type Load,
  loadDuring,
  type RequestOptions,
  send,
  STALL_WINDOW_MS,
} from '../support/http.js';

export const OPERATOR_NAMESPACE = 'app-operator-system';
export const OPERATOR_NAME = 'app-operator-controller-manager';
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' };
/** Timeout of a bench with its database. */
const READY_MS = 240_000;
/**
 * A machine that is suspended for longer, within six seconds, loses requests whatever the operator
 * does. A busy machine is below it: 300 with three processes for each processor, 900 with seven.
 */
const STALL_MS = 2_000;

/** The reason why this machine runs no real pods, or false: an option of every end-to-end test. */
export const skip: string | false = whyNot() ?? false;

/** What a request is for: a host name of a site, and a path. */
export interface SitePath {
  readonly host: string;
  readonly path: string;
}

/** A cluster of one real node in which the operator runs, as `dist/install.yaml` installs it. */
export class E2e extends Cluster {
  readonly figures = new Figures();

  constructor(readonly node: RealNode) {
    super(node.controlPlane);
  }

  /** A fresh namespace, in which only pods of the profile `restricted` may run. */
  override async namespace(): Promise<string> {
    const name = await super.namespace();
    const labels = { metadata: { labels: RESTRICTED } };
    await this.node.api.mergePatch(`/api/v1/namespaces/${name}`, labels);
    return name;
  }

  /** Waits until a bench or a site is Ready; benches prepare databases and volumes first. */
  override ready(
    kind: string,
    namespace: string,
    name: string,
    timeoutMs = READY_MS,
  ): Promise<Live> {
    return super.ready(kind, namespace, name, timeoutMs);
  }

  /** The address of a Service, which this machine reaches. */
  async addressOf(namespace: string, service: string): Promise<string> {
    return String(at(await this.the('Service', namespace, service), 'spec.clusterIP'));
  }

  /** A request to a bench's nginx, for one of its sites. */
  async request(
    namespace: string,
    bench: string,
    { host, path: requestPath }: SitePath,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const address = await this.addressOf(namespace, `${bench}-nginx`);
    return send({ address, port: 8080, host, path: requestPath }, options);
  }

  /** Requests `/api/method/ping` of a site repeatedly during `work`; see `loadDuring`. */
  async load<T>(
    namespace: string,
    bench: string,
    host: string,
    work: () => Promise<T>,
  ): Promise<Load<T>> {
    const address = await this.addressOf(namespace, `${bench}-nginx`);
    return loadDuring({ address, port: 8080, host, path: '/api/method/ping' }, work);
  }

  /**
   * Whether lost requests are accepted because the whole machine was suspended, once or repeatedly:
   * a terminating pod serves for 5 s, and all proxies must see its end within them. If so, the
   * figures say it.
   */
  forgives(what: string, { lost, stalledMs }: Load<unknown>): boolean {
    if (lost === 0 || stalledMs <= STALL_MS) return false;
    this.figures.add(
      `FORGIVEN: ${what}`,
      `${lost} lost, nothing ran here for ${stalledMs} ms of ${STALL_WINDOW_MS / 1_000} s`,
    );
    return true;
  }

  /** Adds what a load has met to the figures, and fails where a request was lost. */
  requireNoneLost(what: string, load: Load<unknown>): void {
    const { sent, lost, failures, slowestMs } = load;
    this.figures.add(
      `requests lost: ${what}`,
      `${lost} of ${sent}, the slowest took ${slowestMs} ms`,
    );
    if (!this.forgives(what, load)) assert.deepEqual(failures, {});
  }

  pods(namespace: string, labels = ''): Promise<readonly Live[]> {
    return this.list('Pod', namespace, labels);
  }

  logs(namespace: string, pod: string, ...args: readonly string[]): Promise<string> {
    return this.node.kubectl(['logs', '--namespace', namespace, pod, ...args]);
  }

  /** Runs a command in a pod, without a shell, and returns its standard output. */
  exec(
    namespace: string,
    pod: string,
    command: readonly string[],
    { container, input }: { readonly container?: string; readonly input?: string } = {},
  ): Promise<string> {
    const where = ['--namespace', namespace, ...(container ? ['--container', container] : [])];
    const stdin = input === undefined ? [] : ['--stdin'];
    return this.node.kubectl(['exec', ...where, ...stdin, pod, '--', ...command], input);
  }

  /** The writes in a namespace, with their times. */
  async timeline(namespace: string): Promise<Timeline> {
    const events: AuditEvent[] = [];
    for await (const event of readAudit(this.node.controlPlane.auditLog ?? '')) {
      if (event.objectRef?.namespace === namespace) events.push(event);
    }
    return new Timeline(events);
  }

  /** What the kubelet measures of all pods. */
  async summary(): Promise<Summary> {
    const path = `/api/v1/nodes/${NODE_NAME}/proxy/stats/summary`;
    return (await this.node.api.request('GET', path)) as Summary;
  }

  /** The memory that the operator's container works with, in bytes, as the kubelet measures it. */
  async operatorMemory(): Promise<number> {
    const summary = await this.summary();
    const pod = summary.pods.find(({ podRef }) => podRef.namespace === OPERATOR_NAMESPACE);
    const bytes = pod?.containers?.[0]?.memory?.workingSetBytes;
    if (bytes === undefined) throw new Error('the kubelet has not measured the operator yet');
    return bytes;
  }

  operatorLogs(...args: readonly string[]): Promise<string> {
    return this.logs(OPERATOR_NAMESPACE, `deployment/${OPERATOR_NAME}`, ...args);
  }

  /** Scales the Deployment of the operator, and waits. */
  async scaleOperator(replicas: 0 | 1): Promise<void> {
    await this.patch('Deployment', OPERATOR_NAMESPACE, OPERATOR_NAME, { spec: { replicas } });
    await this.until(`the operator to have ${replicas} pods`, async () => {
      const { status = {} } = await this.the('Deployment', OPERATOR_NAMESPACE, OPERATOR_NAME);
      const pods = await this.pods(OPERATOR_NAMESPACE);
      return pods.length === replicas && (status['readyReplicas'] ?? 0) === replicas;
    });
  }

  override async stop(): Promise<void> {
    await this.node.stop();
  }

  /** An example of the repository, with images that the node has. */
  async example(file: string): Promise<Manifest> {
    const folder = path.join(projectRoot(), 'examples');
    const text = (await readFile(path.join(folder, file), 'utf8')).replaceAll(
      'version-15',
      EXAMPLES_VERSION,
    );
    const [document] = parseAllDocuments(text);
    const manifest = document?.toJS() as Manifest;
    if (manifest.kind !== 'AppBench') return manifest;
    const spec = manifest['spec'] as object;
    // A floating tag is always pulled, and the node has no registry.
    return { ...manifest, spec: { ...spec, image: { pullPolicy: 'IfNotPresent' } } };
  }

  /** Installs `dist/install.yaml`, with the image that was built from this tree. */
  async install(): Promise<void> {
    const text = await readFile(path.join(projectRoot(), 'dist', 'install.yaml'), 'utf8');
    const objects = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
    const images = objects.flatMap((object) => replaceImage(object));
    if (images.length !== 1) throw new Error(`install.yaml has ${images.length} images, not one`);
    const manifests = objects.map((object) => stringify(object)).join('---\n');
    await this.node.kubectl(['apply', '--server-side', '--filename=-'], manifests);
    await this.node.kubectl([
      'rollout',
      'status',
      `--namespace=${OPERATOR_NAMESPACE}`,
      `deployment/${OPERATOR_NAME}`,
      '--timeout=300s',
    ]);
  }
}

interface Summary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string };
    readonly containers?: readonly {
      readonly name: string;
      readonly cpu?: { readonly usageNanoCores?: number; readonly time: string };
      readonly memory?: { readonly workingSetBytes?: number };
    }[];
  }[];
}

let started: Promise<E2e> | undefined;

/** The cluster of this run; the first call starts it, and it stops after the last test. */
export function e2e(): Promise<E2e> {
  started ??= start();
  return started;
}

after(async () => {
  const cluster = await started?.catch(() => undefined);
  if (!cluster) return;
  cluster.figures.print();
  await cluster.stop();
});

async function start(): Promise<E2e> {
  const definitions = [redis, mariadb, postgres, ...frappeImages(), await operator()];
  const images: string[] = [];
  for (const definition of definitions) images.push(await ensureImage(definition, printProgress));
  const node = await startNode({ images, onProgress: printProgress, audit: true });
  try {
    const cluster = new E2e(node);
    cluster.figures.add('version of the framework', TAGS.bench);
    if (FRAMEWORK_IMAGE) await node.loadImage(FRAMEWORK_IMAGE);
    await withProgress('installing the operator', printProgress, () => cluster.install());
    return cluster;
  } catch (error) {
    await node.stop();
    throw error;
  }
}

const ALIASES: Readonly<Record<string, readonly string[]>> = {
  [VERSIONS.first]: ['frappe/erpnext:version-15'],
  [VERSIONS.next]: ['frappe/erpnext:version-16'],
};

/** Each version by its own tag, and by the one that the examples could have. */
function frappeImages(): ImageDefinition[] {
  // An image that the user gives has its own names inside.
  if (FRAMEWORK_IMAGE) return [];
  return Object.values(VERSIONS).map((version) => ({
    ...frappeImage({ name: `frappe/erpnext:${version}`, version }),
    aliases: ALIASES[version] ?? [],
  }));
}

/** Replaces the images of a Deployment by ours; returns the previous images. */
function replaceImage(object: Manifest): string[] {
  if (object.kind !== 'Deployment') return [];
  const containers = at(object, 'spec.template.spec.containers') as { image: string }[];
  return containers.map((container) => {
    const { image } = container;
    container.image = OPERATOR_IMAGE;
    return image;
  });
}
