import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { messageOf } from '../../constructs/kit/errors.js';
import { AdminClient } from './admin-client.js';
import { type Binaries, ensureBinaries } from './binaries.js';
import type { BinaryName } from './build.js';
import type { Credential, Subject } from './certificate.js';
import * as components from './components.js';
import { kubeconfigFor } from './kubeconfig.js';
import { createKinds } from './kwok-kinds.js';
import { createNodes, nodesReady } from './nodes.js';
import type { ControlPlaneOptions, Place } from './options.js';
import { type Pki, preparePki } from './pki.js';
import { createEmptyLogs } from './pod-logs.js';
import { freePort } from './ports.js';
import { ProcessDied, Processes, type RunningProcess } from './processes.js';
import { withProgress } from './progress.js';
import { apiServerReady, serviceAccountReady } from './ready.js';
import { run } from './run.js';
import { createStages, stagesKnown } from './kwok-stages.js';
import { createStorageClass, createVolumes } from './volumes.js';

const ATTEMPTS = 3;

/**
 * A Kubernetes control plane on 127.0.0.1, of real etcd, kube-apiserver, kube-controller-manager
 * and kube-scheduler, with nodes that kwok simulates: pods are Ready at once and Jobs complete.
 *
 * Guarantee: when this process stops it, ends, or is killed (SIGKILL included), every process of it
 * is killed and its temporary folder removed.
 */
