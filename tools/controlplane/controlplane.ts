import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Api } from './api.js';
import { type Binaries, ensureBinaries } from './binaries.js';
import type { BinaryName } from './build.js';
import * as components from './components.js';
import { kubeconfigFor } from './kubeconfig.js';
import { runKubectl } from './kubectl.js';
import { createKinds } from './kinds.js';
import { createNodes, nodesReady } from './nodes.js';
import type { ControlPlaneOptions } from './options.js';
import { type Pki, preparePki } from './pki.js';
import { createEmptyLogs } from './pod-logs.js';
import { freePort } from './ports.js';
import { ProcessDied, Processes, type RunningProcess } from './processes.js';
import { withProgress } from './progress.js';
import { apiServerReady, serviceAccountReady } from './ready.js';
import { createStages } from './stages.js';
import { createStorageClass, createVolumes } from './volumes.js';

const ATTEMPTS = 5;

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
  readonly dataDir: string;
  readonly binaries: Partial<Binaries>;
  /** Path of the audit log, one JSON event a line (see `audit.ts`). */
  readonly auditLog?: string;
  /** The administrator's client, for harness code. */
  readonly api: Api;
  /** What runs now, with process ids. */
  readonly processes: readonly RunningProcess[];
  /** Id of the process group of all processes. */
  readonly processGroup: number | undefined;
  /** Rejects when a process ends unasked, saying why; never resolves. */
  readonly failed: Promise<never>;
  /** Runs kubectl as the administrator; rejects with its standard error when it fails. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** Writes a kubeconfig for a user of this name, who may do what RBAC grants, and returns its path. */
  userKubeconfig(user: string, groups?: readonly string[]): Promise<string>;
  /** Ends the API server with SIGTERM, or at once with SIGKILL. */
  stopApiServer(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts the API server again and waits until it is ready. */
  startApiServer(): Promise<void>;
  restartApiServer(): Promise<void>;
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
      // Another process took a port between our choice and its use.
      if (attempt === ATTEMPTS || !isPortTaken(error)) throw error;
    }
  }
}

function binariesFor(options: ControlPlaneOptions): BinaryName[] {
  const names: BinaryName[] = ['etcd', 'kube-apiserver', 'kubectl'];
  if (options.controllerManager ?? true) names.push('kube-controller-manager');
  if (options.scheduler ?? true) names.push('kube-scheduler');
  if ((options.kwokNodes ?? 2) > 0) names.push('kwok');
  return names;
}

function isPortTaken(error: unknown): boolean {
  return error instanceof ProcessDied && error.lastLines.includes('address already in use');
}

