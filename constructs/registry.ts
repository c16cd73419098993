import { bench } from './bench/index.js';
import { siteBackup } from './backup/definition.js';
import { siteDashboard } from './dashboard/definition.js';
import { siteDashboardChart } from './dashboard-chart/definition.js';
import { siteJob } from './job/definition.js';
import type { KindDefinition } from './kit/definition.js';
import type { Kind } from './kit/kind.js';
import { site } from './site/index.js';
import { siteUser } from './user/definition.js';
import { siteWorkspace } from './workspace/definition.js';

/** A kind with its own types forgotten: the runner passes resources and facts through unread. */
export type AnyKind = Kind;

/** The kinds that the operator works for. A new kind is one folder, and one line here. */
export const KINDS: readonly AnyKind[] = [bench, site].map((kind) => kind as unknown as AnyKind);

/** The kinds that the API knows. Those without a controller are stored and left alone. */
export const DEFINITIONS: readonly KindDefinition[] = [
  ...KINDS.map((kind) => kind.definition),
  siteUser,
  siteWorkspace,
  siteDashboard,
  siteDashboardChart,
  siteBackup,
  siteJob,
];
