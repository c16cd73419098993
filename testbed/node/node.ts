import { appendFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { createClient } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import type { AdminClient } from '../controlplane/admin-client.js';
import type { Binaries } from '../controlplane/binaries.js';
import { type ControlPlane, startControlPlane } from '../controlplane/controlplane.js';
import type { ControlPlaneOptions } from '../controlplane/options.js';
import { type OnProgress, withProgress } from '../controlplane/progress.js';
import { type Calico, ensureCalico, pluginConfig, startFelix, writePlugins } from './calico.js';
import { ensureNodeBinaries, type NodeBinaryName } from './binaries.js';
import * as configs from './configs.js';
import { Containerd } from './containerd.js';
import { copyImageStore, ensureImageStore } from './image-store.js';
import { ensurePackages, whyNot } from './machine.js';
import { type NodeNetwork, placeOf, reserveNetwork } from './network.js';
import { pauseImage } from './pause.js';
import { Provisioner } from './provisioner.js';
import { Storage } from './storage.js';

export interface RealNodeOptions extends Pick<ControlPlaneOptions, 'audit' | 'prepare'> {
  /** Archives of images that the node has from its start; see `ensureImageStore`. Default: none. */
  readonly images?: readonly string[];
  /** Called with the current step. Default: no calls. */
  readonly onProgress?: OnProgress | undefined;
}

/**
 * A Kubernetes of one node with real pods: kubelet, containerd, kube-proxy and CoreDNS beside a
 * control plane, in a network namespace of their own. Services and pods are reached from this
 * machine.
 *
 * Guarantee: when this process stops it, ends, or is killed, everything is taken down.
 */
export interface RealNode extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  /** Path of a kubeconfig of a member of `system:masters`. */
  readonly kubeconfig: string;
  readonly api: AdminClient;
  readonly network: NodeNetwork;
  /** Of this machine, as pods reach it. */
  readonly hostAddress: string;
  /** Folder of everything that the node writes. */
  readonly folder: string;
  /** Rejects when a process ends unasked, saying why; never resolves. */
  readonly failed: Promise<never>;
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** Loads images from an OCI or Docker archive. */
  loadImage(archive: string): Promise<void>;
  /** References of the images that pods can use. */
  images(): Promise<string[]>;
  /** Stops the kubelet. Its containers continue, and the node becomes NotReady after about 50 s. */
  stopKubelet(): Promise<void>;
  /** The kubelet comes back; resolves when the node is Ready. */
  startKubelet(): Promise<void>;
  /** Services keep their endpoints, as on a node that is slow to learn of changes. */
  suspendProxy(): void;
  /** Services get the endpoints that have changed meanwhile. */
  resumeProxy(): void;
  /** Folder of a volume's files, by the name of its PersistentVolume. */
  volumeDirectory(volume: string): string;
  /** Ends and removes everything; can be called again. */
  stop(): Promise<void>;
}

/**
 * Builds and installs what is missing, starts a node, and waits until it is Ready; about ten
 * seconds once everything is there.
 *
 * @throws Error where the machine cannot run one (see `whyNot`), or a process ends early.
 */
export async function startNode(options: RealNodeOptions = {}): Promise<RealNode> {
  const reason = whyNot();
  if (reason !== undefined) throw new Error(reason);
  const { onProgress } = options;
  await ensurePackages(onProgress);
  const binaries = await ensureNodeBinaries(onProgress);
  const calico = await ensureCalico(onProgress);
  const images = [await pauseImage(binaries.pause), ...(options.images ?? [])];
  const store = await ensureImageStore(images, onProgress);
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'app-operator-node-')));
  const network = await reserveNetwork();
  const paths = configs.pathsIn(folder);
  const controlPlane = await startControlPlane({
    ...options,
    dataDir: folder,
    keep: false,
    place: placeOf(network, folder, paths.socket),
  });
  const node = new StartedNode(controlPlane, network, paths, { binaries, calico });
  try {
    await withProgress('starting the node', onProgress, () =>
      Promise.race([node.start(store), controlPlane.failed]),
    );
  } catch (error) {
    await node.stop();
    throw error;
  }
  return node;
}

class StartedNode implements RealNode {
  readonly kubeconfig: string;
  readonly api: AdminClient;
  readonly hostAddress: string;
  readonly folder: string;
  readonly #containerd: Containerd;
  readonly #storage: Storage;
  #provisioner: Provisioner | undefined;

  constructor(
    readonly controlPlane: ControlPlane,
    readonly network: NodeNetwork,
    private readonly paths: configs.Paths,
    private readonly programs: {
      readonly binaries: Binaries<NodeBinaryName>;
      readonly calico: Calico;
    },
  ) {
    this.kubeconfig = controlPlane.kubeconfig;
    this.api = controlPlane.api;
    this.hostAddress = network.hostAddress;
    this.folder = paths.folder;
    this.#containerd = new Containerd(paths.socket);
    this.#storage = new Storage(paths.volumes);
  }

  get failed(): Promise<never> {
    return this.controlPlane.failed;
  }

