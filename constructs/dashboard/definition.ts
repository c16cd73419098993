import { COMMON_COLUMNS, type KindDefinition } from '../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const siteDashboard: KindDefinition = {
  kind: 'SiteDashboard',
  plural: 'sitedashboards',
  singular: 'sitedashboard',
  shortNames: ['sd'],
  description: 'A dashboard of a site.',
  maxNameLength: 63,
  printerColumns: [
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the dashboard in the site is as the spec says.',
    },
    {
      name: 'Site',
      type: 'string',
      jsonPath: '.spec.siteRef.name',
      description: 'The site.',
    },
    {
      name: 'Dashboard',
      type: 'string',
      jsonPath: '.spec.dashboardName',
      description: 'Name of the dashboard in the site.',
    },
    ...COMMON_COLUMNS,
  ],
  spec,
  status,
};
