import type { AppBench } from '../../api/bench.js';
import { resolveApps } from '../../frappe/apps.js';
import { benchTemplateProblems } from '../../frappe/bench-model.js';
import { settingProblems } from '../../frappe/database-settings.js';
import { takenName } from '../../frappe/oldest-wins.js';
import { userProblems } from '../../frappe/security.js';
import { invalid, type Problem, type Refusal } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { workersProblems } from './worker-problems.js';

/** Every mistake in a bench's spec. */
export function benchRefusals(bench: AppBench, reader: ClusterReader): readonly Refusal[] {
  return [...takenName(bench, 'AppSite', reader), ...invalid(benchProblems(bench))];
}

/** Problems in a spec that a schema cannot find. */
export function benchProblems(bench: AppBench): readonly Problem[] {
  const { provider, settings } = bench.spec.dbConfig;
  return [
    ...resolveApps(bench).problems,
    ...settingProblems(provider, settings),
    ...userProblems(bench.spec.security, bench.status?.ids),
    ...benchTemplateProblems(bench),
    ...workersProblems(bench),
  ];
}
