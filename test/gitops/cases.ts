import type { Condition } from '../../constructs/kit/condition.js';
import { outcomesOf } from '../golden/outcome.js';
import { readScenario, scenarioNames } from '../golden/scenario.js';

/** Health of a resource, in the words of Argo CD and of Flux. */
export interface Health {
  readonly argo: 'Healthy' | 'Progressing' | 'Degraded';
  readonly flux: 'Current' | 'InProgress' | 'Failed';
}

/** A resource with the status that the operator gives it. */
export interface Case {
  /** `scenario: kind name`. */
  readonly name: string;
  readonly object: {
    readonly metadata: object;
    readonly status: { readonly conditions: readonly Condition[] };
  };
}

const HEALTHY: Health = { argo: 'Healthy', flux: 'Current' };
const PROGRESSING: Health = { argo: 'Progressing', flux: 'InProgress' };
const DEGRADED: Health = { argo: 'Degraded', flux: 'Failed' };

/** What a user expects to see. */
export const EXPECTED: Readonly<Record<string, Health>> = {
  'site-everything: AppSite demo-site': HEALTHY,
  'sitebackup-succeeded: SiteBackup nightly': HEALTHY,
  'sitebackup-suspended: SiteBackup nightly': HEALTHY,
  'bench-starting: AppBench demo-bench': PROGRESSING,
  'site-updating: AppSite demo-site': PROGRESSING,
  'site-deleted: AppSite demo-site': PROGRESSING,
  'sitejob-deadline: SiteJob demo-job': DEGRADED,
  'bench-apps-not-json: AppBench demo-bench': DEGRADED,
};

/** Every resource of the golden scenarios, and one that the operator has not seen. */
export function cases(): readonly Case[] {
  const written = scenarioNames().flatMap((scenario) =>
    outcomesOf(readScenario(scenario)).map(({ resource, status }) => ({
      name: `${scenario}: ${resource.kind} ${resource.metadata.name}`,
      object: { ...resource, metadata: { generation: 1, ...resource.metadata }, status },
    })),
  );
  return written as unknown as readonly Case[];
}