export interface ControlPlane extends AsyncDisposable {
  /** Path of a kubeconfig of a member of `system:masters`. */
  readonly kubeconfig: string;
  /** `https://127.0.0.1:<port>`; the port stays the same when the API server restarts. */
  readonly server: string;
  /** `http://127.0.0.1:<port>` of etcd. */
  readonly etcd: string;
  readonly dataDir: string;
  readonly binaries: Partial<Binaries>;
  /** Path of the audit log, one JSON event a line (see `audit.ts`). */
  readonly auditLog?: string;
  /** The administrator's client, for harness code. */
  readonly api: AdminClient;
  /** The running processes, with their ids. */
  readonly processes: readonly RunningProcess[];
  /** Id of the process group of all processes. */
  readonly processGroup: number | undefined;
  /**
   * Rejects when a process exits without a stop request, with the end of its log; never resolves.
   */
  readonly failed: Promise<never>;
  /** Runs kubectl as the administrator; rejects with its standard error when it fails. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /**
   * Writes a kubeconfig for a user of this name, who may do what RBAC grants, and returns its path.
   */
  userKubeconfig(user: string, groups?: readonly string[]): Promise<string>;
  /** Ends the API server with SIGTERM, or at once with SIGKILL. */
  stopApiServer(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts the API server again and waits until it is ready. */
  startApiServer(): Promise<void>;
  restartApiServer(): Promise<void>;
  /** Copies the data of etcd, which stands still meanwhile. Resolves with the folder of the copy. */
  backUpEtcd(): Promise<string>;
  /** Puts a copy back as an administrator does: all servers end, and start with the older data. */
  restoreEtcd(copy: string): Promise<void>;
  /** Starts one more process, which lives as long as this control plane, in the same network. */
  start(name: string, command: string, args: readonly string[]): Promise<void>;
  /** Ends a process and waits for its end; SIGKILL follows SIGTERM after ten seconds. */
  stopProcess(name: string, signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Credentials of a client that the authority signs, with the authority's certificate. */
  credential(subject: Subject): Credential & { readonly authorityPem: string };
  /** Ends everything; can be called again. */
  stop(): Promise<void>;
}

/**
 * Starts a control plane and waits until it can run pods; about five seconds once the binaries are
 * there (see `ensureBinaries`).
 *
 * @throws Error with the last lines of its log when a process ends early.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries: Partial<Binaries> = await ensureBinaries({
    names: binariesFor(options),
    onProgress: options.onProgress,
  });
  for (let attempt = 1; ; attempt++) {
    try {
      return await withProgress('starting the control plane', options.onProgress, () =>
        startOnce(options, binaries),
      );
    } catch (error) {
      if (attempt === ATTEMPTS || !mayBeChance(error, options)) throw error;
      process.emitWarning(`restarting the control plane: ${messageOf(error)}`);
    }
  }
}

function binariesFor(options: ControlPlaneOptions): BinaryName[] {
  const names: BinaryName[] = ['etcd', 'kube-apiserver'];
  if (options.kubectl ?? true) names.push('kubectl');
  if (options.controllerManager ?? true) names.push('kube-controller-manager');
  if (options.scheduler ?? true) names.push('kube-scheduler');
  if (simulatedNodes(options) > 0) names.push('kwok');
  return names;
}

function simulatedNodes({ place, kwokNodes = 2 }: ControlPlaneOptions): number {
  return place ? 0 : kwokNodes;
}

/**
 * Its servers exit when a request at their start times out, as on a suspended machine, and another
 * process may take a port. With a place there is one attempt: the network is made once.
 */
function mayBeChance(error: unknown, { place }: ControlPlaneOptions): boolean {
  return error instanceof ProcessDied && !place;
}

async function startOnce(
  options: ControlPlaneOptions,
  binaries: Partial<Binaries>,
): Promise<ControlPlane> {
  const dataDir = await prepareFolder(options.dataDir);
  const keep = options.keep ?? options.dataDir !== undefined;
  const logs = path.join(dataDir, 'logs');
  await mkdir(logs, { recursive: true });
  const { place } = options;
  const processes = new Processes(logs, {
    ...(keep ? {} : { remove: dataDir }),
    ...(place ? { program: place.takeDown } : {}),
  });
  try {
    await place?.setUp();
    const hosts = place ? [place.address, place.serviceAddress] : [];
    const pki = await preparePki(path.join(dataDir, 'pki'), hosts);
    const setup = await prepareSetup(dataDir, pki, options);
    const running = new RunningControlPlane(setup, processes, binaries);
    try {
      await processes.whileAlive(running.startAll(options));
    } catch (error) {
      void running.api.close();
      throw error;
    }
    return running;
  } catch (error) {
    await processes.end();
    throw error;
  }
}

async function prepareFolder(given: string | undefined): Promise<string> {
  if (given === undefined) {
    return realpath(await mkdtemp(path.join(tmpdir(), 'app-operator-controlplane-')));
  }
  await mkdir(given, { recursive: true });
  return realpath(given);
}

async function prepareSetup(
  dataDir: string,
  pki: Pki,
  { audit = false, place, webhookClient }: ControlPlaneOptions,
): Promise<components.Setup> {
  const ports = {
    etcd: await freePort(),
    etcdPeer: await freePort(),
    // In a separate network it has the usual port.
    apiServer: place ? 6443 : await freePort(),
    kubelet: await freePort(),
  };
  const server = serverAt(ports.apiServer, place);
  const write = (name: string, user: string, groups: readonly string[] = []): Promise<string> =>
    writeKubeconfig({ dataDir, pki, server, name, user, groups });
  const kubeconfigs = {
    admin: await write('admin', 'admin', ['system:masters']),
    controllerManager: await write('controller-manager', 'system:kube-controller-manager'),
    scheduler: await write('scheduler', 'system:kube-scheduler'),
    kwok: await write('kwok', 'kwok', ['system:masters']),
  };
  const admission = await writeAdmissionConfiguration(dataDir, pki, webhookClient);
  const setup = { dataDir, pki, ports, kubeconfigs, place, ...admission };
  if (!audit) return setup;
  const policy = path.join(dataDir, 'audit-policy.json');
  await writeFile(policy, JSON.stringify(components.auditPolicy(place !== undefined)));
  const log = path.join(dataDir, 'logs', 'audit.log');
  return { ...setup, audit: { policy, log } };
}

/** Writes how the API server makes itself known to webhooks, if it does. */
async function writeAdmissionConfiguration(
  dataDir: string,
  pki: Pki,
  commonName: string | undefined,
): Promise<Pick<components.Setup, 'admission'>> {
  if (commonName === undefined) return {};
  const kubeconfig = path.join(dataDir, 'webhooks.kubeconfig');
  // The user named * is for every webhook.
  const text = kubeconfigFor('', pki.authority.certificatePem, '*', pki.client({ commonName }));
  await writeFile(kubeconfig, text, { mode: 0o600 });
  const admission = path.join(dataDir, 'admission.json');
  await writeFile(admission, JSON.stringify(components.admissionConfiguration(kubeconfig)));
  return { admission };
}

interface KubeconfigFile {
  readonly dataDir: string;
  readonly pki: Pki;
  readonly server: string;
  /** Name of the file, without its ending. */
  readonly name: string;
  readonly user: string;
  readonly groups: readonly string[];
}

async function writeKubeconfig(config: KubeconfigFile): Promise<string> {
  const { dataDir, pki, server, name, user, groups } = config;
  const credential = pki.client({ commonName: user, organizations: groups });
  const text = kubeconfigFor(server, pki.authority.certificatePem, user, credential);
  const file = path.join(dataDir, `${name}.kubeconfig`);
  // In one step: another process may be reading the existing file.
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, file);
  return file;
}

function serverAt(port: number, place?: Place): string {
  return `https://${place?.address ?? '127.0.0.1'}:${port}`;
}

/** The clients of the API server. */
const CLIENTS: Readonly<Partial<Record<BinaryName, (setup: components.Setup) => string[]>>> = {
  'kube-controller-manager': components.controllerManager,
  'kube-scheduler': components.scheduler,
  kwok: components.kwok,
};

class RunningControlPlane implements ControlPlane {
  readonly kubeconfig: string;
  readonly server: string;
  readonly etcd: string;
  readonly dataDir: string;
  readonly auditLog?: string;
  readonly api: AdminClient;

