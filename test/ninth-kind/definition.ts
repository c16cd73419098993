import { COMMON_COLUMNS, type KindDefinition } from '../../constructs/kit/definition.js';

const reference = {
  type: 'object',
  description: 'The site that shows the banner.',
  required: ['name'],
  properties: { name: { type: 'string', description: 'Name of the AppSite.', maxLength: 63 } },
} as const;

export const siteBanner: KindDefinition = {
  kind: 'SiteBanner',
  plural: 'sitebanners',
  singular: 'sitebanner',
  shortNames: ['sbn'],
  description: 'A message on every page of a site.',
  maxNameLength: 50,
  printerColumns: COMMON_COLUMNS,
  spec: {
    type: 'object',
    required: ['siteRef', 'text'],
    properties: {
      siteRef: reference,
      text: { type: 'string', description: 'The message.', minLength: 1, maxLength: 200 },
      colour: {
        type: 'string',
        description: 'Background of the banner.',
        enum: ['blue', 'red'],
        default: 'blue',
      },
    },
  },
  status: {
    type: 'object',
    properties: {
      observedGeneration: { type: 'integer', format: 'int64', description: 'The generation.' },
      appliedHash: { type: 'string', description: 'Digest of the children.' },
      phase: { type: 'string', description: 'Summary of the state.' },
      shownText: { type: 'string', description: 'The message that is shown.' },
      conditions: {
        type: 'array',
        description: 'The conditions.',
        items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
};
