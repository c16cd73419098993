import { siteBackup } from '../../constructs/backup/definition.js';
import { appBench } from '../../constructs/bench/definition.js';
import { siteDashboardChart } from '../../constructs/dashboard-chart/definition.js';
import { siteDashboard } from '../../constructs/dashboard/definition.js';
import { siteJob } from '../../constructs/job/definition.js';
import type { KindDefinition } from '../../constructs/kit/definition.js';
import { appSite } from '../../constructs/site/definition.js';
import { siteUser } from '../../constructs/user/definition.js';
import { siteWorkspace } from '../../constructs/workspace/definition.js';

export const DEFINITIONS: readonly KindDefinition[] = [
  appBench,
  appSite,
  siteUser,
  siteWorkspace,
  siteDashboard,
  siteDashboardChart,
  siteBackup,
  siteJob,
];

export function definitionOf(kind: string): KindDefinition {
  const found = DEFINITIONS.find((definition) => definition.kind === kind);
  if (!found) throw new Error(`no kind ${kind}`);
  return found;
}
