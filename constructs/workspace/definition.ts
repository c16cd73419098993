import { COMMON_COLUMNS, type KindDefinition } from '../kit/definition.js';
import { spec, status } from './schema.generated.js';

export const siteWorkspace: KindDefinition = {
  kind: 'SiteWorkspace',
  plural: 'siteworkspaces',
  singular: 'siteworkspace',
  shortNames: ['sw'],
  description: "A workspace of a site's desk.",
  maxNameLength: 63,
  printerColumns: [
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the workspace in the site is as the spec says.',
    },
    {
      name: 'Site',
      type: 'string',
      jsonPath: '.spec.siteRef.name',
      description: 'The site.',
    },
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
