import type { AppBench } from '../../api/bench.js';
import { configurationWarnings } from '../../configuration/problems.js';
import type { Problem } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import type { AppSite } from '../../api/site.js';
import { foreignHosts } from './foreign-hosts.js';
import { ignoredAliases } from './host-problems.js';
import { fieldsWithoutEffect } from './without-effect.js';

/** What is legal in a site's spec, but seldom meant. */
export function siteWarnings(site: AppSite, reader: ClusterReader): readonly Problem[] {
  const { spec } = site;
  const { namespace = 'default' } = site.metadata;
  const suffix = suffixOf(site, reader);
  const warnings: Problem[] = [
    ...fieldsWithoutEffect(site),
    ...ignoredAliases(site, suffix, reader),
    ...configurationWarnings(spec.siteConfig, namespace, reader, spec.sso),
  ];
  if (spec.deletionPolicy === 'Delete') {
    const what =
      spec.dbConfig.mode === 'external' ? "the site's files" : "the site's database and files";
    const message = `Delete removes ${what} with the object; its backups stay where they are stored`;
    warnings.push({ path: 'spec.deletionPolicy', message });
  }
  // With an Ingress such a host name is refused, or left out.
  if (!spec.ingress?.enabled) warnings.push(...foreignHosts(site, suffix, reader));
  return warnings;
}

function suffixOf({ metadata, spec }: AppSite, reader: ClusterReader): string | undefined {
  return reader.get('AppBench', metadata.namespace ?? 'default', spec.benchRef.name, suffixOfBench);
}

function suffixOfBench({ spec }: AppBench): string | undefined {
  return spec.domainConfig?.suffix;
}
