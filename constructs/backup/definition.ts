import { COMMON_COLUMNS, type KindDefinition } from '../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const siteBackup: KindDefinition = {
  kind: 'SiteBackup',
  plural: 'sitebackups',
  singular: 'sitebackup',
  shortNames: ['sb'],
  description: 'Backups of a site: one, or one after the other by a schedule.',
  maxNameLength: 45,
  printerColumns: [
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the last backup that was due is stored and checked.',
    },
    {
      name: 'Phase',
      type: 'string',
      jsonPath: '.status.phase',
      description: 'Where the backups are in their life.',
    },
    {
      name: 'Site',
      type: 'string',
      jsonPath: '.spec.siteRef.name',
      description: 'The site.',
    },
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
