import type { Health } from '../../../constructs/kit/health.js';
import type { AnyKind } from '../../../constructs/registry.js';
import { kindNamed } from '../../kube/kinds.js';

/** The last lines of a container that failed. */
export interface LastLog {
  readonly container: string;
  /** Whether the log is from the run before the last restart. */
  readonly previous: boolean;
  readonly lines: readonly string[];
}

/** Further information about a node: each field only when it is known and applies to the kind. */
export interface Details {
  /** Of a workload. */
  readonly replicas?: { readonly ready: number; readonly desired: number };
  /** Of a pod, or of all pods of a workload. */
  readonly restarts?: number;
  /** Of a worker: jobs that wait in its queue. */
  readonly queueLength?: number;
  /** Of a custom resource: `status.phase`. */
  readonly phase?: string;
  readonly paused?: true;
  /** Whether the object outlives its resource. */
  readonly retained?: true;
  /** The fields of the kind, see `StatusView.details`. */
  readonly [field: string]: unknown;
}

/** An object in the tree, with its children. `-o json` prints it, so it is public API. */
export interface Node {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** As the operator evaluates it. */
  readonly state: Health['state'];
  /** What the object waits for, or what is wrong; empty for a healthy object. */
  readonly message: string;
  /** When the state last changed, RFC 3339, if known. */
  readonly since?: string;
  readonly details: Details;
  readonly log?: LastLog;
  readonly children: readonly Node[];
}

/** Whether a node and all nodes below it are healthy, without restarts. */
export function isHealthy({ state, children, log, details }: Node): boolean {
  return (
    state === 'Ready' &&
    log === undefined &&
    (details.restarts ?? 0) === 0 &&
    children.every(isHealthy)
  );
}

/** A node and all nodes below it. */
export function allOf(node: Node): readonly Node[] {
  return [node, ...node.children.flatMap(allOf)];
}

/** The custom resources among nodes and all nodes below them. */
export function resourcesIn(nodes: readonly Node[], kinds?: readonly AnyKind[]): readonly Node[] {
  return nodes.flatMap(allOf).filter(({ kind }) => kindNamed(kind, kinds) !== undefined);
}
