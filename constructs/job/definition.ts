import { COMMON_COLUMNS, type KindDefinition } from '../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const siteJob: KindDefinition = {
  kind: 'SiteJob',
  plural: 'sitejobs',
  singular: 'sitejob',
  shortNames: ['sj'],
  description: 'Something that runs in a site: once, or by a schedule.',
  maxNameLength: 45,
  printerColumns: [
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the last run that was due has succeeded.',
    },
    {
      name: 'Phase',
      type: 'string',
      jsonPath: '.status.phase',
      description: 'Where the job is in its life.',
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
