import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SiteDashboard } from '../../constructs/api/dashboard.js';
import { resolveBench } from '../../constructs/kinds/bench/resolve.js';
import { dashboard } from '../../constructs/kinds/dashboard/index.js';
import { resolveSite } from '../../constructs/kinds/site/resolve.js';
import { Stalled, Waiting } from '../../constructs/kit/errors.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { aBench, aReader, aReadyBench, aSecret, aSite } from '../golden/builders.js';

/** What a resource is refused for: the reason, and each part of the message. */
function refusal(resolve: () => unknown): readonly string[] {
  try {
    resolve();
  } catch (error) {
    if (error instanceof Stalled) return [error.reason, ...error.message.split('; ')];
    throw error;
  }
  return [];
}

const DEFAULTS = [aReadyBench(), aSecret('demo-bench-redis-auth')];
const ofSite = (spec: Readonly<Record<string, unknown>>, ...objects: readonly KubeObject[]) =>
  refusal(() => resolveSite(aSite(spec), aReader(objects.length > 0 ? objects : DEFAULTS)));

const TEMPLATE = { gunicorn: { status: {} } };
const TEMPLATE_PROBLEM = [
  'spec.componentPodTemplates.gunicorn.status: Forbidden: a pod template may not set this field',
  'supported fields: metadata, spec',
];
const THREE_MISTAKES = {
  workers: [{ name: 'exports', replicas: 1 }],
  apps: [{ name: 'hrms' }],
  componentPodTemplates: TEMPLATE,
};

suite('a spec with several mistakes is refused for all of them at once', () => {
  test('a site', () => {
    assert.deepEqual(ofSite(THREE_MISTAKES), [
      'InvalidSpec',
      ...TEMPLATE_PROBLEM,
      'spec.workers[0].name: Unsupported value: "exports": the workers of bench demo-bench are: none',
      'spec.apps[0].name: Unsupported value: "hrms": the apps of bench demo-bench are: none',
    ]);
  });
  test('a site whose bench does not exist, for what does not depend on it', () => {
    const [reason, ...parts] = ofSite(THREE_MISTAKES, aSecret('other'));
    assert.equal(reason, 'InvalidSpec');
    assert.deepEqual(parts, TEMPLATE_PROBLEM);
    assert.throws(() => resolveSite(aSite(), aReader([])), Waiting);
  });
  test('a site whose bench is invalid', () => {
    const bench = aReadyBench({ componentPodTemplates: TEMPLATE });
    const [reason, first, ...others] = ofSite({ componentPodTemplates: TEMPLATE }, bench);
    assert.equal(reason, 'InvalidSpec');
    assert.match(first ?? '', /^spec\.componentPodTemplates\.gunicorn\.status: /);
    assert.match(others.join('; '), /; AppBench "demo-bench" has pod templates that are not valid/);
  });
  test('a bench', () => {
    const bench = aBench({
      componentPodTemplates: TEMPLATE,
      workers: [
        { name: 'a', queues: ['x'], timeoutSeconds: 60 },
        { name: 'b', queues: ['x'], timeoutSeconds: 70 },
      ],
    });
    const [reason, ...parts] = refusal(() => resolveBench(bench, aReader([])));
    assert.equal(reason, 'InvalidSpec');
    assert.deepEqual(
      parts.map((part) => part.split(':')[0]),
      [
        'spec.componentPodTemplates.gunicorn.status',
        'supported fields',
        'spec.workers[1].timeoutSeconds',
      ],
    );
  });
  test('a dashboard', () => {
    const [older, younger] = ['2026-01-01', '2026-01-02'].map((day): SiteDashboard => ({
      ...aSite(),
      kind: 'SiteDashboard',
      metadata: { name: day, namespace: 'default', creationTimestamp: `${day}T00:00:00Z` },
      spec: {
        siteRef: { name: 'demo-site' },
        dashboardName: 'Sales',
        isDefault: true,
        charts: [],
        deletionPolicy: 'Delete',
      } as unknown as SiteDashboard['spec'],
      status: {},
    }));
    assert.ok(older && younger);
    const [reason, ...parts] = refusal(() => dashboard.resolve(younger, aReader([older, younger])));
    assert.equal(reason, 'DocumentTaken');
    assert.deepEqual(
      parts.map((part) => part.split(':')[0]),
      ['spec.dashboardName', 'spec.isDefault'],
    );
  });
});

suite('the reason is that of the first refusal', () => {
  test('a name that is taken comes before invalid fields, and the children lose their names', () => {
    const created = '2020-01-01T00:00:00Z';
    const taken = aReadyBench({}, { name: 'demo-site', creationTimestamp: created });
    try {
      resolveSite(aSite(THREE_MISTAKES), aReader([...DEFAULTS, taken]));
      assert.fail('it is refused');
    } catch (error) {
      assert.ok(error instanceof Stalled);
      assert.equal(error.reason, 'NameTaken');
      assert.equal(error.losesNames, true);
      assert.match(
        error.message,
        /^metadata\.name: .*; spec\.componentPodTemplates.*; spec\.apps\[0\]/,
      );
    }
  });
});
