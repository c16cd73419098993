import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { namespacedRules, type ResourceRule } from '../../constructs/install/permissions.js';
import { INTEGRATIONS } from '../../constructs/integrations/index.js';
import { groupOf } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { DEFINITIONS, KINDS } from '../../constructs/registry.js';
import { install, type Installed, the } from './install-manifest.js';

const rulesOf = (objects: readonly Installed[], kind: string, name: string) =>
  the(objects, kind, name).rules ?? [];

/** `<group>/<resource>: verbs` of each resource of each rule. */
function granted(rules: readonly ResourceRule[]): string[] {
  return rules
    .flatMap(({ apiGroups, resources, verbs, resourceNames }) =>
      apiGroups.flatMap((group) =>
        resources.map((resource) => {
          const name = resourceNames ? `[${resourceNames.join()}]` : '';
          return `${group || 'core'}/${resource}${name}: ${verbs.join(' ')}`;
        }),
      ),
    )
    .sort();
}

const OWN = 'get list watch create patch delete';
const CONFIGURATIONS = ['mutating', 'validating'].map(
  (kind) =>
    `admissionregistration.k8s.io/${kind}webhookconfigurations[${OPERATOR.webhookConfiguration}]: get list watch patch`,
);

/** The kinds of the specification, and the integrations of its optional APIs. */
const SPECIFIED_KINDS = [
  'AppBench',
  'AppSite',
  'SiteBackup',
  'SiteDashboard',
  'SiteDashboardChart',
  'SiteJob',
  'SiteUser',
  'SiteWorkspace',
];
const SPECIFIED_INTEGRATIONS = [
  'cert-manager',
  'cloudnative-pg',
  'keda',
  'mariadb-operator',
  'openshift',
  'prometheus-operator',
  'traefik',
];

/** The rights that these need, and no others. */
const SPECIFIED = [
  ...CONFIGURATIONS,
  'apiextensions.k8s.io/customresourcedefinitions: get list watch',
  'app-operator.io/appbenchs/finalizers: update',
  'app-operator.io/appbenchs/status: patch',
  'app-operator.io/appbenchs: get list watch patch',
  'app-operator.io/appsites/finalizers: update',
  'app-operator.io/appsites/status: patch',
  'app-operator.io/appsites: get list watch patch',
  'app-operator.io/sitebackups/finalizers: update',
  'app-operator.io/sitebackups/status: patch',
  'app-operator.io/sitebackups: get list watch patch',
  'app-operator.io/sitedashboardcharts/finalizers: update',
  'app-operator.io/sitedashboardcharts/status: patch',
  'app-operator.io/sitedashboardcharts: get list watch patch',
  'app-operator.io/sitedashboards/finalizers: update',
  'app-operator.io/sitedashboards/status: patch',
  'app-operator.io/sitedashboards: get list watch patch',
  'app-operator.io/sitejobs/finalizers: update',
  'app-operator.io/sitejobs/status: patch',
  'app-operator.io/sitejobs: get list watch patch',
  'app-operator.io/siteusers/finalizers: update',
  'app-operator.io/siteusers/status: patch',
  'app-operator.io/siteusers: get list watch patch',
  'app-operator.io/siteworkspaces/finalizers: update',
  'app-operator.io/siteworkspaces/status: patch',
  'app-operator.io/siteworkspaces: get list watch patch',
  `apps/deployments: ${OWN}`,
  `apps/statefulsets: ${OWN}`,
  'authentication.k8s.io/tokenreviews: create',
  'authorization.k8s.io/subjectaccessreviews: create',
  `autoscaling/horizontalpodautoscalers: ${OWN}`,
  `batch/cronjobs: ${OWN}`,
  `batch/jobs: ${OWN}`,
  `cert-manager.io/certificates: ${OWN}`,
  'cert-manager.io/clusterissuers: get list watch',
  'cert-manager.io/issuers: get list watch',
  `core/configmaps: ${OWN}`,
  `core/persistentvolumeclaims: ${OWN}`,
  'core/pods: get list patch',
  `core/secrets: ${OWN}`,
  `core/services: ${OWN}`,
  'events.k8s.io/events: list create patch',
  `k8s.mariadb.com/databases: ${OWN}`,
  'k8s.mariadb.com/externalmariadbs: get list watch',
  `k8s.mariadb.com/grants: ${OWN}`,
  'k8s.mariadb.com/mariadbs: get list watch',
  `k8s.mariadb.com/users: ${OWN}`,
  `keda.sh/scaledobjects: ${OWN}`,
  `keda.sh/triggerauthentications: ${OWN}`,
  `networking.k8s.io/ingresses: ${OWN}`,
  `networking.k8s.io/networkpolicies: ${OWN}`,
  `policy/poddisruptionbudgets: ${OWN}`,
  'postgresql.cnpg.io/clusters: get list watch',
  `postgresql.cnpg.io/databaseroles: ${OWN}`,
  `postgresql.cnpg.io/databases: ${OWN}`,
  'route.openshift.io/routes/custom-host: create update',
  `route.openshift.io/routes: ${OWN}`,
  `traefik.io/middlewares: ${OWN}`,
];

