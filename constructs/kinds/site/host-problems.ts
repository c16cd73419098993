import { publicHosts } from '../../frappe/domain.js';
import { refusals, type Problem, type Refusal } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import type { AppSite } from '../../api/site.js';
import { takenElsewhere } from './foreign-hosts.js';
import { takenHosts } from './taken-hosts.js';

/** Where the n-th alias stands in the spec. */
const aliasPath = (index: number) => `spec.aliases[${index}]`;
const isAlias = ({ path }: Problem) => path.startsWith(aliasPath(0).slice(0, -2));

/** A site without its own host name cannot run. */
export function hostRefusals(
  site: AppSite,
  suffix: string | undefined,
  reader: ClusterReader,
): readonly Refusal[] {
  const own = (problems: readonly Problem[]) => problems.filter((problem) => !isAlias(problem));
  return [
    ...refusals('DuplicateSiteName', own(takenHosts(site, suffix, reader))),
    ...refusals('HostTaken', own(takenElsewhere(site, suffix, reader))),
  ];
}

/** The aliases that another site or an Ingress has: the site runs without them until they are free. */
export function ignoredAliases(
  site: AppSite,
  suffix: string | undefined,
  reader: ClusterReader,
): readonly Problem[] {
  return [...takenHosts(site, suffix, reader), ...takenElsewhere(site, suffix, reader)]
    .filter(isAlias)
    .map(({ path, message }) => ({ path, message: `has no effect: ${message}` }));
}

/** The public host names of a site, its own domain first, without the ignored aliases. */
export function usableHosts(
  { spec }: AppSite,
  suffix: string | undefined,
  ignored: readonly Problem[],
): readonly string[] {
  const aliases = (spec.aliases ?? []).filter(
    (_, index) => !ignored.some(({ path }) => path === aliasPath(index)),
  );
  return publicHosts({ ...spec, aliases }, suffix);
}
