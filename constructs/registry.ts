import { bench } from './kinds/bench/index.js';
import { backup } from './kinds/backup/index.js';
import { documents } from './batches/documents/batch.js';
import { dashboard } from './kinds/dashboard/index.js';
import { dashboardChart } from './kinds/dashboard-chart/index.js';
import { job } from './kinds/site-job/index.js';
import type { KindDefinition } from './kit/definition.js';
import type { Batch } from './kit/batch.js';
import type { Kind } from './kit/kind.js';
import { site } from './kinds/site/index.js';
import { user } from './kinds/user/index.js';
import { workspace } from './kinds/workspace/index.js';

/** A kind without its type parameters: the runner passes resources and inputs through. */
export type AnyKind = Kind;

/** The kinds of the operator. A new kind is one folder, and one line here. */
export const KINDS: readonly AnyKind[] = [
  bench,
  site,
  user,
  workspace,
  dashboard,
  dashboardChart,
  backup,
  job,
].map((kind) => kind as unknown as AnyKind);

/** A batch without its type parameters. */
export type AnyBatch = Batch;

/** Work that resources of several kinds request together. */
export const BATCHES: readonly AnyBatch[] = [documents].map(
  (batch) => batch as unknown as AnyBatch,
);

/** The definitions of all kinds. */
export const DEFINITIONS: readonly KindDefinition[] = KINDS.map((kind) => kind.definition);
