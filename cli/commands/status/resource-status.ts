import { healthOf, type Health } from '../../../constructs/kit/health.js';
import { isPaused } from '../../../constructs/kit/labels.js';
import type { Resource } from '../../../constructs/kit/object.js';
import type { Status } from '../../../runner/reconcile/status.js';
import type { Details } from './node.js';

/** A resource of ours, with what is read of its spec and its status. */
export type Ours = Resource<
  {
    readonly frameworkVersion?: string;
    readonly benchRef?: { readonly name: string };
    readonly siteRef?: { readonly name: string };
    readonly schedule?: string;
    readonly paused?: boolean;
  },
  Status & {
    readonly image?: string;
    readonly sites?: number;
    readonly upgrade?: { readonly progress?: string };
    readonly siteURL?: string;
    readonly lastSuccessfulTime?: string;
    readonly count?: number;
    readonly lastFailure?: string;
  }
>;

/** How a resource fares: by its own conditions, which the operator wrote. */
export function resourceHealth(resource: Ours): Health {
  const { conditions = [], lastFailure } = resource.status ?? {};
  if (!conditions.some(({ type }) => type === 'Ready')) {
    const state = resource.metadata.deletionTimestamp ? 'Terminating' : 'InProgress';
    return { state, message: 'the operator has not looked at it yet' };
  }
  const evaluated = healthOf(resource);
  // A Job that is tried again by itself: it has failed, though nobody has to act yet.
  const failed = evaluated.state === 'InProgress' && resource.status?.phase === 'Failed';
  const health: Health = failed ? { ...evaluated, state: 'Failed' } : evaluated;
  const ready = conditions.find(({ type }) => type === 'Ready');
  // Of what goes, the operator says what it waits for.
  if (health.state === 'Terminating') return { ...health, message: ready?.message ?? '' };
  if (health.state !== 'Ready' || lastFailure === undefined) return health;
  return { ...health, message: `the last run failed: ${lastFailure}` };
}

/** Since when it is as it is. */
export function resourceSince({ metadata, status }: Ours): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return metadata.deletionTimestamp ?? ready?.lastTransitionTime ?? metadata.creationTimestamp;
}

export function resourceDetails(resource: Ours): Details {
  const { kind, spec, status = {} } = resource;
  const { phase, image, sites, upgrade, siteURL, lastSuccessfulTime, count } = status;
  return {
    ...(phase === undefined ? {} : { phase }),
    ...(isPaused(resource) ? { paused: true as const } : {}),
    ...(spec.frameworkVersion === undefined ? {} : { frameworkVersion: spec.frameworkVersion }),
    ...(image === undefined ? {} : { image }),
    ...(sites === undefined ? {} : { sites }),
    ...(kind === 'AppBench' && upgrade?.progress ? { upgrade: upgrade.progress } : {}),
    ...(siteURL === undefined ? {} : { siteURL }),
    ...(spec.schedule === undefined ? {} : { schedule: spec.schedule }),
    ...(kind === 'SiteBackup' ? { lastBackup: lastSuccessfulTime ?? null } : {}),
    ...(count === undefined ? {} : { stored: count }),
  };
}