/** The rights that follow from what further kinds and integrations declare. */
function furtherRights(): readonly string[] {
  const kinds = KINDS.filter(({ definition }) => !SPECIFIED_KINDS.includes(definition.kind));
  const used = INTEGRATIONS.filter(({ name }) => !SPECIFIED_INTEGRATIONS.includes(name)).flatMap(
    ({ uses = {} }) => Object.values(uses),
  );
  const line = ({ apiVersion }: ObjectKind, resource: string, verbs: string): string =>
    `${groupOf(apiVersion) || 'core'}/${resource}: ${verbs}`;
  const owns = [...kinds, ...used].flatMap((source) => source.owns ?? []);
  const reads = [...kinds, ...used].flatMap((source) => source.reads ?? []);
  return [
    ...kinds.flatMap(({ definition: { plural } }) => [
      `app-operator.io/${plural}/finalizers: update`,
      `app-operator.io/${plural}/status: patch`,
      `app-operator.io/${plural}: get list watch patch`,
    ]),
    ...owns.map((kind) => line(kind, kind.plural, OWN)),
    ...owns.flatMap((kind) =>
      (kind.also ?? []).map(({ resource, verbs }) => line(kind, resource, verbs.join(' '))),
    ),
    ...reads.map((kind) => line(kind, kind.plural, 'get list watch')),
  ];
}

/** Asserts that rules grant these rights, and beside them only those of further kinds. */
function assertGranted(rules: readonly ResourceRule[], expected: readonly string[]): void {
  const further = furtherRights();
  const rights = granted(rules);
  assert.deepEqual(
    rights.filter((right) => expected.includes(right) || !further.includes(right)),
    expected,
  );
}

