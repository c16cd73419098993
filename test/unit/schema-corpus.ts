/**
 * Manifests that admission refuses, with unknown fields, and changes of stored objects: for tests
 * without and with an API server.
 */
import { aBench, aSite, minimal, type Manifest } from './schema-manifests.js';
import { REFUSED_DESK } from './schema-refused-desk.js';
import { REFUSED_OTHERS } from './schema-refused-others.js';
import { REFUSED_SETTINGS } from './schema-refused-settings.js';
import { REFUSED_BENCHES, REFUSED_SITES, type Refused } from './schema-refused.js';

const user = (changes = {}): Manifest => minimal('SiteUser', changes);
const workspace = (changes = {}): Manifest => minimal('SiteWorkspace', changes);
const dashboard = (changes = {}): Manifest => minimal('SiteDashboard', changes);
const chart = (changes = {}): Manifest => minimal('SiteDashboardChart', changes);
const backup = (changes = {}): Manifest => minimal('SiteBackup', changes);
const job = (changes = {}): Manifest => minimal('SiteJob', changes);

export const REFUSED: readonly Refused[] = [
  ...REFUSED_BENCHES,
  ...REFUSED_SITES,
  ...REFUSED_SETTINGS,
  ...REFUSED_DESK,
  ...REFUSED_OTHERS,
];

/** A field that no schema has: dropped, or refused if the client requests strict validation. */
export const UNKNOWN_FIELDS: readonly (readonly [
  reason: string,
  manifest: Manifest,
  field: string,
])[] = [
  ['an unknown field', aBench({ replicas: 3 }), 'spec.replicas'],
  ['a field at the wrong place', aBench({ gunicorn: { replicas: 1 } }), 'spec.gunicorn.replicas'],
  [
    'an unknown component',
    aBench({ componentReplicas: { guncorn: 1 } }),
    'spec.componentReplicas.guncorn',
  ],
  [
    'an unknown queue',
    aBench({ workerAutoscaling: { fast: { enabled: true } } }),
    'spec.workerAutoscaling.fast',
  ],
  [
    'a bench in another namespace',
    aSite({ benchRef: { name: 'b', namespace: 'default' } }),
    'spec.benchRef.namespace',
  ],
  [
    'a backup of another namespace',
    aSite({ restoreFrom: { backupRef: { name: 'n', namespace: 'other' } } }),
    'spec.restoreFrom.backupRef.namespace',
  ],
  [
    'a site in another namespace',
    chart({ siteRef: { name: 'shop', namespace: 'default' } }),
    'spec.siteRef.namespace',
  ],
  ['a card that is an object', dashboard({ cards: [{ card: 'Open' }] }), 'spec.cards[0].card'],
  ['a field that there is not', dashboard({ isStandard: true }), 'spec.isStandard'],
  [
    'a site in another namespace',
    user({ siteRef: { name: 'shop', namespace: 'x' } }),
    'spec.siteRef.namespace',
  ],
  ['a password in the spec', user({ password: 'secret' }), 'spec.password'],
  [
    'a site in another namespace',
    backup({ siteRef: { name: 'shop', namespace: 'default' } }),
    'spec.siteRef.namespace',
  ],
  [
    'keys in the spec',
    backup({
      destination: {
        s3: {
          endpoint: 'https://s3.example.com',
          bucket: 'backups',
          secretRef: { name: 's' },
          secretAccessKey: 'x',
        },
      },
    }),
    'spec.destination.s3.secretAccessKey',
  ],
];

const runAs = (runAsUser: number) => ({ security: { podSecurityContext: { runAsUser } } });

/** A change of a stored object, whether it is accepted or refused. */
export type Change = readonly [reason: string, from: Manifest, to: Manifest];

export const CHANGES: readonly Change[] = [
  ['another site name', aSite(), aSite({ siteName: 'other.example.com' })],
  ['another bench', aSite(), aSite({ benchRef: { name: 'other' } })],
  ['another database', aSite(), aSite({ dbConfig: { mode: 'dedicated' } })],
  ['another database server', aBench(), aBench({ dbConfig: { provider: 'postgres' } })],
  ['another access mode', aBench(), aBench({ storage: { accessMode: 'ReadWriteOnce' } })],
  ['a user', aBench(), aBench(runAs(1002))],
  ['another user', aBench(runAs(1002)), aBench(runAs(1003))],
  ['the same user', aBench(runAs(1002)), aBench({ ...runAs(1002), paused: true })],
  ['another group', aBench(), aBench({ security: { podSecurityContext: { fsGroup: 7 } } })],
  [
    'another user of the containers',
    aBench(runAs(1002)),
    aBench({ security: { securityContext: { runAsUser: 1003 } } }),
  ],
  ['a claim for the sites', aBench(), aBench({ storage: { existingClaim: 'files' } })],
  [
    'another claim for the databases',
    aBench({ dbConfig: { storage: { existingClaim: 'data' } } }),
    aBench({ dbConfig: { storage: { existingClaim: 'other' } } }),
  ],
  [
    "no claim for a site's database any more",
    aSite({ dbConfig: { mode: 'dedicated', storage: { existingClaim: 'data' } } }),
    aSite({ dbConfig: { mode: 'dedicated' } }),
  ],
  ['more storage', aBench(), aBench({ storage: { size: '20Gi' } })],
  ['another site', user(), user({ siteRef: { name: 'x' } })],
  ['another user', user(), user({ email: 'bob@example.org' })],
  ['a schedule', backup(), backup({ schedule: '@daily' })],
  ['another command', job(), job({ command: ['clear-cache'] })],
  ['a private workspace', workspace(), workspace({ forUser: 'ada@example.org' })],
  [
    'applications in both spellings',
    aBench({ appsJSON: '["a"]' }),
    aBench({ appsJSON: '["a"]', apps: [{ name: 'a' }] }),
  ],
  ['no version', aBench(), aBench({ frameworkVersion: undefined })],
  ['another name of the chart', chart(), chart({ chartName: 'Other' })],
  ['another chart type', chart(), chart({ chartType: 'Sum', valueBasedOn: 'idx' })],
  ['another document type', chart(), chart({ documentType: 'User' })],
  ['another site', chart(), chart({ siteRef: { name: 'other' } })],
  ['another name of the dashboard', dashboard(), dashboard({ dashboardName: 'Other' })],
  ['another site', dashboard(), dashboard({ siteRef: { name: 'other' } })],
  ['no charts', dashboard(), dashboard({ charts: [] })],
  ['another title', workspace(), workspace({ title: 'Other' })],
  ['another site', workspace(), workspace({ siteRef: { name: 'other' } })],
  [
    'a role profile beside roles',
    user({ roles: ['A'] }),
    user({ roles: ['A'], roleProfile: 'Sales' }),
  ],
  ['another site', backup(), backup({ siteRef: { name: 'other' } })],
  ['no schedule', backup({ schedule: '@daily' }), backup()],
];