async function startOnce(
  options: ControlPlaneOptions,
  binaries: Partial<Binaries>,
): Promise<ControlPlane> {
  const dataDir = await prepareFolder(options.dataDir);
  const keep = options.keep ?? options.dataDir !== undefined;
  const logs = path.join(dataDir, 'logs');
  await mkdir(logs, { recursive: true });
  const processes = new Processes(logs, keep ? undefined : dataDir);
  try {
    const pki = await preparePki(path.join(dataDir, 'pki'));
    const setup = await prepareSetup(dataDir, pki, options.audit ?? false);
    const running = new RunningControlPlane(setup, processes, binaries);
    try {
      await processes.whileAlive(running.start(options));
    } catch (error) {
      running.api.close();
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

async function prepareSetup(dataDir: string, pki: Pki, audit: boolean): Promise<components.Setup> {
  const ports = {
    etcd: await freePort(),
    etcdPeer: await freePort(),
    apiServer: await freePort(),
    kubelet: await freePort(),
  };
  const write = (name: string, user: string, groups: readonly string[] = []): Promise<string> =>
    writeKubeconfig({ dataDir, pki, port: ports.apiServer, name, user, groups });
  const kubeconfigs = {
    admin: await write('admin', 'admin', ['system:masters']),
    controllerManager: await write('controller-manager', 'system:kube-controller-manager'),
    scheduler: await write('scheduler', 'system:kube-scheduler'),
    kwok: await write('kwok', 'kwok', ['system:masters']),
  };
  if (!audit) return { dataDir, pki, ports, kubeconfigs };
  const policy = path.join(dataDir, 'audit-policy.json');
  await writeFile(policy, JSON.stringify(components.AUDIT_POLICY));
  const log = path.join(dataDir, 'logs', 'audit.log');
  return { dataDir, pki, ports, kubeconfigs, audit: { policy, log } };
}

interface KubeconfigFile {
  readonly dataDir: string;
  readonly pki: Pki;
  readonly port: number;
  /** Name of the file, without its ending. */
  readonly name: string;
  readonly user: string;
  readonly groups: readonly string[];
}

async function writeKubeconfig(config: KubeconfigFile): Promise<string> {
  const { dataDir, pki, port, name, user, groups } = config;
  const credential = pki.client({ commonName: user, organizations: groups });
  const text = kubeconfigFor(serverAt(port), pki.authority.certificatePem, user, credential);
  const file = path.join(dataDir, `${name}.kubeconfig`);
  // In one step: another process may be reading the one that is there.
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, file);
  return file;
}

function serverAt(port: number): string {
  return `https://127.0.0.1:${port}`;
}

class RunningControlPlane implements ControlPlane {
  readonly kubeconfig: string;
  readonly server: string;
  readonly dataDir: string;
  readonly auditLog?: string;
  readonly api: Api;

  constructor(
    private readonly setup: components.Setup,
    private readonly children: Processes,
    readonly binaries: Partial<Binaries>,
  ) {
    this.kubeconfig = setup.kubeconfigs.admin;
    this.server = serverAt(setup.ports.apiServer);
    this.dataDir = setup.dataDir;
    if (setup.audit !== undefined) this.auditLog = setup.audit.log;
    const { authority } = setup.pki;
    const admin = setup.pki.client({ commonName: 'admin', organizations: ['system:masters'] });
    this.api = new Api(this.server, authority.certificatePem, admin);
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

  async start(options: ControlPlaneOptions): Promise<void> {
    const nodes = options.kwokNodes ?? 2;
    await this.#run('etcd', components.etcd);
    await this.startApiServer();
    await options.prepare?.(this.api);
    const steps = [
      createStorageClass(this.api).then(() =>
        createVolumes(this.api, options.persistentVolumes ?? 50),
      ),
    ];
    if (options.controllerManager ?? true) {
      await this.#run('kube-controller-manager', components.controllerManager);
      steps.push(serviceAccountReady(this.api));
    }
    if (options.scheduler ?? true) await this.#run('kube-scheduler', components.scheduler);
    if (nodes > 0) steps.push(this.#startNodes(nodes));
    await Promise.all(steps);
  }

  async #startNodes(count: number): Promise<void> {
    await Promise.all([createKinds(this.api), createNodes(this.api, count)]);
    await Promise.all([createStages(this.api), createEmptyLogs(this.api, this.dataDir)]);
    await this.#run('kwok', components.kwok);
    await nodesReady(this.api, count);
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    const common = [
      `--kubeconfig=${this.kubeconfig}`,
      // The default cache, in the home folder, would outlive us, and our ports come back.
      `--cache-dir=${path.join(this.dataDir, 'kubectl-cache')}`,
    ];
    return runKubectl(this.#binary('kubectl'), [...common, ...args], input);
  }

  userKubeconfig(user: string, groups: readonly string[] = []): Promise<string> {
    const { dataDir, pki, ports } = this.setup;
    const name = `user-${user.replace(/[^a-z0-9]+/gi, '-')}`;
    return writeKubeconfig({ dataDir, pki, port: ports.apiServer, name, user, groups });
  }

  stopApiServer(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    return this.children.stop('kube-apiserver', signal);
  }

  async startApiServer(): Promise<void> {
    await this.#run('kube-apiserver', components.apiServer);
    await this.children.whileAlive(apiServerReady(this.api));
  }

  async restartApiServer(): Promise<void> {
    await this.stopApiServer();
    await this.startApiServer();
  }

  async stop(): Promise<void> {
    this.api.close();
    await this.children.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(name: BinaryName, args: (setup: components.Setup) => string[]): Promise<void> {
    await this.children.start(name, this.#binary(name), args(this.setup));
  }

  #binary(name: BinaryName): string {
    const binary = this.binaries[name];
    if (binary === undefined) throw new Error(`this control plane runs without ${name}`);
    return binary;
  }
}
