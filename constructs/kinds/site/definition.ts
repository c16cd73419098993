import {
  COMMON_COLUMNS,
  GUNICORN_SCALE,
  phaseColumn,
  readyColumn,
  type KindDefinition,
} from '../../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const appSite: KindDefinition = {
  kind: 'AppSite',
  plural: 'appsites',
  singular: 'appsite',
  shortNames: ['as'],
  description: 'One site of the Frappe Framework on a bench.',
  maxNameLength: 45,
  printerColumns: [
    readyColumn('Whether the site is made, its workloads are available and it answers.'),
    phaseColumn('Where the site is in its life.'),
    {
      name: 'Bench',
      type: 'string',
      jsonPath: '.spec.benchRef.name',
      description: 'The bench that hosts the site.',
    },
    {
      name: 'URL',
      type: 'string',
      jsonPath: '.status.siteURL',
      description: 'URL of the site.',
    },
    {
      name: 'Upgrade',
      type: 'string',
      jsonPath: '.status.upgrade.state',
      description: 'How far the site is, while it is brought to another image.',
    },
    {
      name: 'Image',
      type: 'string',
      jsonPath: '.status.image',
      description: "The image that the site's data was last brought to.",
      priority: 1,
    },
    ...COMMON_COLUMNS,
  ],
  scale: GUNICORN_SCALE,
  spec,
  status,
};
