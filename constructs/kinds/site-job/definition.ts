import {
  COMMON_COLUMNS,
  SITE_COLUMN,
  phaseColumn,
  readyColumn,
  type KindDefinition,
} from '../../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const siteJob: KindDefinition = {
  kind: 'SiteJob',
  plural: 'sitejobs',
  singular: 'sitejob',
  shortNames: ['sj'],
  description: 'Something that runs in a site: once, or by a schedule.',
  maxNameLength: 45,
  printerColumns: [
    readyColumn('Whether the last run that was due has succeeded.'),
    phaseColumn('Where the job is in its life.'),
    SITE_COLUMN,
    {
      name: 'Schedule',
      type: 'string',
      jsonPath: '.spec.schedule',
      description: 'When it runs.',
    },
    {
      name: 'Exit',
      type: 'integer',
      jsonPath: '.status.exitCode',
      description: 'Exit code of the last run.',
    },
    {
      name: 'Started',
      type: 'date',
      jsonPath: '.status.startTime',
      description: 'Time since the last run started.',
    },
    ...COMMON_COLUMNS,
  ],
  spec,
  status,
};
