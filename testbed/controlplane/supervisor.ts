/**
 * A program of its own, the parent of all processes of one control plane. It lives as long as its
 * channel to the process that started it: whether that one stops it, ends, or is killed with
 * SIGKILL, the channel closes, and the supervisor kills what it started, takes down what it is told
 * to, removes the data folder when told so, and ends. A library's exit handlers could not promise that.
 *
 * Usage: `node supervisor.js '{"remove": "/folder"}'` (see `AtEnd`), with an IPC channel.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';

import { messageOf } from './errors.js';
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
    if (child.pid === undefined) tell({ type: 'failed', id, message: messageOf(error) });
  });
  const { pid } = child;
  if (pid === undefined) return;
  children.set(name, child);
  child.once('exit', (code, signal) => {
    if (children.get(name) === child) children.delete(name);
    const status = code ?? signal ?? 0;
    tell({ type: 'exited', name, pid, log, status, expected: stopping.has(child) });
    if (ending && children.size === 0) finish();
  });
  tell({ type: 'started', id, name, pid, log });
}

function stop({ id, name, signal, graceMs }: StopRequest): void {
  const child = children.get(name);
  if (child === undefined) {
    tell({ type: 'stopped', id });
    return;
  }
  stopping.add(child);
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  child.once('exit', () => {
    clearTimeout(timer);
    tell({ type: 'stopped', id });
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

function tell(message: Message): void {
  if (process.connected) process.send?.(message);
}

/** Proxies are for other hosts, and all our addresses are 127.0.0.1. */
function environment(): NodeJS.ProcessEnv {
  return { ...process.env, NO_PROXY: '*', no_proxy: '*' };
}
