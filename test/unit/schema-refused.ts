import { aBench, aManifest, aSite, minimal, type Manifest } from './schema-manifests.js';

/** A manifest that admission refuses, why, and the paths that are complained about. */
export type Refused = readonly [reason: string, manifest: Manifest, ...paths: string[]];

const many = (n: number): { name: string }[] =>
  Array.from({ length: n }, (_, i) => ({ name: `a${i}` }));
const LIMITS = 'spec.componentResources.gunicorn.limits';
const limits = (list: object): Manifest =>
  aBench({ componentResources: { gunicorn: { limits: list } } });
const scaling = (short: object): Manifest => aBench({ workerAutoscaling: { short } });
const db = (dbConfig: object): Manifest => aBench({ dbConfig });
const siteDb = (dbConfig: object): Manifest => aSite({ dbConfig });

export const REFUSED_BENCHES: readonly Refused[] = [
  ['no spec', aManifest('AppBench', undefined), 'spec'],
  ['a spec of null', aManifest('AppBench', null), 'spec'],
  ['a spec that is text', aManifest('AppBench', 'x'), 'spec'],
  ['no version', aBench({ frameworkVersion: undefined }), 'spec.frameworkVersion'],
  ['an empty version', aBench({ frameworkVersion: '' }), 'spec.frameworkVersion'],
  [
    'a version with a shell command',
    aBench({ frameworkVersion: 'v15;reboot' }),
    'spec.frameworkVersion',
  ],
  ['a version with a line break', aBench({ frameworkVersion: 'v15\nx' }), 'spec.frameworkVersion'],
  ['a version that is a number', aBench({ frameworkVersion: 15 }), 'spec.frameworkVersion'],
  ['a name that is too long', aBench({}, 'a'.repeat(46)), 'metadata.name'],
  ['a name that starts with a digit', aBench({}, '1bench'), 'metadata.name'],
  ['a name with a dot', aBench({}, 'my.bench'), 'metadata.name'],
  ['two spellings of the applications', aBench({ appsJSON: '["a"]', apps: many(1) }), 'spec'],
  ['applications that are text', aBench({ apps: 'erpnext' }), 'spec.apps'],
  ['an application twice', aBench({ apps: [{ name: 'a' }, { name: 'a' }] }), 'spec.apps[1]'],
  ['an application without a name', aBench({ apps: [{ name: 'a' }, {}] }), 'spec.apps[1].name'],
  ['an application of null', aBench({ apps: [null] }), 'spec.apps[0]'],
  ['an application with a path', aBench({ apps: [{ name: '../x' }] }), 'spec.apps[0].name'],
  ['too many applications', aBench({ apps: many(101) }), 'spec.apps'],
  ['a huge list', aBench({ apps: many(5000) }), 'spec.apps'],
  ['applications in JSON that are a list', aBench({ appsJSON: ['a'] }), 'spec.appsJSON'],
  ['huge applications in JSON', aBench({ appsJSON: 'x'.repeat(20000) }), 'spec.appsJSON'],
  [
    'replicas that are text',
    aBench({ componentReplicas: { gunicorn: '3' } }),
    'spec.componentReplicas.gunicorn',
  ],
  [
    'half a replica',
    aBench({ componentReplicas: { gunicorn: 1.5 } }),
    'spec.componentReplicas.gunicorn',
  ],
  [
    'less than no replica',
    aBench({ componentReplicas: { nginx: -1 } }),
    'spec.componentReplicas.nginx',
  ],
  [
    'too many replicas',
    aBench({ componentReplicas: { nginx: 1001 } }),
    'spec.componentReplicas.nginx',
  ],
  [
    'two schedulers',
    aBench({ componentReplicas: { scheduler: 2 } }),
    'spec.componentReplicas.scheduler',
  ],
  ['replicas that are a list', aBench({ componentReplicas: [1] }), 'spec.componentReplicas'],
  ['a quantity that is none', limits({ cpu: 'lots' }), `${LIMITS}.cpu`],
  ['a quantity with a space', limits({ memory: '1 Gi' }), `${LIMITS}.memory`],
  ['a quantity below zero', limits({ memory: '-1Gi' }), `${LIMITS}.memory`],
  ['a quantity that is a number', limits({ cpu: 1 }), `${LIMITS}.cpu`],
  [
    'several bad quantities',
    limits({ cpu: 'x', 'a.b/c': 'y' }),
    `${LIMITS}.cpu`,
    `${LIMITS}.a.b/c`,
  ],
  ['an unknown resource', limits({ mem: '1Gi' }), LIMITS],
  [
    'a request above its limit',
    aBench({
      componentResources: { gunicorn: { requests: { cpu: '1.5' }, limits: { cpu: '1499m' } } },
    }),
    'spec.componentResources.gunicorn',
  ],
  ['a volume of nothing', aBench({ storage: { size: '0' } }), 'spec.storage.size'],
  [
    'a label with a space in its key',
    aBench({ podTemplate: { labels: { 'a b': 'c' } } }),
    'spec.podTemplate.labels',
  ],
  [
    'an annotation without a key',
    aSite({ ingress: { annotations: { '': 'x' } } }),
    'spec.ingress.annotations',
  ],
  [
    'too many resources',
    limits(Object.fromEntries(many(17).map(({ name }) => [name, '1']))),
    LIMITS,
  ],
  [
    'least workers above most',
    scaling({ minReplicas: 3, maxReplicas: 2 }),
    'spec.workerAutoscaling.short',
  ],
  [
    'least workers above the default of most',
    scaling({ minReplicas: 6 }),
    'spec.workerAutoscaling.short',
  ],
  [
    'no most workers',
    scaling({ minReplicas: 0, maxReplicas: 0 }),
    'spec.workerAutoscaling.short.maxReplicas',
  ],
  ['a switch that is text', scaling({ enabled: 'yes' }), 'spec.workerAutoscaling.short.enabled'],
  ['an unknown database mode', db({ mode: 'mysql' }), 'spec.dbConfig.mode'],
  ['an external database without a host', db({ mode: 'external' }), 'spec.dbConfig'],
  ['a database operator without a server', db({ mode: 'operator' }), 'spec.dbConfig'],
  [
    'a database operator of another database',
    db({ mode: 'operator', provider: 'postgres', mariadbRef: { name: 'x' } }),
    'spec.dbConfig',
  ],
  [
    'a host with a shell command',
    db({ mode: 'external', host: '$(id)', rootSecretRef: { name: 's' } }),
    'spec.dbConfig.host',
  ],
  ['a port out of range', db({ port: 65536 }), 'spec.dbConfig.port'],
  [
    'an unknown access mode',
    aBench({ storage: { accessMode: 'Many' } }),
    'spec.storage.accessMode',
  ],
  [
    'two ways to Redis',
    aBench({ redisConfig: { image: 'redis:7', external: { urlsSecretRef: { name: 's' } } } }),
    'spec.redisConfig',
  ],
  [
    'a capability twice',
    aBench({ security: { securityContext: { capabilities: { drop: ['ALL', 'ALL'] } } } }),
    'spec.security.securityContext.capabilities.drop[1]',
  ],
  [
    'the root user',
    aBench({ security: { podSecurityContext: { runAsUser: 0 } } }),
    'spec.security.podSecurityContext.runAsUser',
  ],
  [
    'a label value that is too long',
    aBench({ podTemplate: { labels: { 'a.b/c': 'x'.repeat(64) } } }),
    'spec.podTemplate.labels.a.b/c',
  ],
  [
    'an unknown toleration',
    aBench({ podTemplate: { tolerations: [{ operator: 'Like' }] } }),
    'spec.podTemplate.tolerations[0].operator',
  ],
  [
    'affinity that is text',
    aBench({ podTemplate: { affinity: 'x' } }),
    'spec.podTemplate.affinity',
  ],
  [
    'an unknown deletion policy that is a number',
    aBench({ deletionPolicy: 5 }),
    'spec.deletionPolicy',
    'spec.deletionPolicy',
  ],
  [
    'a broken rule and a bad pattern at once',
    aBench({ appsJSON: '[]', apps: [], frameworkVersion: ' ' }),
    'spec.frameworkVersion',
    'spec',
  ],
];

