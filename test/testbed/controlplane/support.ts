import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import type { ControlPlane } from '../../../testbed/controlplane/controlplane.js';

/** Reads one object with kubectl. */
export async function get<T>(cluster: ControlPlane, ...args: readonly string[]): Promise<T> {
  return JSON.parse(await cluster.kubectl(['get', ...args, '--output=json'])) as T;
}

export function apply(cluster: ControlPlane, ...objects: readonly unknown[]): Promise<string> {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  return cluster.kubectl(['apply', '--filename=-'], JSON.stringify(list));
}

export function waitFor(cluster: ControlPlane, what: string, condition: string): Promise<string> {
  return cluster.kubectl(['wait', what, `--for=${condition}`, '--timeout=120s']);
}

/** Waits for all pods of a selector, of which there must be some: else kubectl gives up at once. */
export function waitForPods(
  cluster: ControlPlane,
  selector: string,
  condition: string,
): Promise<string> {
  const args = [`--selector=${selector}`, `--for=${condition}`, '--timeout=120s'];
  return cluster.kubectl(['wait', 'pod', ...args]);
}

/** A Job that is tried `1 + backoffLimit` times. */
export function aJob(name: string, backoffLimit = 0): unknown {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { backoffLimit, template: podTemplate({}, 'Never') },
  };
}

export function aDeployment(name: string, annotations: Record<string, string> = {}): unknown {
  const labels = { app: name };
  const template = podTemplate(labels, 'Always', annotations);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  };
}

export function aClaim(name: string, accessMode: string): unknown {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: [accessMode], resources: { requests: { storage: '1Gi' } } },
  };
}

export function podTemplate(
  labels: Record<string, string>,
  restartPolicy: string,
  annotations: Record<string, string> = {},
): unknown {
  const containers = [{ name: 'main', image: 'example.test/none:1' }];
  return { metadata: { labels, annotations }, spec: { restartPolicy, containers } };
}

/** Process ids of a group that have not ended; one that only waits to be reaped has. */
export function processesOf(group: number): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const [state, , pgrp] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        return Number(pgrp) === group && state !== 'Z';
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Waits until `check` is true, for some two minutes; returns whether it became so. */
export async function eventually(check: () => boolean): Promise<boolean> {
  for (let tries = 0; tries < 1_200; tries++) {
    if (check()) return true;
    await sleep(100);
  }
  return false;
}
