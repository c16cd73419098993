import {
  COMMON_COLUMNS,
  SITE_COLUMN,
  readyColumn,
  type KindDefinition,
} from '../../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const siteUser: KindDefinition = {
  kind: 'SiteUser',
  plural: 'siteusers',
  singular: 'siteuser',
  shortNames: ['su'],
  description: 'A user of a site.',
  maxNameLength: 54,
  printerColumns: [
    readyColumn('Whether the user in the site is as the spec says.'),
    SITE_COLUMN,
    {
      name: 'Email',
      type: 'string',
      jsonPath: '.spec.email',
      description: 'E-mail address of the user.',
    },
    {
      name: 'Enabled',
      type: 'boolean',
      jsonPath: '.spec.enabled',
      description: 'Whether the user can log in.',
    },
    ...COMMON_COLUMNS,
  ],
  spec,
  status,
};
