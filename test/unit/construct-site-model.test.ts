import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { siteModelOf, viewSite } from '../../constructs/frappe/site-model.js';
import { Waiting } from '../../constructs/kit/errors.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { SiteScoped } from '../../constructs/api/site-scoped.js';
import type { AppSite, AppSiteStatus } from '../../constructs/api/site.js';
import { aReadyBench, aSite, aReader } from '../golden/builders.js';
import { NOW } from '../golden/scenario.js';

const READY = {
  type: 'Ready',
  status: 'True',
  reason: 'Ready',
  message: '',
  lastTransitionTime: NOW,
} as const;
const OPEN = { observedGeneration: 1, conditions: [READY], image: 'frappe/erpnext:v15.44.0' };

const aJob: Resource<SiteScoped> = {
  apiVersion: 'app-operator.io/v1alpha1',
  kind: 'SiteJob',
  metadata: { name: 'nightly', namespace: 'default' },
  spec: { siteRef: { name: 'demo-site' } },
};

const openSite = (
  status: Partial<AppSiteStatus> = {},
  spec: Parameters<typeof aSite>[0] = {},
  metadata: Parameters<typeof aSite>[1] = {},
): AppSite => ({ ...aSite(spec, metadata), status: { ...OPEN, ...status } });

const view = (...objects: readonly KubeObject[]) => viewSite(aJob, aReader(objects));
const blockedBy = (site: AppSite) => {
  const { blocked } = view(aReadyBench(), site);
  return blocked && `${blocked.reason}: ${blocked.message}`;
};

suite('the site that a resource names', () => {
  test('has the image that its data is of, and its own pod template over its bench’s', () => {
    const podTemplate = { nodeSelector: { disk: 'fast' }, labels: { team: 'blue' } };
    const { site, blocked } = view(
      aReadyBench({ frameworkVersion: 'version-16', podTemplate: { labels: { cost: '1' } } }),
      openSite({}, { podTemplate }),
    );
    assert.equal(blocked, undefined);
    assert.equal(site?.siteName, 'demo.example.com');
    assert.equal(site.bench.name, 'demo-bench');
    assert.equal(site.bench.image.reference, 'frappe/erpnext:v15.44.0');
    assert.deepEqual(site.bench.podTemplate, {
      nodeSelector: { disk: 'fast' },
      labels: { cost: '1', team: 'blue' },
    });
  });

  test('is missing if it does not exist, is in another namespace, or is being deleted', () => {
    const missing = 'there is no AppSite "demo-site" in namespace default';
    const expected = { reason: 'SiteMissing', message: `spec.siteRef.name: ${missing}` };
    assert.deepEqual(view(aReadyBench()), { site: undefined, blocked: expected });
    const foreign = openSite({}, {}, { namespace: 'other' });
    assert.deepEqual(view(aReadyBench(), foreign), { site: undefined, blocked: expected });
    const deleted = openSite({}, {}, { deletionTimestamp: NOW });
    assert.equal(view(aReadyBench(), deleted).site, undefined);
    assert.match(blockedBy(deleted) ?? '', /^SiteMissing: .*"demo-site" is being deleted$/);
  });

  test('without a bench cannot take anything', () => {
    const { site, blocked } = view(openSite());
    assert.equal(site, undefined);
    assert.equal(blocked?.reason, 'SiteNotReady');
    assert.match(blocked.message, /there is no AppBench "demo-bench" in namespace default$/);
  });

  test('is not ready before its status is of the current generation', () => {
    const not = 'SiteNotReady: spec.siteRef.name: AppSite "demo-site" is not Ready';
    assert.equal(blockedBy(aSite()), not);
    assert.equal(blockedBy(openSite({ conditions: [{ ...READY, status: 'False' }] })), not);
    assert.equal(blockedBy(openSite({}, {}, { generation: 2 })), not);
    assert.equal(blockedBy(openSite()), undefined);
  });

  test('is left alone while it is paused', () => {
    const paused = 'SiteNotReady: spec.siteRef.name: AppSite "demo-site" is paused';
    assert.equal(blockedBy(openSite({}, { paused: true })), paused);
    const annotations = { 'app-operator.io/paused': 'true' };
    assert.equal(blockedBy(openSite({}, {}, { annotations })), paused);
  });

  test('is left alone while it is upgraded, and works while it waits for its turn', () => {
    const upgrade = { from: 'frappe/erpnext:v15.44.0', to: 'frappe/erpnext:v15.45.0' };
    const upgrading = 'AppSite "demo-site" is being upgraded to frappe/erpnext:v15.45.0';
    assert.equal(blockedBy(openSite({ upgrade: { ...upgrade, state: 'Waiting' } })), undefined);
    for (const more of [
      { state: 'Waiting', closed: true },
      { state: 'Running' },
      { state: 'Migrated' },
      { state: 'Failed' },
    ] as const) {
      const blockedReason = blockedBy(openSite({ upgrade: { ...upgrade, ...more } }));
      assert.equal(blockedReason, `SiteNotReady: spec.siteRef.name: ${upgrading}`);
    }
  });

  test('is awaited by its dependents', () => {
    assert.equal(siteModelOf(aJob, aReader([aReadyBench(), openSite()])).name, 'demo-site');
    assert.throws(
      () => siteModelOf(aJob, aReader([aReadyBench(), aSite()])),
      (error) => error instanceof Waiting && error.reason === 'SiteNotReady',
    );
    assert.throws(
      () => siteModelOf(aJob, aReader([aReadyBench()])),
      (error) => error instanceof Waiting && error.reason === 'SiteMissing',
    );
  });
});
