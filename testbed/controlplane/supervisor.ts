/**
 * A separate program, the parent of all processes of one control plane. When the process that
 * started it exits in any way, also by SIGKILL, the IPC channel closes. The supervisor then kills
 * its children, runs the program of `AtEnd`, removes the folder of `AtEnd`, and exits. Exit
 * handlers of a library cannot guarantee that.
 *
 * Usage: `node supervisor.js '{"remove": "/folder"}'` (see `AtEnd`), with an IPC channel.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';

import { messageOf } from '../../constructs/kit/errors.js';
import type { AtEnd, Message, Request, StartRequest, StopRequest } from './protocol.js';

const children = new Map<string, ChildProcess>();
const stopping = new Set<ChildProcess>();
const atEnd = JSON.parse(process.argv[2] ?? '{}') as AtEnd;
let ending = false;

process.on('message', (request: Request) => {
  if (ending) return;
  if (request.type === 'start') start(request);
  else stop(request);
});
process.on('disconnect', end);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);
process.on('uncaughtException', end);

function start({ id, name, command, args, log }: StartRequest): void {
  const output = openSync(log, 'a');
  const child = spawn(command, args, { stdio: ['ignore', output, output], env: environment() });
  closeSync(output);
  child.once('error', (error) => {
    if (child.pid === undefined) notify({ type: 'failed', id, message: messageOf(error) });
  });
  const { pid } = child;
  if (pid === undefined) return;
  children.set(name, child);
  child.once('exit', (code, signal) => {
    if (children.get(name) === child) children.delete(name);
    const status = code ?? signal ?? 0;
    notify({ type: 'exited', name, pid, log, status, expected: stopping.has(child) });
    if (ending && children.size === 0) finish();
  });
  notify({ type: 'started', id, name, pid, log });
}

function stop({ id, name, signal, graceMs }: StopRequest): void {
  const child = children.get(name);
  if (child === undefined) {
    notify({ type: 'stopped', id });
    return;
  }
  stopping.add(child);
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  child.once('exit', () => {
    clearTimeout(timer);
    notify({ type: 'stopped', id });
  });
  child.kill(signal);
}

/** SIGKILL at once: the data is thrown away, or what was written is in the page cache already. */
function end(): void {
  if (ending) return;
  ending = true;
  for (const child of children.values()) child.kill('SIGKILL');
  if (children.size === 0) finish();
}

function finish(): void {
  const { program, remove } = atEnd;
  // A folder that still has mounts below it is left alone.
  const down =
    !program ||
    spawnSync(process.execPath, program, { stdio: 'ignore', timeout: 180_000 }).status === 0;
  if (down && remove) rmSync(remove, { recursive: true, force: true, maxRetries: 5 });
  process.exit(0);
}

function notify(message: Message): void {
  if (process.connected) process.send?.(message);
}

/**
 * Proxies are for other hosts, and all our addresses are 127.0.0.1. The servers' heaps are small, so
 * a relaxed garbage collection takes some memory and spares a third of their processor time.
 */
function environment(): NodeJS.ProcessEnv {
  const memory = { GOGC: '400', GOMEMLIMIT: '2GiB' };
  return { ...memory, ...process.env, NO_PROXY: '*', no_proxy: '*' };
}
