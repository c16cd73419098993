/**
 * Takes down what a node leaves behind when its processes have ended: containers, mounts, networks
 * and control groups. Run by the supervisor, so that it happens however the end came.
 *
 * Usage: `node take-down.js '{"network": …, "folder": "/…", "socket": "/…"}'`
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { errorCode } from '../controlplane/errors.js';
import type { NodeNetwork } from './network.js';

/** For each step: a busy machine takes its time to end processes. */
const STEP_MS = 60_000;

interface Leftovers {
  readonly network: NodeNetwork;
  /** All that the node wrote. */
  readonly folder: string;
  /** containerd's. */
  readonly socket: string;
}

const { network, folder, socket } = JSON.parse(process.argv[2] ?? '') as Leftovers;

const ids = containers();
const groups = controlGroups(ids);
await until(() => kill([...shims(), ...groups.flatMap(processesIn)]));
await until(unmount);
spawnSync('ip', ['link', 'delete', network.link]);
spawnSync('ip', ['netns', 'delete', network.namespace]);
removeLogLinks();
removeResults(ids);
groups.forEach(removeGroup);

/** Repeats a step until there is nothing left for it to do. */
async function until(done: () => boolean): Promise<void> {
  const end = performance.now() + STEP_MS;
  while (!done()) {
    if (performance.now() > end) process.exit(1);
    await sleep(50);
  }
}

function kill(pids: readonly number[]): boolean {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has ended.
    }
  }
  return pids.length === 0;
}

/**
 * The parents of containers: they outlive containerd, and name its socket, which only ours have.
 */
function shims(): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      const args = tryRead(`/proc/${pid}/cmdline`).split('\0');
      return (
        args[0]?.includes('containerd-shim') === true && args.some((a) => a.startsWith(socket))
      );
    })
    .map(Number);
}

/** Ids of the containers that containerd knew as running. */
function containers(): string[] {
  const tasks = path.join(folder, 'run/containerd/io.containerd.runtime.v2.task/k8s.io');
  return existsSync(tasks) ? readdirSync(tasks) : [];
}

/**
 * The control groups of our containers, under each controller; one with cgroup v2.
 */
function controlGroups(ids: readonly string[]): string[] {
  const root = '/sys/fs/cgroup';
  return ['.', ...readdirSync(root)]
    .flatMap((controller) => ids.map((id) => path.join(root, controller, 'k8s.io', id)))
    .filter((group) => existsSync(group));
}

function processesIn(group: string): number[] {
  return tryRead(path.join(group, 'cgroup.procs')).split('\n').filter(Boolean).map(Number);
}

function removeGroup(group: string): void {
  try {
    rmdirSync(group);
  } catch {
    // A group without processes does no harm.
  }
}

/** The results that network plugins keep for each container. */
function removeResults(ids: readonly string[]): void {
  const results = '/var/lib/cni/results';
  if (!existsSync(results)) return;
  for (const file of readdirSync(results)) {
    if (ids.some((id) => file.includes(id))) unlinkSync(path.join(results, file));
  }
}

/** True when nothing is mounted below our folder any more. */
function unmount(): boolean {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    // Blanks and the like are written in octal.
    .map((text) =>
      text.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8))),
    )
    .filter((mount) => mount.startsWith(`${folder}/`));
  // What was mounted last is on top.
  for (const mount of mounts.reverse()) spawnSync('umount', ['--lazy', mount]);
  return mounts.length === 0;
}

/** The kubelet links every log into one folder of the machine. */
function removeLogLinks(): void {
  const links = '/var/log/containers';
  if (!existsSync(links)) return;
  for (const name of readdirSync(links)) {
    const link = path.join(links, name);
    try {
      if (readlinkSync(link).startsWith(`${folder}/`)) unlinkSync(link);
    } catch (error) {
      // Another node's kubelet removes its own links from the same folder.
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }
}

function tryRead(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
