import { healthOf, type Health } from '../../../constructs/kit/health.js';
import { isPaused } from '../../../constructs/kit/annotations.js';
import type { Resource } from '../../../constructs/kit/object.js';
import { isJobFailure } from '../../../constructs/kit/reasons.js';
import type { StatusNode, StatusView } from '../../../constructs/kit/status-view.js';
import { KINDS } from '../../../constructs/registry.js';
import type { Status } from '../../../runner/plan/resource-status.js';
import type { Details } from './tree-node.js';

/** A custom resource, with the status fields that every kind has. */
export type CustomResource = Resource<object, Status>;

/** The health of a resource, by the conditions that the operator has written. */
export function resourceHealth(resource: CustomResource, view: StatusView = {}): Health {
  const { conditions = [] } = resource.status ?? {};
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (!ready) {
    const state = resource.metadata.deletionTimestamp ? 'Terminating' : 'InProgress';
    return { state, message: 'not reconciled yet' };
  }
  const health = healthOf(resource);
  if (health.state === 'InProgress' && hasFailed(resource, ready.reason))
    return { ...health, state: 'Failed' };
  if (health.state === 'Terminating') return { ...health, message: ready.message };
  if (health.state !== 'Ready') return health;
  return { ...health, message: view.notice?.(resource) ?? health.message };
}

/** Whether it failed: the operator retries a failed Job, so that the user need not act yet. */
function hasFailed({ kind, status }: CustomResource, reason: string): boolean {
  if (status?.phase === 'Failed') return true;
  const known = KINDS.find(({ definition }) => definition.kind === kind);
  return known !== undefined && isJobFailure(known, reason);
}

/** When the state of a resource last changed, RFC 3339. */
export function resourceSince({ metadata, status }: CustomResource): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return metadata.deletionTimestamp ?? ready?.lastTransitionTime ?? metadata.creationTimestamp;
}

export function resourceDetails(
  resource: CustomResource,
  children: readonly StatusNode[],
  view: StatusView = {},
): Details {
  const { phase } = resource.status ?? {};
  const details = Object.entries(view.details?.(resource, children) ?? {});
  return {
    ...(phase === undefined ? {} : { phase }),
    ...(isPaused(resource) ? { paused: true as const } : {}),
    ...Object.fromEntries(details.filter(([, value]) => value !== undefined)),
  };
}
