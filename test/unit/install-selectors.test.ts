import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { monitoringObjects } from '../../constructs/monitoring/objects.js';
import { VERSION } from '../../runner/kit/version.js';
import { projectRoot } from '../../testbed/project-root.js';
import { bundleFiles } from '../../tools/release/olm-bundle.js';
import { ANOTHER_OPERATOR, selects, selectorsIn } from '../support/operator-selectors.js';
import { install, the } from './install-manifest.js';

interface Workload {
  readonly spec: {
    readonly selector?: unknown;
    readonly template: { readonly metadata: { readonly labels: Readonly<Record<string, string>> } };
  };
}

const labelsOf = ({ spec }: Workload) => spec.template.metadata.labels;
const installed = install({ replicas: 2, limitEgress: true, webhooks: true });
const deployment = the(installed, 'Deployment', OPERATOR.deployment) as unknown as Workload;

function assertOnlyOurs(
  objects: readonly KubeObject[],
  labels: Readonly<Record<string, string>>,
): void {
  for (const { of, labels: selector } of selectorsIn(objects)) {
    assert.ok(selects(selector, labels), of);
    assert.ok(!selects(selector, ANOTHER_OPERATOR), of);
  }
}

describe('in a namespace shared with other operators', () => {
  test("the selectors of the installation select the operator's pods only", () => {
    const kinds = selectorsIn(installed).map(({ of }) => of.replace(/\/.*/, ''));
    assert.deepEqual(kinds.toSorted(), [
      'Deployment',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'Service',
    ]);
    assertOnlyOurs(installed, labelsOf(deployment));
  });

  test('so do those of the OLM bundle', () => {
    const files = bundleFiles({ root: projectRoot(), version: VERSION, date: '2026-01-02' });
    const objects = [...files]
      .filter(([name]) => name.startsWith('manifests/'))
      .flatMap(([, text]) => parseAllDocuments(text).map((one) => one.toJS() as KubeObject));
    const csv = objects.find(({ kind }) => kind === 'ClusterServiceVersion') as unknown as {
      readonly spec: {
        readonly install: { readonly spec: { readonly deployments: readonly Workload[] } };
      };
    };
    const [operator] = csv.spec.install.spec.deployments;
    assert.ok(operator);
    const { selector: _, ...spec } = operator.spec;
    const own = { ...the(installed, 'Deployment', OPERATOR.deployment), spec };
    const others = objects.filter(({ kind }) => kind !== 'ClusterServiceVersion');
    assertOnlyOurs([own, ...others], labelsOf(operator));
  });

  test('the ServiceMonitor selects the Service of the metrics only', () => {
    const monitors = monitoringObjects({ namespace: OPERATOR.namespace })
      .map(({ object }) => object)
      .filter(({ metadata }) => metadata.name === OPERATOR.serviceMonitor);
    assert.equal(monitors.length, 1);
    const service = the(installed, 'Service', OPERATOR.metricsService);
    assertOnlyOurs(monitors, service.metadata.labels ?? {});
  });

  test('the Deployment keeps its selector, which is immutable', () => {
    assert.deepEqual(deployment.spec.selector, { matchLabels: ANOTHER_OPERATOR });
  });
});