  async start(store: string): Promise<void> {
    const calico = await this.controlPlane.userKubeconfig('calico', ['system:masters']);
    await this.#writeConfigs(calico);
    await copyImageStore(store, this.paths.containerd);
    await this.controlPlane.start('containerd', 'containerd', [
      `--config=${this.#file('containerd.toml')}`,
    ]);
    await this.#containerd.serving();
    await Promise.all([
      this.startKubelet(),
      startFelix({
        controlPlane: this.controlPlane,
        calico: this.programs.calico,
        network: this.network,
        paths: this.paths,
        kubeconfig: calico,
      }),
      this.#startProxy(),
      this.#startDns(),
      this.#startProvisioner(),
    ]);
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    return this.controlPlane.kubectl(args, input);
  }

  loadImage(archive: string): Promise<void> {
    return this.#containerd.import(archive);
  }

  images(): Promise<string[]> {
    return this.#containerd.images();
  }

  stopKubelet(): Promise<void> {
    return this.controlPlane.stopProcess('kubelet');
  }

  suspendProxy(): void {
    this.#signalProxy('SIGSTOP');
  }

  resumeProxy(): void {
    this.#signalProxy('SIGCONT');
  }

  #signalProxy(signal: 'SIGSTOP' | 'SIGCONT'): void {
    const running = this.controlPlane.processes.find(({ name }) => name === 'kube-proxy');
    if (running) process.kill(running.pid, signal);
  }

  async startKubelet(): Promise<void> {
    await this.controlPlane.start('kubelet', this.programs.binaries.kubelet, [
      `--config=${this.#file('kubelet.yaml')}`,
      `--kubeconfig=${this.#file('node.kubeconfig')}`,
      `--root-dir=${this.paths.kubelet}`,
      `--hostname-override=${configs.NODE_NAME}`,
      `--node-ip=${this.network.nodeAddress}`,
    ]);
    await this.api.until('the node to be Ready', async () => {
      const { status } = (await this.api.request('GET', `/api/v1/nodes/${configs.NODE_NAME}`)) as {
        readonly status: { readonly conditions?: readonly Condition[] };
      };
      const ready = status.conditions?.find(({ type }) => type === 'Ready');
      return ready?.status === 'True';
    });
  }

  volumeDirectory(volume: string): string {
    return this.#storage.directory(volume);
  }

  async stop(): Promise<void> {
    await this.#provisioner?.stop();
    await this.controlPlane.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #startProvisioner(): Promise<void> {
    const credentials = await loadCredentials(this.kubeconfig, {});
    const log = this.#file('logs/provisioner.log');
    this.#provisioner = new Provisioner({
      client: createClient({ credentials }),
      storage: this.#storage,
      onError: (error) => {
        appendFileSync(log, `${new Date().toISOString()} ${String(error)}\n`);
      },
    });
    await this.#provisioner.start();
  }

  async #startProxy(): Promise<void> {
    await this.controlPlane.start('kube-proxy', this.programs.binaries['kube-proxy'], [
      `--config=${this.#file('proxy.yaml')}`,
    ]);
  }

  async #startDns(): Promise<void> {
    await this.controlPlane.start('coredns', this.programs.binaries.coredns, [
      '-conf',
      this.#file('Corefile'),
    ]);
    const { service, endpoints } = configs.dnsObjects(this.network);
    await this.api.ensure('/api/v1/namespaces/kube-system/services', service);
    await this.api.ensure(
      '/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices',
      endpoints,
    );
  }

  async #writeConfigs(calico: string): Promise<void> {
    const { network, paths, controlPlane } = this;
    for (const folder of [paths.cni, paths.kubelet, paths.podLogs, paths.volumes]) {
      await mkdir(folder, { recursive: true });
    }
    await mkdir(path.dirname(paths.socket), { recursive: true });
    await writePlugins(paths.plugins, this.programs.calico);
    const [node, proxy, dns] = await Promise.all([
      controlPlane.userKubeconfig(`system:node:${configs.NODE_NAME}`, ['system:nodes']),
      controlPlane.userKubeconfig('system:kube-proxy'),
      controlPlane.userKubeconfig('coredns', ['system:masters']),
    ]);
    const files = await this.#kubeletFiles();
    const write = (name: string, text: string): Promise<void> =>
      writeFile(this.#file(name), text, { mode: 0o600 });
    await Promise.all([
      writeFile(path.join(paths.cni, '10-pods.conflist'), pluginConfig(network, paths, calico)),
      write('containerd.toml', configs.containerdConfig(paths)),
      write('kubelet.yaml', configs.kubeletConfig(network, paths, files)),
      write('proxy.yaml', configs.proxyConfig(network, proxy)),
      write('Corefile', configs.dnsConfig(network, dns)),
      copyFile(node, this.#file('node.kubeconfig')),
    ]);
  }

  async #kubeletFiles(): Promise<configs.KubeletFiles> {
    const { certificatePem, keyPem, authorityPem } = this.controlPlane.credential({
      commonName: configs.NODE_NAME,
      hosts: [configs.NODE_NAME, this.network.nodeAddress],
    });
    const files = {
      certificate: this.#file('kubelet.crt'),
      key: this.#file('kubelet.key'),
      clientAuthority: this.#file('clients.crt'),
    };
    await writeFile(files.certificate, certificatePem);
    await writeFile(files.key, keyPem, { mode: 0o600 });
    await writeFile(files.clientAuthority, authorityPem);
    return files;
  }

  #file(name: string): string {
    return path.join(this.paths.folder, name);
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
}
