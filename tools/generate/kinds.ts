/** A kind's folder under `constructs/`, its name, and the export of its `definition.ts`. */
export interface KindFolder {
  readonly folder: string;
  readonly kind: string;
  readonly definition: string;
}

/** Every kind whose schema, CRD and import are generated. */
export const KINDS: readonly KindFolder[] = [
  { folder: 'bench', kind: 'AppBench', definition: 'appBench' },
  { folder: 'site', kind: 'AppSite', definition: 'appSite' },
  { folder: 'user', kind: 'SiteUser', definition: 'siteUser' },
  { folder: 'workspace', kind: 'SiteWorkspace', definition: 'siteWorkspace' },
  { folder: 'dashboard', kind: 'SiteDashboard', definition: 'siteDashboard' },
  { folder: 'dashboard-chart', kind: 'SiteDashboardChart', definition: 'siteDashboardChart' },
  { folder: 'backup', kind: 'SiteBackup', definition: 'siteBackup' },
  { folder: 'job', kind: 'SiteJob', definition: 'siteJob' },
];
