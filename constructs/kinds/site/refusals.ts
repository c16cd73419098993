import type { AppSite } from '../../api/site.js';
import { firstLoginOf, setupProblems } from '../../configuration/first-login.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { settingProblems } from '../../frappe/database-settings.js';
import { takenName } from '../../frappe/oldest-wins.js';
import { siteTemplateProblems } from '../../frappe/site-model.js';
import { overBenchProblems } from '../../frappe/template-over-bench.js';
import { invalid, type Problem, type Refusal } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { metadataKeysOf } from '../../kit/metadata-keys.js';
import { unsupportedMode } from './database.js';
import { hostRefusals } from './host-problems.js';
import { longHost } from './taken-hosts.js';

/** What a site's spec is held against. */
export interface OfferedBench {
  readonly bench: BenchModel;
  /** The apps of the site. */
  readonly apps: readonly string[];
  /** The apps of the previous image, while the site waits for its turn to be upgraded. */
  readonly keptApps: readonly string[];
}

/**
 * Every mistake in a site's spec. A name that is taken is the first, so that no other mistake hides it
 * from admission.
 * @param offered undefined where the site has no bench: then only the spec itself is checked
 */
export function siteRefusals(
  site: AppSite,
  offered: OfferedBench | undefined,
  reader: ClusterReader,
): readonly Refusal[] {
  const { benchRef } = site.spec;
  const group = { benchName: benchRef.name, metadataKeys: metadataKeysOf(site) };
  const name = takenName(site, 'AppBench', reader);
  const own = siteTemplateProblems(site.spec, group);
  if (!offered) return [...name, ...invalid(own)];
  const { suffix } = offered.bench.domain;
  return [
    ...name,
    ...hostRefusals(site, suffix, reader),
    ...invalid([...own, ...longHost(site, suffix), ...problemsOnBench(site, offered)]),
  ];
}

/** What does not fit the site's bench. */
function problemsOnBench(site: AppSite, offered: OfferedBench): readonly Problem[] {
  const { bench, apps } = offered;
  const login = firstLoginOf(site);
  return [
    ...overBenchProblems(site.spec.componentPodTemplates, bench.componentPodTemplates),
    ...unknownWorkers(site, bench),
    ...unknownApps(site, offered),
    ...settingProblems(bench.database.provider, site.spec.dbConfig.settings),
    ...unsupportedMode(site, bench),
    ...(login ? setupProblems(login, apps) : []),
  ];
}

/** Numbers of workers that the bench does not have. */
function unknownWorkers({ spec }: AppSite, bench: BenchModel): readonly Problem[] {
  const offered = bench.workers.map(({ name }) => name);
  return (spec.workers ?? []).flatMap(({ name }, index) => {
    if (offered.includes(name)) return [];
    const path = `spec.workers[${index}].name`;
    const message = `Unsupported value: "${name}": the workers of bench ${bench.name} are: ${offered.join(', ') || 'none'}`;
    return [{ path, message }];
  });
}

/** Apps that the bench does not have. */
function unknownApps({ spec }: AppSite, { bench, keptApps }: OfferedBench): readonly Problem[] {
  const known = ['frappe', ...bench.apps, ...keptApps];
  return (spec.apps ?? []).flatMap(({ name }, index) => {
    if (known.includes(name)) return [];
    const path = `spec.apps[${index}].name`;
    const message = `Unsupported value: "${name}": the apps of bench ${bench.name} are: ${bench.apps.join(', ') || 'none'}`;
    return [{ path, message }];
  });
}