export const REFUSED_SITES: readonly Refused[] = [
  ['no bench', aSite({ benchRef: undefined }), 'spec.benchRef'],
  ['a bench without a name', aSite({ benchRef: {} }), 'spec.benchRef.name'],
  ['a bench in upper case', aSite({ benchRef: { name: 'Bench' } }), 'spec.benchRef.name'],
  ['no site name', aSite({ siteName: undefined }), 'spec.siteName'],
  ['a site name in upper case', aSite({ siteName: 'Shop.example.com' }), 'spec.siteName'],
  ['a site name with a path', aSite({ siteName: 'a/../b' }), 'spec.siteName'],
  ['a site name with a command', aSite({ siteName: 'a`id`' }), 'spec.siteName'],
  ['a site name that is too long', aSite({ siteName: 'a'.repeat(201) }), 'spec.siteName'],
  ['a label of 64 characters', aSite({ siteName: `${'a'.repeat(64)}.com` }), 'spec.siteName'],
  ['a domain with a port', aSite({ domain: 'a.com:80' }), 'spec.domain'],
  ['a name that is too long', aSite({}, 'a'.repeat(46)), 'metadata.name'],
  ['a name with a digit in front', aSite({}, '0shop'), 'metadata.name'],
  ['unknown workloads', aSite({ workloads: 'dedicated' }), 'spec.workloads'],
  ['an external database without anything', siteDb({ mode: 'external' }), 'spec.dbConfig'],
  ['a host in mode shared', siteDb({ host: 'db' }), 'spec.dbConfig'],
  ['a volume in mode shared', siteDb({ storage: { size: '1Gi' } }), 'spec.dbConfig'],
  [
    'a database name with a quote',
    siteDb({ mode: 'external', host: 'h', name: "x'--", secretRef: { name: 's' } }),
    'spec.dbConfig.name',
  ],
  ['maintenance that is text', aSite({ maintenance: 'on' }), 'spec.maintenance'],
  ['an ingress that is a boolean', aSite({ ingress: true }), 'spec.ingress'],
  [
    'an ingress class with a space',
    aSite({ ingress: { className: 'a b' } }),
    'spec.ingress.className',
  ],
  [
    'a secret with a bad name',
    aSite({ adminPasswordSecretRef: { name: '-x' } }),
    'spec.adminPasswordSecretRef.name',
  ],
  [
    'a secret without a name',
    aSite({ adminPasswordSecretRef: {} }),
    'spec.adminPasswordSecretRef.name',
  ],
];

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
  ['include and exclude', backup({ include: ['A'], exclude: ['B'] }), 'spec'],
  ['an empty list of document types', backup({ include: [] }), 'spec.include'],
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
];

export const REFUSED: readonly Refused[] = [
  ...REFUSED_BENCHES,
  ...REFUSED_SITES,
  ...REFUSED_OTHERS,
];
