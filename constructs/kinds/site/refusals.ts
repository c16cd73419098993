import type { AppSite } from '../../api/site.js';
import { firstLoginOf, firstLoginProblems } from '../../configuration/first-login.js';
import { configurationProblems } from '../../configuration/problems.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { settingProblems } from '../../frappe/database-settings.js';
import { takenName } from '../../frappe/oldest-wins.js';
import { siteTemplateProblems } from '../../frappe/site-model.js';
import { invalid, refusals, type Problem, type Refusal } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import { metadataKeysOf } from '../../kit/metadata-keys.js';
import { unsupportedMode } from './database.js';
import { foreignHosts } from './foreign-hosts.js';
import { longHost, takenHosts } from './taken-hosts.js';

/** What a site's spec is held against. */
export interface OfferedBench {
  readonly bench: BenchModel;
  /** The apps of the previous image, while the site waits for its turn to be upgraded. */
  readonly keptApps: readonly string[];
}

/**
 * Every mistake in a site's spec. A name that is taken is the first, so that no other mistake hides it
 * from admission.
 * @param offered undefined where there is no bench: then only the spec itself is checked
 */
export function siteRefusals(
  site: AppSite,
  offered: OfferedBench | undefined,
  reader: ClusterReader,
): readonly Refusal[] {
  const name = takenName(site, 'AppBench', reader);
  const { siteConfig, ingress } = site.spec;
  const own = [...templateProblems(site), ...configurationProblems(siteConfig)];
  if (!offered) return [...name, ...invalid(own)];
  const { bench } = offered;
  const { suffix } = bench.domain;
  return [
    ...name,
    ...refusals('DuplicateSiteName', takenHosts(site, suffix, reader)),
    ...refusals('HostTaken', ingress?.enabled ? foreignHosts(site, suffix, reader) : []),
    ...invalid([
      ...own,
      ...longHost(site, suffix),
      ...unknownWorkers(site, bench),
      ...settingProblems(bench.database.provider, site.spec.dbConfig.settings),
      ...unsupportedMode(site, bench),
      ...unknownApps(site, offered),
      ...loginProblems(site, offered),
    ]),
  ];
}

/** The apps of a site: its spec names them, or they are all apps of its bench. */
export function appsOf({ spec }: AppSite, { bench, keptApps }: OfferedBench): readonly string[] {
  if (keptApps.length > 0) return keptApps;
  return spec.apps?.map(({ name }) => name) ?? bench.apps;
}

function templateProblems(site: AppSite): readonly Problem[] {
  return siteTemplateProblems(site.spec, {
    benchName: site.spec.benchRef.name,
    metadataKeys: metadataKeysOf(site),
  });
}

function loginProblems(site: AppSite, offered: OfferedBench): readonly Problem[] {
  const login = firstLoginOf(site);
  return login ? firstLoginProblems(login, appsOf(site, offered)) : [];
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