describe('the operator may', () => {
  test('do with children what it does with them, and no more', () => {
    assertGranted(rulesOf(install(), 'ClusterRole', OPERATOR.managerRole), SPECIFIED);
  });

  test('own each kind that a kind in the registry owns', () => {
    const rights = granted(namespacedRules(KINDS));
    for (const { apiVersion, plural } of KINDS.flatMap(({ owns }) => owns)) {
      const line = `${groupOf(apiVersion) || 'core'}/${plural}: ${OWN}`;
      assert.ok(rights.includes(line), `missing: ${line}`);
    }
  });

  test('only read a kind that is read and not owned', () => {
    const node = { apiVersion: 'v1', kind: 'Node', plural: 'nodes' };
    const [bench] = KINDS;
    assert.ok(bench);
    const rights = granted(namespacedRules([{ ...bench, owns: [], reads: [node] }]));
    assert.ok(rights.includes('core/nodes: get list watch'));
    assert.ok(!rights.some((line) => line.startsWith('core/secrets')));
  });

  test('hold its Lease, its monitoring and the keys of its webhooks in its own namespace', () => {
    const objects = install();
    const role = the(objects, 'Role', OPERATOR.ownRole);
    assert.equal(role.metadata.namespace, 'app-operator-system');
    assert.deepEqual(granted(role.rules ?? []), [
      `coordination.k8s.io/leases: create`,
      `coordination.k8s.io/leases[${OPERATOR.lease}]: get update`,
      'core/configmaps: create',
      'core/configmaps[app-operator-dashboard]: get patch',
      'core/secrets: create',
      'core/secrets[app-operator-webhook-keys]: get list watch update',
      'monitoring.coreos.com/prometheusrules: create',
      'monitoring.coreos.com/prometheusrules[app-operator]: get patch',
      'monitoring.coreos.com/servicemonitors: create',
      'monitoring.coreos.com/servicemonitors[app-operator-metrics,app-operator-workloads]: get patch',
    ]);
  });

  test('touch no Secret elsewhere where namespaces are given', () => {
    const objects = install({ watchNamespaces: ['a', 'b'] });
    assertGranted(rulesOf(objects, 'ClusterRole', OPERATOR.managerRole), [
      ...CONFIGURATIONS,
      'apiextensions.k8s.io/customresourcedefinitions: get list watch',
      'authentication.k8s.io/tokenreviews: create',
      'authorization.k8s.io/subjectaccessreviews: create',
      'cert-manager.io/clusterissuers: get list watch',
    ]);
    const roles = objects.filter(
      ({ kind, metadata }) => kind === 'Role' && metadata.name === OPERATOR.managerRole,
    );
    assert.deepEqual(
      roles.map(({ metadata }) => metadata.namespace),
      ['a', 'b'],
    );
    for (const { rules } of roles) {
      assert.deepEqual(granted(rules ?? []), granted(namespacedRules(KINDS)));
    }
  });

  test('nothing by a wildcard, and binds every role to its own account', () => {
    for (const props of [{}, { watchNamespaces: ['a'] }, { apiGroup: 'benches.example.org' }]) {
      const objects = install(props);
      for (const { kind, rules } of objects) {
        if (!kind.endsWith('Role')) continue;
        assert.ok(!JSON.stringify(rules).includes('*'), JSON.stringify(rules));
      }
      const account = {
        kind: 'ServiceAccount',
        name: OPERATOR.serviceAccount,
        namespace: OPERATOR.namespace,
      };
      for (const { kind, subjects, roleRef, metadata } of objects) {
        if (!kind.endsWith('RoleBinding')) continue;
        assert.deepEqual(subjects, [account]);
        const role = objects.find(
          (object) =>
            object.kind === roleRef?.kind &&
            object.metadata.name === roleRef.name &&
            object.metadata.namespace === metadata.namespace,
        );
        assert.ok(role, `${kind}/${metadata.name} binds a role that does not exist`);
      }
    }
  });
});

describe('users', () => {
  test('who may view or edit a namespace may do so with our kinds', () => {
    const objects = install();
    const view = granted(rulesOf(objects, 'ClusterRole', OPERATOR.viewRole));
    const edit = granted(rulesOf(objects, 'ClusterRole', OPERATOR.editRole));
    for (const { plural } of DEFINITIONS) {
      assert.ok(view.includes(`app-operator.io/${plural}: get list watch`), plural);
      assert.ok(
        edit.includes(`app-operator.io/${plural}: create update patch delete deletecollection`),
        plural,
      );
    }
    assert.ok(view.every((line) => line.endsWith(': get list watch')));
    const { labels } = the(objects, 'ClusterRole', OPERATOR.viewRole).metadata;
    assert.equal(labels?.['rbac.authorization.k8s.io/aggregate-to-view'], 'true');
  });

  test('who scrape need one ClusterRole', () => {
    assert.deepEqual(rulesOf(install(), 'ClusterRole', 'app-operator-metrics-reader'), [
      { nonResourceURLs: ['/metrics'], verbs: ['get'] },
    ]);
  });
});
