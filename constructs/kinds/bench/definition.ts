import {
  COMMON_COLUMNS,
  GUNICORN_SCALE,
  phaseColumn,
  readyColumn,
  type KindDefinition,
} from '../../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const appBench: KindDefinition = {
  kind: 'AppBench',
  plural: 'appbenchs',
  singular: 'appbench',
  shortNames: ['ab'],
  description: 'Shared infrastructure of the Frappe Framework for a set of sites.',
  maxNameLength: 45,
  printerColumns: [
    readyColumn('Whether the init Job has succeeded and every component is available.'),
    phaseColumn('Where the bench is in its life.'),
    {
      name: 'Version',
      type: 'string',
      jsonPath: '.spec.frameworkVersion',
      description: 'Version label of the framework.',
    },
    {
      name: 'Sites',
      type: 'integer',
      jsonPath: '.status.sites',
      description: 'Number of sites on the bench.',
    },
    {
      name: 'Upgrade',
      type: 'string',
      jsonPath: '.status.upgrade.progress',
      description: 'Sites that are done, of all, while they are brought to another image.',
    },
    {
      name: 'Image',
      type: 'string',
      jsonPath: '.status.image',
      description: "The image that the bench's own pods run.",
      priority: 1,
    },
    ...COMMON_COLUMNS,
  ],
  scale: GUNICORN_SCALE,
  spec,
  status,
};
