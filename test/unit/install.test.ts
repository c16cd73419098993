import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { App } from 'cdk8s';
import { parse } from 'yaml';

import { GENERATED, installManifest } from '../../cli/install.js';
import { InstallChart, type InstallProps } from '../../constructs/install/chart.js';
import { OPERATOR } from '../../constructs/install/identity.js';
import { namespacedRules, type ResourceRule } from '../../constructs/install/permissions.js';
import { groupOf, type KubeObject } from '../../constructs/kit/object.js';
import { DEFINITIONS, KINDS } from '../../constructs/registry.js';
import { parseConfig } from '../../runner/config.js';
import { LEASE_NAME } from '../../runner/leader.js';
import { VERSION } from '../../runner/version.js';

const ROOT = new URL('../../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

/** A manifest of the chart; tests look into all kinds of it. */
interface Installed extends KubeObject {
  readonly rules?: readonly (ResourceRule & { readonly nonResourceURLs?: readonly string[] })[];
  readonly subjects?: readonly object[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly spec?: Readonly<Record<string, unknown>>;
}

function install(props: Partial<InstallProps> = {}): Installed[] {
  return new InstallChart(new App(), 'install', {
    image: 'op:1',
    ...props,
  }).toJson() as Installed[];
}

function the(objects: readonly Installed[], kind: string, name: string): Installed {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found, `${kind}/${name} is not in the manifest`);
  return found;
}

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

describe('the operator may', () => {
  test('do with children what it does with them, and no more', () => {
    assert.deepEqual(granted(rulesOf(install(), 'ClusterRole', OPERATOR.managerRole)), [
      'apiextensions.k8s.io/customresourcedefinitions: get list watch',
      'app-operator.io/appbenchs/finalizers: update',
      'app-operator.io/appbenchs/status: patch',
      'app-operator.io/appbenchs: get list watch patch',
      'app-operator.io/appsites/finalizers: update',
      'app-operator.io/appsites/status: patch',
      'app-operator.io/appsites: get list watch patch',
      `apps/deployments: ${OWN}`,
      `apps/statefulsets: ${OWN}`,
      'authentication.k8s.io/tokenreviews: create',
      'authorization.k8s.io/subjectaccessreviews: create',
      `batch/jobs: ${OWN}`,
      `cert-manager.io/certificates: ${OWN}`,
      `core/configmaps: ${OWN}`,
      `core/persistentvolumeclaims: ${OWN}`,
      'core/pods: get list',
      `core/secrets: ${OWN}`,
      `core/services: ${OWN}`,
      'events.k8s.io/events: create patch',
      `k8s.mariadb.com/databases: ${OWN}`,
      `k8s.mariadb.com/grants: ${OWN}`,
      `k8s.mariadb.com/users: ${OWN}`,
      `keda.sh/scaledobjects: ${OWN}`,
      `keda.sh/triggerauthentications: ${OWN}`,
      `networking.k8s.io/ingresses: ${OWN}`,
      `networking.k8s.io/networkpolicies: ${OWN}`,
      `policy/poddisruptionbudgets: ${OWN}`,
    ]);
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

  test('hold its Lease and its ServiceMonitor in its own namespace', () => {
    const objects = install();
    const role = the(objects, 'Role', OPERATOR.ownRole);
    assert.equal(role.metadata.namespace, 'app-operator-system');
    assert.deepEqual(granted(role.rules ?? []), [
      `coordination.k8s.io/leases: create`,
      `coordination.k8s.io/leases[${LEASE_NAME}]: get update`,
      'monitoring.coreos.com/servicemonitors: create',
      'monitoring.coreos.com/servicemonitors[app-operator-metrics]: get patch',
    ]);
  });

  test('touch no Secret elsewhere where namespaces are given', () => {
    const objects = install({ watchNamespaces: ['a', 'b'] });
    assert.deepEqual(granted(rulesOf(objects, 'ClusterRole', OPERATOR.managerRole)), [
      'apiextensions.k8s.io/customresourcedefinitions: get list watch',
      'authentication.k8s.io/tokenreviews: create',
      'authorization.k8s.io/subjectaccessreviews: create',
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
        assert.ok(role, `${kind}/${metadata.name} binds a role that is not there`);
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

describe('the Deployment', () => {
  const podOf = (objects: readonly Installed[]) => {
    const { spec } = the(objects, 'Deployment', 'app-operator-controller-manager');
    return spec as {
      replicas: number;
      template: {
        metadata: { labels: Record<string, string> };
        spec: {
          securityContext: object;
          terminationGracePeriodSeconds: number;
          containers: {
            name: string;
            image: string;
            args: string[];
            env: object[];
            ports: object[];
            securityContext: object;
            livenessProbe: { httpGet: object };
            readinessProbe: { httpGet: object };
          }[];
        };
      };
    };
  };
  const containerOf = (objects: readonly Installed[]) => {
    const [container] = podOf(objects).template.spec.containers;
    assert.ok(container);
    return container;
  };

  test('has the names, ports, probes and variables of the specification', () => {
    const container = containerOf(install());
    assert.equal(container.name, 'manager');
    assert.deepEqual(container.env, [
      { name: 'APP_DEFAULT_UID', value: '1001' },
      { name: 'APP_DEFAULT_GID', value: '0' },
      { name: 'APP_DEFAULT_FSGROUP', value: '0' },
    ]);
    assert.deepEqual(container.ports, [
      { name: 'https', containerPort: 8443, protocol: 'TCP' },
      { name: 'health', containerPort: 8081, protocol: 'TCP' },
    ]);
    assert.deepEqual(container.livenessProbe.httpGet, { path: '/healthz', port: 'health' });
    assert.deepEqual(container.readinessProbe.httpGet, { path: '/readyz', port: 'health' });
    const { labels } = podOf(install()).template.metadata;
    assert.equal(labels['control-plane'], 'controller-manager');
  });

  test('gives arguments that the operator understands', () => {
    const config = parseConfig(containerOf(install()).args, {}, 'app-operator-system');
    assert.equal(config.leaderElect, true);
    assert.deepEqual(config.metricsBindAddress, { host: '127.0.0.1', port: 8080 });
    assert.deepEqual(config.metricsSecureBindAddress, { host: undefined, port: 8443 });
    assert.deepEqual(config.healthProbeBindAddress, { host: undefined, port: 8081 });
    assert.equal(config.logEncoder, 'json');
    const props = { apiGroup: 'benches.example.org', watchNamespaces: ['a', 'b'] };
    const other = parseConfig(containerOf(install(props)).args, {}, 'app-operator-system');
    assert.equal(other.apiGroup, 'benches.example.org');
    assert.deepEqual(other.watchNamespaces, ['a', 'b']);
  });

  test('leaves time for all that happens at the end', () => {
    const { shutdownTimeoutMs } = parseConfig([], {});
    const { terminationGracePeriodSeconds } = podOf(install()).template.spec;
    // Giving back the Lease may take 5 seconds, closing connections 2.
    assert.ok(terminationGracePeriodSeconds * 1000 >= shutdownTimeoutMs + 7_000);
  });

  test('is restricted, and leaves the user to the image and the platform', () => {
    assert.deepEqual(podOf(install()).template.spec.securityContext, {
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    assert.deepEqual(containerOf(install()).securityContext, {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
    });
  });

  test('has a disruption budget from two replicas on', () => {
    const budgets = (replicas: number): number =>
      install({ replicas }).filter(({ kind }) => kind === 'PodDisruptionBudget').length;
    assert.deepEqual([budgets(1), budgets(2)], [0, 1]);
  });
});

describe('the install manifest', () => {
  test('comes in the order in which it can be applied', () => {
    const kinds = install().map(({ kind }) => kind);
    const first = (kind: string): number => kinds.indexOf(kind);
    assert.equal(first('Namespace'), 0);
    assert.ok(kinds.lastIndexOf('CustomResourceDefinition') < first('ServiceAccount'));
    assert.ok(kinds.lastIndexOf('RoleBinding') < first('Deployment'));
  });

  test('has the metrics Service of the specification', () => {
    const service = the(install(), 'Service', 'app-operator-controller-manager-metrics-service');
    assert.equal(service.metadata.labels?.['control-plane'], 'controller-manager');
    assert.deepEqual(service.spec?.['selector'], { 'control-plane': 'controller-manager' });
    assert.deepEqual(service.spec['ports'], [
      { name: 'https', port: 8443, targetPort: 'https', protocol: 'TCP' },
      { name: 'health', port: 8081, targetPort: 'health', protocol: 'TCP' },
    ]);
  });

  test('moves to another API group as a whole', () => {
    const text = installManifest({ version: '1.0.0', apiGroup: 'benches.example.org' });
    const rest = text.replaceAll('ghcr.io/app-operator/', '');
    assert.ok(!rest.includes('app-operator.io'));
    assert.match(text, /name: appbenchs\.benches\.example\.org/);
  });

  test('is the committed one, and holds the CRDs of dist/crds', () => {
    assert.equal(read('dist/install.yaml'), GENERATED + installManifest({ version: VERSION }));
    for (const file of readdirSync(new URL('dist/crds', ROOT))) {
      const crd = parse(read(`dist/crds/${file}`)) as Installed;
      const { metadata, spec } = the(install(), 'CustomResourceDefinition', crd.metadata.name);
      assert.deepEqual({ metadata, spec }, { metadata: crd.metadata, spec: crd.spec });
    }
  });
});

test('the Dockerfile copies what there is, and what .dockerignore lets through', () => {
  const ignored = read('.dockerignore').split('\n');
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
    ([, paths = '']) => paths.split(' '),
  );
  assert.ok(copied.length > 5);
  for (const path of new Set(copied)) {
    assert.ok(existsSync(fileURLToPath(new URL(path, ROOT))), `${path} is not there`);
    assert.ok(ignored.includes(`!${path.replace('./', '')}`), `${path} is ignored`);
  }
});
