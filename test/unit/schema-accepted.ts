import { aBench, aManifest, aSite, minimal, type Manifest } from './schema-manifests.js';
import { HOSTILE } from './schema-fields.js';

/** A manifest that admission takes, and what is notable about it. */
export type Accepted = readonly [reason: string, manifest: Manifest];

const resources = {
  requests: { cpu: '500m', memory: '.5Gi' },
  limits: { cpu: '1', memory: '1e9' },
};

export const ACCEPTED: readonly Accepted[] = [
  ['applications in JSON, whatever they are', aBench({ appsJSON: HOSTILE })],
  ['applications as a list', aBench({ apps: [{ name: 'erpnext' }, { name: 'hrms' }] })],
  ['a name at the limit', aBench({}, 'a'.repeat(45))],
  [
    'unknown fields, at every depth',
    aBench({ a: 1, storage: { b: [] }, apps: [{ name: 'x', c: {} }] }),
  ],
  [
    'nulls',
    aBench({
      image: null,
      deletionPolicy: null,
      storage: { size: null },
      podTemplate: { labels: { a: null } },
    }),
  ],
  [
    'empty objects and lists',
    aBench({ image: {}, apps: [], redisConfig: {}, workerAutoscaling: {} }),
  ],
  [
    'replicas and resources',
    aBench({
      componentReplicas: { gunicorn: 3, workerLong: 0 },
      componentResources: { gunicorn: resources },
    }),
  ],
  [
    'autoscaling as in the specification',
    aBench({
      workerAutoscaling: {
        short: { enabled: true, minReplicas: 0, maxReplicas: 10, queueLength: 2 },
        long: { enabled: true, minReplicas: 1, maxReplicas: 5, queueLength: 5 },
        default: { enabled: false, staticReplicas: 2 },
      },
    }),
  ],
  ['web scaling by defaults', aBench({ webAutoscaling: {} })],
  [
    'a fixed number beside web scaling that is off',
    aBench({ webAutoscaling: { enabled: false }, componentReplicas: { gunicorn: 3 } }),
  ],
  [
    'a fixed number of another component beside web scaling',
    aBench({
      webAutoscaling: { minReplicas: 1, maxReplicas: 10, target: { type: 'CPU', value: 150 } },
      componentReplicas: { nginx: 2 },
    }),
  ],
  [
    'least workers above the default of most',
    aBench({ workerAutoscaling: { short: { enabled: true, minReplicas: 8 } } }),
  ],
  [
    'compute resources of a database server that the operator does not run',
    aBench({
      dbConfig: { mode: 'external', host: 'db', rootSecretRef: { name: 'root' }, resources },
    }),
  ],
  [
    'an external database',
    aBench({ dbConfig: { mode: 'external', host: 'db', rootSecretRef: { name: 'root' } } }),
  ],
  ...['2001:db8::5', '[2001:DB8::5]', '::1', 'fd00:1:2:3:4:5:6:7', '192.0.2.5'].map(
    (host): Accepted => [
      `an external database at ${host}`,
      aBench({ dbConfig: { mode: 'external', host, rootSecretRef: { name: 'root' } } }),
    ],
  ),
  [
    "a database operator's server",
    aBench({ dbConfig: { mode: 'operator', mariadbRef: { name: 'm' } } }),
  ],
  [
    "a database operator's server outside, without its host",
    aBench({ dbConfig: { mode: 'operator', mariadbRef: { name: 'm', kind: 'ExternalMariaDB' } } }),
  ],
  [
    "CloudNativePG's server",
    aBench({
      dbConfig: { provider: 'postgres', mode: 'operator', clusterRef: { name: 'pg' } },
    }),
  ],
  [
    'peers of every sort',
    aBench({
      networkPolicy: {
        ingressFrom: [
          { cidr: '0.0.0.0/0' },
          { cidr: '203.0.113.7/32' },
          { cidr: '::/0' },
          { cidr: '2001:db8::1/128' },
          { cidr: 'fe80:0:0:0:0:0:0:1/64' },
          { namespace: 'ingress-nginx' },
          { podLabels: { 'app.kubernetes.io/name': 'traefik', tier: '' } },
          { namespace: 'a', podLabels: {} },
        ],
        metricsFrom: [],
        egress: { enabled: true, allow: [{ to: [{ namespace: 'a' }], ports: [1, 65535] }] },
      },
    }),
  ],
  ['networkPolicy with its defaults', aBench({ networkPolicy: { egress: {} } })],
  [
    'security as in the specification',
    aBench({
      security: {
        podSecurityContext: { runAsUser: 1001, runAsGroup: 0, fsGroup: 0 },
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    }),
  ],
  [
    'a pod template',
    aBench({
      podTemplate: {
        nodeSelector: { 'kubernetes.io/os': 'linux' },
        tolerations: [
          { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 3 },
          {},
        ],
        affinity: { nodeAffinity: { anything: [1, 'x', null, { a: true }] } },
        annotations: { note: HOSTILE },
      },
    }),
  ],
  [
    'a site with TLS',
    aSite({
      ingress: {
        enabled: true,
        className: 'nginx',
        tls: { enabled: true, certManagerIssuer: 'ca' },
      },
    }),
  ],
  [
    'a site with a prepared database',
    aSite({ dbConfig: { mode: 'external', host: 'db', name: 'shop', secretRef: { name: 's' } } }),
  ],
  [
    'a site that is taken over',
    aSite({ adopt: true, dbConfig: { mode: 'external', host: 'db', name: '_2e09560bce9211c3' } }),
  ],
  [
    'a site with a server of its own',
    aSite({ dbConfig: { mode: 'dedicated', storage: { size: '5Gi' } } }),
  ],
  [
    'a site with a password',
    aSite({ adminPasswordSecretRef: { name: 'admin' }, domain: 'www.example.com' }),
  ],
  ['a status, which is not the user’s to write', { ...aSite(), status: { phase: 5 } } as Manifest],
  [
    'a user with roles',
    minimal('SiteUser', { roles: ['System Manager', 'Büro'], passwordSecretRef: { name: 's' } }),
  ],
  [
    'a user of another script',
    minimal('SiteUser', {
      firstName: '愛',
      lastName: "O'Neil",
      language: 'pt-BR',
      timeZone: 'America/Argentina/Buenos_Aires',
    }),
  ],
  [
    'a workspace with everything',
    minimal('SiteWorkspace', {
      icon: 'sell',
      indicatorColor: 'light-blue',
      blocks: [
        { type: 'header', text: '<b>Sales</b>' },
        { type: 'shortcut', label: 'Orders', columns: 4 },
        { type: 'card', label: 'Reports' },
        { type: 'chart', label: 'Sales' },
        { type: 'spacer' },
      ],
      shortcuts: [
        {
          label: 'Orders',
          type: 'DocType',
          linkTo: 'Sales Order',
          docView: 'List',
          color: 'Grey',
          format: '{} open',
          filters: [
            { field: 'status', value: 'Open' },
            { field: 'due', operator: 'between', values: ['a', 'b'] },
          ],
        },
        { label: 'Home', type: 'URL', url: 'https://example.org/a?b=c' },
      ],
      cards: [{ label: 'Reports', links: [{ label: 'A', linkTo: 'B', type: 'Report' }] }],
      charts: [{ label: 'Sales', chart: { name: 'sales' } }],
      numberCards: [{ label: 'N', document: 'N-1' }],
      quickLists: [{ label: 'Q', documentType: 'ToDo' }],
      customBlocks: [{ label: 'C', document: 'C' }],
      roles: ['Sales User'],
    }),
  ],
  [
    'a workspace that is a link',
    minimal('SiteWorkspace', { type: 'Link', linkType: 'Report', linkTo: 'R' }),
  ],
  [
    'a dashboard of charts made here',
    minimal('SiteDashboard', {
      charts: [{ chart: { name: 'orders' }, width: 'Half' }],
      cards: ['N'],
      chartOptions: { colors: ['red'] },
    }),
  ],
  [
    'a chart of sums',
    minimal('SiteDashboardChart', {
      chartType: 'Sum',
      valueBasedOn: 'total',
      timespan: 'Last Month',
      timeInterval: 'Daily',
      type: 'Heatmap',
      heatmapYear: 2025,
    }),
  ],
  [
    'a chart of groups',
    minimal('SiteDashboardChart', {
      chartType: 'Group By',
      basedOn: undefined,
      groupByBasedOn: 'status',
      type: 'Donut',
      numberOfGroups: 5,
    }),
  ],
  [
    'a chart of a report',
    aManifest('SiteDashboardChart', {
      siteRef: { name: 'shop' },
      chartName: 'Ledger',
      chartType: 'Report',
      reportName: 'General Ledger',
      xField: 'a',
      yAxis: [{ yField: 'b', color: '#ff0000' }],
      reportFilters: { company: 'A', years: [2024, 2025] },
    }),
  ],
  [
    'a chart of days',
    minimal('SiteDashboardChart', {
      timespan: 'Select Date Range',
      fromDate: '2025-01-01',
      toDate: '2025-01-31',
    }),
  ],
  [
    'backups every night',
    minimal('SiteBackup', {
      schedule: '*/30 1-5 * * 1,3',
      timeZone: 'Europe/Berlin',
      retention: { keepLast: 7, keepDays: 30 },
    }),
  ],
  [
    'a backup in a store',
    minimal('SiteBackup', {
      destination: {
        s3: {
          endpoint: 'http://s3.local:9000',
          bucket: 'b-1',
          prefix: 'a/b',
          secretRef: { name: 's' },
        },
      },
      exclude: ['Error Log'],
    }),
  ],
  [
    'a job with hostile arguments',
    minimal('SiteJob', {
      command: ['execute', '$(reboot)', '; rm -rf /', "'", '', '--kwargs', '{"a":1}'],
    }),
  ],
  [
    'a job that calls a function',
    minimal('SiteJob', {
      command: undefined,
      method: 'frappe.utils.now',
      kwargs: { a: [1, { b: null }] },
      schedule: '@hourly',
      startingDeadline: '5m',
    }),
  ],
  ...[
    '0 2 * * 0',
    '0 2 * * sun,SAT',
    '0 22-23,0-4 * * *',
    '59 23 31 12 6',
    '*/15 * * * *',
    '5/15 * ? * ?',
    '00 02 01 01 *',
    '0 2 29 2 *',
    '0 2 31 2,3 *',
    '0 2 31 2 1',
    '0 2 31 2-4 *',
    '0 2 31 1/1 *',
    '0 2 * jan-MAR mon-fri/2',
    '0  2 * * *',
    '0-59/5 9-17 1-15 * 1-5',
    '@every 1h30m',
    '@midnight',
    '0 2 30,1 2 *',
  ].map((schedule): Accepted => [`the schedule ${schedule}`, minimal('SiteJob', { schedule })]),
];
