import type { Health } from '../../../constructs/kit/health.js';

/** The last lines of a container that ended badly. */
export interface LastLog {
  readonly container: string;
  /** Whether it is the log of the container's run before. */
  readonly previous: boolean;
  readonly lines: readonly string[];
}

/** Further facts of a node. Each is there only where it is known, and means something for its kind. */
export interface Details {
  /** Of a workload: pods that are ready, and pods that should be. */
  readonly replicas?: { readonly ready: number; readonly desired: number };
  /** Of a pod: how often its containers were started again. */
  readonly restarts?: number;
  /** Of a worker: jobs that wait in its queue. */
  readonly queueLength?: number;
  /** Of our own kinds: `status.phase`. */
  readonly phase?: string;
  readonly paused?: true;
  /** Of a bench: number of its sites. */
  readonly sites?: number;
  /** Of a bench: the version that it asks for. */
  readonly frameworkVersion?: string;
  /** Of a bench or a site: the image that it runs. */
  readonly image?: string;
  /** Of a bench: sites that an upgrade is done with, of all: `3/5`. */
  readonly upgrade?: string;
  readonly siteURL?: string;
  /** Of a site or a SiteBackup: when the last complete backup was finished, RFC 3339; null where none was. */
  readonly lastBackup?: string | null;
  /** Of a SiteBackup: backups that can be restored. */
  readonly stored?: number;
  readonly schedule?: string;
  /** Whether it stays when its resource goes. */
  readonly retained?: true;
}

/** An object in the tree, with what it is made of. This is what `-o json` prints, so it is public API. */
export interface Node {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** As the operator judges it; `Missing` for what is spoken of, and is not there. */
  readonly state: Health['state'];
  /** What it waits for, or what is wrong; empty where all is well. */
  readonly message: string;
  /** Since when, RFC 3339, where it is known. */
  readonly since?: string;
  readonly details: Details;
  readonly log?: LastLog;
  readonly children: readonly Node[];
}

/** Whether all is well with a node and all below it. */
export function isQuiet({ state, children, log, details }: Node): boolean {
  return (
    state === 'Ready' &&
    log === undefined &&
    (details.restarts ?? 0) === 0 &&
    children.every(isQuiet)
  );
}

/** A node and all below it. */
export function allOf(node: Node): readonly Node[] {
  return [node, ...node.children.flatMap(allOf)];
}
