import {
  COMMON_COLUMNS,
  SITE_COLUMN,
  readyColumn,
  type KindDefinition,
} from '../../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const siteDashboard: KindDefinition = {
  kind: 'SiteDashboard',
  plural: 'sitedashboards',
  singular: 'sitedashboard',
  shortNames: ['sd'],
  description: 'A dashboard of a site.',
  maxNameLength: 63,
  printerColumns: [
    readyColumn('Whether the dashboard in the site is as the spec says.'),
    SITE_COLUMN,
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
