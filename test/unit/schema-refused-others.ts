import { minimal, type Manifest } from './schema-manifests.js';
import type { Refused } from './schema-refused.js';

const user = (changes: object): Manifest => minimal('SiteUser', changes);
const workspace = (changes: object): Manifest => minimal('SiteWorkspace', changes);
const dashboard = (changes: object): Manifest => minimal('SiteDashboard', changes);
const chart = (changes: object): Manifest => minimal('SiteDashboardChart', changes);
const backup = (changes: object): Manifest => minimal('SiteBackup', changes);
const job = (changes: object): Manifest => minimal('SiteJob', changes);
const noDocuments = { documentType: undefined, basedOn: undefined };
const s3 = { endpoint: 'https://s3.example.com', bucket: 'backups', secretRef: { name: 's' } };

export const REFUSED_OTHERS: readonly Refused[] = [
  ['no site', user({ siteRef: undefined }), 'spec.siteRef'],
  ['an e-mail address in upper case', user({ email: 'Ada@example.org' }), 'spec.email'],
  ['no e-mail address', user({ email: 'ada' }), 'spec.email'],
  ['Administrator', user({ email: 'Administrator' }), 'spec.email', 'spec.email', 'spec.email'],
  ['the address of Guest', user({ email: 'guest@example.com' }), 'spec.email'],
  ['roles beside a role profile', user({ roles: ['Sales User'], roleProfile: 'Sales' }), 'spec'],
  ['a role twice', user({ roles: ['A', 'A'] }), 'spec.roles[1]'],
  ['a role with markup', user({ roles: ['<b>'] }), 'spec.roles[0]'],
  ['a first name with a line break', user({ firstName: 'A\nB' }), 'spec.firstName'],
  ['a password that is text', user({ passwordSecretRef: 'secret' }), 'spec.passwordSecretRef'],
  ['an unknown deletion policy', user({ deletionPolicy: 'Disabled' }), 'spec.deletionPolicy'],
  ['an interval without a unit', user({ resyncInterval: '60' }), 'spec.resyncInterval'],

  [
    'a block of an unknown shortcut',
    workspace({ blocks: [{ type: 'shortcut', label: 'X' }] }),
    'spec',
  ],
  ['a header without text', workspace({ blocks: [{ type: 'header' }] }), 'spec.blocks[0]'],
  [
    'a spacer with a label',
    workspace({ blocks: [{ type: 'spacer', label: 'X' }] }),
    'spec.blocks[0]',
  ],
  [
    'a block that is too wide',
    workspace({ blocks: [{ type: 'spacer', columns: 13 }] }),
    'spec.blocks[0].columns',
  ],
  [
    'a shortcut to nowhere',
    workspace({ shortcuts: [{ label: 'X', type: 'DocType' }] }),
    'spec.shortcuts[0]',
  ],
  [
    'a shortcut to a script',
    workspace({ shortcuts: [{ label: 'X', type: 'URL', url: 'javascript:alert(1)' }] }),
    'spec.shortcuts[0].url',
  ],
  [
    'a view of a report',
    workspace({ shortcuts: [{ label: 'X', type: 'Report', linkTo: 'Y', docView: 'List' }] }),
    'spec.shortcuts[0]',
  ],
  [
    'two shortcuts of one label',
    workspace({ shortcuts: [1, 2].map((n) => ({ label: 'X', type: 'Page', linkTo: `P${n}` })) }),
    'spec.shortcuts[1]',
  ],
  [
    'a chart by two names',
    workspace({ charts: [{ label: 'X', chart: { name: 'a', document: 'b' } }] }),
    'spec.charts[0].chart',
  ],
  ['an unknown colour', workspace({ indicatorColor: 'mauve' }), 'spec.indicatorColor'],
  ['a link to nowhere', workspace({ type: 'Link' }), 'spec'],
  [
    'a link to a dashboard, which the framework has not',
    workspace({ type: 'Link', linkType: 'Dashboard', linkTo: 'Sales' }),
    'spec.linkType',
  ],
  ['a workspace below itself', workspace({ parentPage: 'Sales' }), 'spec'],
  [
    'a title that is too long with its user',
    workspace({ title: 'x'.repeat(125), forUser: 'ada@example.org' }),
    'spec',
  ],
  ['an address of type Workspace', workspace({ externalLink: 'https://a.b' }), 'spec'],
  [
    'a filter of two values',
    workspace({
      quickLists: [
        { label: 'X', documentType: 'ToDo', filters: [{ field: 'a', value: '1', values: ['2'] }] },
      ],
    }),
    'spec.quickLists[0].filters[0]',
  ],

  ['no charts', dashboard({ charts: [] }), 'spec.charts'],
  ['charts left out', dashboard({ charts: undefined }), 'spec.charts'],
  ['a chart without a name', dashboard({ charts: [{ chart: {} }] }), 'spec.charts[0].chart'],
  [
    'an unknown width',
    dashboard({ charts: [{ chart: { name: 'a' }, width: 'Third' }] }),
    'spec.charts[0].width',
  ],
  ['options that are text', dashboard({ chartOptions: '{}' }), 'spec.chartOptions'],

  ['a count without documents', chart({ documentType: undefined }), 'spec'],
  ['a count without a date', chart({ basedOn: undefined }), 'spec'],
  ['a sum without values', chart({ chartType: 'Sum' }), 'spec'],
  ['groups by nothing', chart({ chartType: 'Group By' }), 'spec'],
  [
    'a sum of groups of nothing',
    chart({ chartType: 'Group By', groupByBasedOn: 'a', groupByType: 'Sum' }),
    'spec',
  ],
  ['a report without a name', chart({ chartType: 'Report', ...noDocuments }), 'spec', 'spec'],
  [
    'a report of documents',
    chart({ chartType: 'Report', reportName: 'R', useReportChart: true }),
    'spec',
  ],
  ['a custom chart without a source', chart({ chartType: 'Custom', ...noDocuments }), 'spec'],
  [
    'a heat map of groups',
    chart({ chartType: 'Group By', groupByBasedOn: 'a', type: 'Heatmap' }),
    'spec',
  ],
  ['a range without dates', chart({ timespan: 'Select Date Range' }), 'spec'],
  [
    'a range that ends before it starts',
    chart({ timespan: 'Select Date Range', fromDate: '2025-02-01', toDate: '2025-01-01' }),
    'spec',
  ],
  ['dates without a range', chart({ fromDate: '2025-02-01' }), 'spec'],
  [
    'a day that is none',
    chart({ timespan: 'Select Date Range', fromDate: '2025-13-01', toDate: '2026-01-01' }),
    'spec.fromDate',
  ],
  ['an unknown chart type', chart({ chartType: 'count' }), 'spec.chartType'],
  [
    'an unknown operator',
    chart({ filters: [{ field: 'a', operator: '==', value: 'x' }] }),
    'spec.filters[0].operator',
  ],
  [
    'a list without values',
    chart({ filters: [{ field: 'a', operator: 'in', value: 'x' }] }),
    'spec.filters[0]',
  ],
  [
    'between one',
    chart({ filters: [{ field: 'a', operator: 'between', values: ['x'] }] }),
    'spec.filters[0]',
  ],
  ['a field with a command', chart({ basedOn: 'a; drop table' }), 'spec.basedOn'],

  ['no destination', backup({ destination: undefined }), 'spec.destination'],
  ['an empty destination', backup({ destination: {} }), 'spec.destination'],
  [
    'two destinations',
    backup({ destination: { pvc: { claimName: 'a' }, s3 } }),
    'spec.destination',
  ],
  [
    'a store without a bucket',
    backup({ destination: { s3: { ...s3, bucket: undefined } } }),
    'spec.destination.s3.bucket',
  ],
  [
    'a store with a password in its URL',
    backup({ destination: { s3: { ...s3, endpoint: 'https://a:b@c' } } }),
    'spec.destination.s3.endpoint',
  ],
  [
    'a folder that goes up',
    backup({ destination: { pvc: { claimName: 'a', prefix: '../x' } } }),
    'spec.destination.pvc.prefix',
  ],
  [
    'an absolute folder',
    backup({ destination: { pvc: { claimName: 'a', prefix: '/x' } } }),
    'spec.destination.pvc.prefix',
  ],
  ['a schedule of four fields', backup({ schedule: '0 3 * *' }), 'spec.schedule'],
  ['a schedule with a time zone in it', backup({ schedule: 'TZ=UTC 0 3 * * *' }), 'spec.schedule'],
  ['retention without a schedule', backup({ retention: { keepLast: 3 } }), 'spec'],
  ['retention of nothing', backup({ schedule: '@daily', retention: {} }), 'spec.retention'],
  [
    'keeping none',
    backup({ schedule: '@daily', retention: { keepLast: 0 } }),
    'spec.retention.keepLast',
  ],
  ['a time zone without a schedule', backup({ timeZone: 'UTC' }), 'spec'],
  [
    'a time zone with a path',
    backup({ schedule: '@daily', timeZone: '../etc/passwd' }),
    'spec.timeZone',
  ],
  ['include and exclude', backup({ include: ['ToDo'], exclude: ['Note'] }), 'spec'],
  ['an empty list of document types', backup({ include: [] }), 'spec.include'],
  ['a document type with a comma', backup({ include: ['ToDo,Note'] }), 'spec.include[0]'],
  ['a document type that is an option', backup({ exclude: ['--all'] }), 'spec.exclude[0]'],
  ['a name without room for a CronJob', minimal('SiteBackup', {}, 'a'.repeat(46)), 'metadata.name'],

  ['nothing to run', job({ command: undefined }), 'spec'],
  ['two things to run', job({ method: 'a.b' }), 'spec'],
  ['a command of one string', job({ command: 'migrate' }), 'spec.command'],
  ['an empty command', job({ command: [] }), 'spec.command'],
  ['a command that is a flag', job({ command: ['--site', 'x'] }), 'spec', 'spec'],
  ['a command for another site', job({ command: ['execute', '--site=other'] }), 'spec'],
  ['an argument with a null byte', job({ command: ['execute', 'a\0b'] }), 'spec.command[1]'],
  ['arguments of a command', job({ kwargs: { a: 1 } }), 'spec'],
  [
    'arguments that are a list',
    job({ command: undefined, method: 'a.b', kwargs: [1] }),
    'spec.kwargs',
  ],
  ['a method without a module', job({ command: undefined, method: 'run' }), 'spec.method'],
  ['a method with a call', job({ command: undefined, method: 'os.system("x")' }), 'spec.method'],
  ['a time zone without a schedule', job({ timeZone: 'UTC' }), 'spec'],
  ['an unknown concurrency', job({ concurrencyPolicy: 'forbid' }), 'spec.concurrencyPolicy'],
  ['a timeout that is a number', job({ timeout: 60 }), 'spec.timeout'],
  ['too many tries', job({ backoffLimit: 21 }), 'spec.backoffLimit'],
  ['no time at all', job({ timeout: '0h0m' }), 'spec'],
  ['a timeout of ten thousand years', job({ timeout: '99999999h' }), 'spec.timeout'],
  ['a schedule of four fields', job({ schedule: '30 2 * *' }), 'spec.schedule'],
  ['a schedule with a time zone in it', job({ schedule: 'TZ=UTC 30 2 * * *' }), 'spec.schedule'],
  ['a run that may never be late', job({ schedule: '@daily', startingDeadline: '0s' }), 'spec'],
  ['a job of no site', job({ siteRef: undefined }), 'spec.siteRef'],
  [
    'more requested than allowed',
    job({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
    'spec.resources',
  ],

  ['a name that is too long', minimal('SiteUser', {}, 'a'.repeat(55)), 'metadata.name'],
  ['no address', user({ email: undefined }), 'spec.email'],
  ['no first name', user({ firstName: undefined }), 'spec.firstName'],
  ['an empty first name', user({ firstName: '' }), 'spec.firstName'],
  ['roles that are text', user({ roles: 'Sales User' }), 'spec.roles'],
  [
    'a Secret without a name',
    user({ passwordSecretRef: { key: 'password' } }),
    'spec.passwordSecretRef.name',
  ],
  [
    'a key that no Secret has',
    user({ passwordSecretRef: { name: 's', key: 'a/b' } }),
    'spec.passwordSecretRef.key',
  ],
  ['an API key without a Secret', user({ apiKeySecretRef: {} }), 'spec.apiKeySecretRef.name'],
  ['a language that is a word', user({ language: 'English' }), 'spec.language'],
  ['a time zone that is an offset', user({ timeZone: '+01:00' }), 'spec.timeZone'],
  ['whether it is enabled as text', user({ enabled: 'yes' }), 'spec.enabled'],
  ['no site', backup({ siteRef: undefined }), 'spec.siteRef'],
  [
    'a store without a Secret',
    backup({ destination: { s3: { endpoint: 'https://s3.example.com', bucket: 'backups' } } }),
    'spec.destination.s3.secretRef',
  ],
  [
    'a bucket in capitals',
    backup({
      destination: {
        s3: { endpoint: 'https://s3.example.com', bucket: 'Backups', secretRef: { name: 's' } },
      },
    }),
    'spec.destination.s3.bucket',
  ],
  ['a document type twice', backup({ exclude: ['ToDo', 'ToDo'] }), 'spec.exclude[1]'],
  ['a timeout without a unit', backup({ timeout: '60' }), 'spec.timeout'],
  ['a timeout of nothing', backup({ timeout: '0s' }), 'spec.timeout'],
  ['a negative number of tries', backup({ backoffLimit: -1 }), 'spec.backoffLimit'],
  ['an unknown deletion policy', backup({ deletionPolicy: 'Keep' }), 'spec.deletionPolicy'],
  ['files that are neither yes nor no', backup({ withFiles: 'yes' }), 'spec.withFiles'],
];
