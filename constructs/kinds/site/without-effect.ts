import { ignoredLogins } from '../../configuration/first-login.js';
import { ignoredEntries } from '../../configuration/problems.js';
import type { Problem } from '../../kit/errors.js';
import type { AppSite } from '../../api/site.js';

const SERVERS = {
  shared: 'the database is on the server of the bench; set spec.dbConfig.resources of the AppBench',
  external: 'you run the server; set its resources there',
  operator: 'the database operator runs the server; set its resources there',
} as const;

/** Fields of a site that are accepted and have no effect. */
export function fieldsWithoutEffect({ spec }: AppSite): readonly Problem[] {
  return [
    ...resourcesWithoutEffect(spec),
    ...templatesWithoutEffect(spec),
    ...ignoredEntries(spec.siteConfig),
    ...ignoredLogins(spec.sso),
  ];
}

function resourcesWithoutEffect({ dbConfig }: AppSite['spec']): readonly Problem[] {
  const { mode, resources } = dbConfig;
  if (!resources || mode === 'dedicated') return [];
  const message = `has no effect in mode ${mode}: ${SERVERS[mode]}`;
  return [{ path: 'spec.dbConfig.resources', message }];
}

function templatesWithoutEffect({
  componentPodTemplates = {},
  dbConfig,
  workloads,
}: AppSite['spec']): readonly Problem[] {
  return Object.keys(componentPodTemplates).flatMap((component) => {
    const path = `spec.componentPodTemplates.${component}`;
    if (component === 'jobs') return [];
    if (component === 'database') {
      const message = `has no effect in mode ${dbConfig.mode}: only mode dedicated has a server for the site`;
      return dbConfig.mode === 'dedicated' ? [] : [{ path, message }];
    }
    const message = `has no effect with workloads Shared: set it on the AppBench`;
    return workloads === 'Shared' ? [{ path, message }] : [];
  });
}