  constructor(
    private readonly setup: components.Setup,
    private readonly children: ProcessGroup,
    readonly binaries: Partial<Binaries>,
  ) {
    this.kubeconfig = setup.kubeconfigs.admin;
    this.server = serverAt(setup.ports.apiServer, setup.place);
    this.etcd = `http://127.0.0.1:${setup.ports.etcd}`;
    this.dataDir = setup.dataDir;
    if (setup.audit !== undefined) this.auditLog = setup.audit.log;
    const { authority } = setup.pki;
    const admin = setup.pki.client({ commonName: 'admin', organizations: ['system:masters'] });
    this.api = new AdminClient(this.server, authority.certificatePem, admin);
  }

  get processes(): readonly RunningProcess[] {
    return this.children.running;
  }

  get failed(): Promise<never> {
    return this.children.failed;
  }

  get processGroup(): number | undefined {
    return this.children.group;
  }

  async startAll(options: ControlPlaneOptions): Promise<void> {
    const nodes = simulatedNodes(options);
    await this.#run('etcd', components.etcd);
    await this.startApiServer();
    await options.prepare?.(this.api);
    const steps = options.place ? [] : [this.#makeVolumes(options.persistentVolumes ?? 50)];
    if (options.controllerManager ?? true) {
      await this.#run('kube-controller-manager', components.controllerManager);
      steps.push(serviceAccountReady(this.api));
    }
    if (options.scheduler ?? true) await this.#run('kube-scheduler', components.scheduler);
    if (nodes > 0) steps.push(this.#startNodes(nodes));
    await Promise.all(steps);
  }

  async #makeVolumes(count: number): Promise<void> {
    await createStorageClass(this.api);
    await createVolumes(this.api, count);
  }

  async #startNodes(count: number): Promise<void> {
    await Promise.all([createKinds(this.api), createNodes(this.api, count)]);
    await Promise.all([createStages(this.api), createEmptyLogs(this.api, this.dataDir)]);
    await this.#run('kwok', components.kwok);
    await nodesReady(this.api, count);
    await stagesKnown(this.api);
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    const common = [
      `--kubeconfig=${this.kubeconfig}`,
      // The default cache, in the home folder, would outlive us, and ports are reused.
      `--cache-dir=${path.join(this.dataDir, 'kubectl-cache')}`,
    ];
    const options = input === undefined ? {} : { input };
    return run(this.binaries.kubectl ?? 'kubectl', [...common, ...args], options);
  }

  userKubeconfig(user: string, groups: readonly string[] = []): Promise<string> {
    const { dataDir, pki } = this.setup;
    const name = `user-${user.replace(/[^a-z0-9]+/gi, '-')}`;
    return writeKubeconfig({ dataDir, pki, server: this.server, name, user, groups });
  }

