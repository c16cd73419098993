import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

import { GENERATED, installManifest } from '../../cli/commands/install/manifest.js';
import { OPERATOR_SELECTOR } from '../../constructs/kit/operator-identity.js';
import { parseConfig } from '../../runner/config/config.js';
import { VERSION } from '../../runner/kit/version.js';
import { MALLOC, NODE_FLAGS } from '../../testbed/operator-process.js';
import { install, type Installed, the } from './install-manifest.js';

const ROOT = new URL('../../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

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
      { name: 'webhooks', containerPort: 9443, protocol: 'TCP' },
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
    assert.equal(config.webhooks, true);
    assert.deepEqual(config.webhookBindAddress, { host: undefined, port: 9443 });
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
  test('is in the order in which it can be applied', () => {
    const kinds = install().map(({ kind }) => kind);
    const first = (kind: string): number => kinds.indexOf(kind);
    assert.equal(first('Namespace'), 0);
    assert.ok(kinds.lastIndexOf('CustomResourceDefinition') < first('ServiceAccount'));
    assert.ok(kinds.lastIndexOf('RoleBinding') < first('Deployment'));
  });

  test('has the metrics Service of the specification', () => {
    const service = the(install(), 'Service', 'app-operator-controller-manager-metrics-service');
    assert.equal(service.metadata.labels?.['control-plane'], 'controller-manager');
    assert.deepEqual(service.spec?.['selector'], OPERATOR_SELECTOR);
    assert.deepEqual(service.spec['ports'], [
      { name: 'https', port: 8443, targetPort: 'https', protocol: 'TCP' },
      { name: 'health', port: 8081, targetPort: 'health', protocol: 'TCP' },
    ]);
  });

  test('serves plain metrics on 8080 of the Service only if the administrator wants it', () => {
    const installed = install({ plainMetrics: true });
    const service = the(installed, 'Service', 'app-operator-controller-manager-metrics-service');
    assert.deepEqual((service.spec?.['ports'] as readonly object[])[2], {
      name: 'metrics',
      port: 8080,
      targetPort: 'metrics',
      protocol: 'TCP',
    });
    const text = installManifest({ version: '1.0.0', plainMetrics: true });
    assert.match(text, /- --metrics-bind-address=:8080\n/);
    assert.match(text, /- --metrics-secure-bind-address=:8443\n/);
    assert.match(text, /containerPort: 8080\n\s+name: metrics\n/);
    assert.doesNotMatch(installManifest({ version: '1.0.0' }), /name: metrics\n/);
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

test('the operator runs in tests and by `npm run operator` with the settings of its image', () => {
  const dockerfile = read('Dockerfile');
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const malloc = Object.entries(MALLOC).map(([name, value]) => `${name}=${value}`);
  assert.deepEqual(dockerfile.match(/(?<= )MALLOC_\S+/g), malloc);
  assert.match(dockerfile, new RegExp(`ENTRYPOINT \\["node", "${NODE_FLAGS.join('", "')}", "dist`));
  const command = [...malloc, 'exec', 'node', ...NODE_FLAGS, 'dist'].join(' ');
  assert.ok(scripts['operator']?.includes(command), scripts['operator']);
});

test('the Dockerfile copies existing files that .dockerignore does not exclude', () => {
  const ignored = read('.dockerignore').split('\n');
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
    ([, paths = '']) => paths.split(' '),
  );
  assert.ok(copied.length > 5);
  for (const path of new Set(copied)) {
    assert.ok(existsSync(fileURLToPath(new URL(path, ROOT))), `${path} does not exist`);
    assert.ok(ignored.includes(`!${path.replace('./', '')}`), `${path} is ignored`);
  }
});
