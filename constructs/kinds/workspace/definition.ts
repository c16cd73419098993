import {
  COMMON_COLUMNS,
  SITE_COLUMN,
  readyColumn,
  type KindDefinition,
} from '../../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const siteWorkspace: KindDefinition = {
  kind: 'SiteWorkspace',
  plural: 'siteworkspaces',
  singular: 'siteworkspace',
  shortNames: ['sw'],
  description: "A workspace of a site's desk.",
  maxNameLength: 63,
  printerColumns: [
    readyColumn('Whether the workspace in the site is as the spec says.'),
    SITE_COLUMN,
    {
      name: 'Title',
      type: 'string',
      jsonPath: '.spec.title',
      description: 'Title of the workspace.',
    },
    ...COMMON_COLUMNS,
  ],
  spec,
  status,
};