  async start(name: string, command: string, args: readonly string[]): Promise<void> {
    const { place } = this.setup;
    if (place) {
      // It becomes the command: the process id is the command's own.
      const enter = [`--net=/run/netns/${place.namespace}`, command, ...args];
      await this.children.start(name, 'nsenter', enter);
    } else {
      await this.children.start(name, command, args);
    }
  }

  async stopProcess(name: string, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.children.stop(name, signal);
  }

  stopApiServer(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    return this.children.stop('kube-apiserver', signal);
  }

  async startApiServer(): Promise<void> {
    await this.#run('kube-apiserver', components.apiServer);
    await this.children.whileAlive(apiServerReady(this.api, this.server));
  }

  async restartApiServer(): Promise<void> {
    await this.stopApiServer();
    await this.startApiServer();
  }

  async backUpEtcd(): Promise<string> {
    const copy = path.join(this.dataDir, `etcd-${randomUUID()}`);
    await this.children.stop('etcd');
    await cp(this.#etcdData, copy, { recursive: true });
    await this.#run('etcd', components.etcd);
    await this.children.whileAlive(apiServerReady(this.api, this.server));
    return copy;
  }

  async restoreEtcd(copy: string): Promise<void> {
    const others = this.processes.map(({ name }) => name).filter((name) => name in CLIENTS);
    await Promise.all(others.map((name) => this.children.stop(name)));
    await this.stopApiServer();
    await this.children.stop('etcd');
    await rm(this.#etcdData, { recursive: true });
    await cp(copy, this.#etcdData, { recursive: true });
    await this.#run('etcd', components.etcd);
    await this.startApiServer();
    for (const [name, args] of Object.entries(CLIENTS)) {
      if (others.includes(name)) await this.#run(name as BinaryName, args);
    }
  }

  get #etcdData(): string {
    return path.join(this.dataDir, 'etcd');
  }

  credential(subject: Subject): Credential & { readonly authorityPem: string } {
    const { pki } = this.setup;
    return { ...pki.client(subject), authorityPem: pki.authority.certificatePem };
  }

  async stop(): Promise<void> {
    const closed = this.api.close();
    await this.children.end();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(name: BinaryName, args: (setup: components.Setup) => string[]): Promise<void> {
    await this.start(name, this.#binary(name), args(this.setup));
  }

  #binary(name: BinaryName): string {
    const binary = this.binaries[name];
    if (binary === undefined) throw new Error(`control plane: ${name} is disabled`);
    return binary;
  }
}

type ProcessGroup = Pick<
  Processes,
  'running' | 'failed' | 'group' | 'start' | 'stop' | 'whileAlive' | 'end'
>;

/** Uses the control plane that another process runs in a folder. `stop` only ends the connection. */
export async function attachControlPlane(dataDir: string): Promise<ControlPlane> {
  const pki = await preparePki(path.join(dataDir, 'pki'));
  const admin = path.join(dataDir, 'admin.kubeconfig');
  const port = /https:\/\/127\.0\.0\.1:(\d+)/.exec(await readFile(admin, 'utf8'))?.[1];
  if (port === undefined) throw new Error(`${admin} names no server on 127.0.0.1`);
  const log = path.join(dataDir, 'logs', 'audit.log');
  const setup: components.Setup = {
    dataDir,
    pki,
    ports: { etcd: 0, etcdPeer: 0, apiServer: Number(port), kubelet: 0 },
    kubeconfigs: { admin, controllerManager: '', scheduler: '', kwok: '' },
    ...(existsSync(log) ? { audit: { policy: '', log } } : {}),
  };
  const binaries = await ensureBinaries({ names: ['kubectl'] });
  return new RunningControlPlane(setup, NO_PROCESSES, binaries);
}

const refuse = (): Promise<never> =>
  Promise.reject(new Error('the processes belong to the process that started the control plane'));

/** Of a control plane that another process runs. */
const NO_PROCESSES: ProcessGroup = {
  running: [],
  failed: new Promise(() => undefined),
  group: undefined,
  start: refuse,
  stop: refuse,
  whileAlive: (work) => work,
  end: () => Promise.resolve(),
};
