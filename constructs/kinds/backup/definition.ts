import {
  COMMON_COLUMNS,
  SITE_COLUMN,
  phaseColumn,
  readyColumn,
  type KindDefinition,
} from '../../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const siteBackup: KindDefinition = {
  kind: 'SiteBackup',
  plural: 'sitebackups',
  singular: 'sitebackup',
  shortNames: ['sb'],
  description: 'Backups of a site: one, or one after the other by a schedule.',
  maxNameLength: 45,
  printerColumns: [
    readyColumn('Whether the last backup that was due is stored and checked.'),
    phaseColumn('Where the backups are in their life.'),
    SITE_COLUMN,
    {
      name: 'Schedule',
      type: 'string',
      jsonPath: '.spec.schedule',
      description: 'When backups are made.',
    },
    {
      name: 'Last',
      type: 'date',
      jsonPath: '.status.lastSuccessfulTime',
      description: 'Time since the last complete backup.',
    },
    {
      name: 'Stored',
      type: 'integer',
      jsonPath: '.status.count',
      description: 'Number of backups that can be restored.',
    },
    ...COMMON_COLUMNS,
  ],
  spec,
  status,
};
