import {
  COMMON_COLUMNS,
  SITE_COLUMN,
  readyColumn,
  type KindDefinition,
} from '../../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const siteDashboardChart: KindDefinition = {
  kind: 'SiteDashboardChart',
  plural: 'sitedashboardcharts',
  singular: 'sitedashboardchart',
  shortNames: ['sdc'],
  description: 'A chart for the dashboards and workspaces of a site.',
  maxNameLength: 63,
  printerColumns: [
    readyColumn('Whether the chart in the site is as the spec says.'),
    SITE_COLUMN,
    {
      name: 'Chart',
      type: 'string',
      jsonPath: '.spec.chartName',
      description: 'Name of the chart in the site.',
    },
    {
      name: 'Type',
      type: 'string',
      jsonPath: '.spec.chartType',
      description: 'Where the figures come from.',
    },
    ...COMMON_COLUMNS,
  ],
  spec,
  status,
};
