import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { renderTrees } from '../../cli/commands/status/render-tree.js';
import { statusNow } from '../../cli/commands/status/reporter.js';
import { crdOf } from '../../constructs/install/crd.js';
import { DEFAULT_API_GROUP, objectKind } from '../../constructs/kit/definition.js';
import type { KubeObject } from '../../constructs/kit/object.js';
import { reasonClass } from '../../constructs/kit/reasons.js';
import { StaticReader } from '../../constructs/kit/static-reader.js';
import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { DEFINITIONS, KINDS } from '../../constructs/registry.js';
import { Admission } from '../../runner/admission/admission.js';
import type { AdmissionResponse } from '../../runner/admission/review.js';
import { createClient } from '../../runner/api/client.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { fieldTable } from '../support/docs-tables.js';
import { bannerReasons, ninthKind } from '../ninth-kind/index.js';
import { type Cluster, installCrd, startCluster } from '../cluster/harness.js';
import { aSite } from '../cluster/support/builders.js';
import { kubectlMessage } from '../cluster/support/kubectl-message.js';
import { at, addKind, conditionOf, type Manifest } from '../cluster/support/objects.js';
import { configurations, register } from '../cluster/support/webhooks.js';

const KINDS_WITH_NINTH = [...KINDS, ninthKind];
const { definition } = ninthKind;
const API = objectKind(definition);
const MAIN = fileURLToPath(new URL('../ninth-kind/main.js', import.meta.url));

const aBanner = (name: string, site = 's'): Manifest => ({
  apiVersion: API.apiVersion,
  kind: API.kind,
  metadata: { name },
  spec: { siteRef: { name: site }, text: 'closed on Sunday' },
});

describe('a kind whose whole code is one folder', () => {
  let cluster: Cluster;
  let namespace: string;
  let metricsPort: number;
  let webhookPort: number;
  before(async () => {
    cluster = await startCluster({ own: true });
    addKind(API);
    await installCrd(cluster, crdOf(definition) as unknown as Manifest);
    await cluster.apply('', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: OPERATOR.namespace },
    });
    metricsPort = await cluster.freePort();
    webhookPort = await cluster.freePort();
    await cluster.operator(['--webhooks', `--webhook-bind-address=127.0.0.1:${webhookPort}`], {
      main: MAIN,
      metricsPort,
    });
    namespace = await cluster.namespace();
    // The site waits for its bench; the banner only needs the object.
    await cluster.apply(namespace, aSite('s', { bench: 'missing' }), aBanner('b'));
    await cluster.ready(API.kind, namespace, 'b');
  });
  after(() => cluster.stop());

  test('is reconciled to Ready, with its children and its status fields', async () => {
    const child = await cluster.the('ConfigMap', namespace, 'b-banner');
    assert.equal(at(child, 'data.text'), 'closed on Sunday');
    const banner = await cluster.the(API.kind, namespace, 'b');
    assert.equal(conditionOf(banner, 'Ready')?.reason, 'Shown');
    assert.equal(at(banner, 'status.shownText'), 'closed on Sunday');
  });

  test('has its conflict and its missing site as conditions', async () => {
    await cluster.apply(namespace, aBanner('lost', 'nowhere'));
    await cluster.becomes(API.kind, namespace, 'lost', {
      what: 'waits for its site',
      check: (live) => conditionOf(live, 'Ready')?.reason === 'BannerSiteMissing',
    });
  });

  test('has the events and metrics of every kind', async () => {
    const events = await cluster.until('its event', async () => {
      const all = await cluster.list('Event', namespace);
      const own = all.filter((event) => at(event, 'regarding.name') === 'b');
      return own.length > 0 && own;
    });
    assert.deepEqual(
      events.map((event) => at(event, 'reason')),
      ['Shown'],
      'progress is no event',
    );
    const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
    const series = `app_site_banner_phase{namespace="${namespace}",name="b",phase="Ready"} 1`;
    assert.ok((await response.text()).includes(series));
  });

  test('is shown by status, below the resource that it refers to', async () => {
    const kubeconfig = await cluster.controlPlane.userKubeconfig('reader', ['system:masters']);
    const client = createClient({ credentials: await loadCredentials(kubeconfig, {}) });
    try {
      const report = await statusNow({
        client,
        apiGroup: DEFAULT_API_GROUP,
        namespace,
        selection: {},
        kinds: KINDS_WITH_NINTH,
      });
      const site = report.resources.find(({ kind }) => kind === 'AppSite');
      const banner = site?.children.find(({ kind }) => kind === API.kind);
      assert.deepEqual([banner?.name, banner?.state], ['b', 'Ready']);
      assert.deepEqual(
        banner?.children.map(({ kind, name }) => `${kind}/${name}`),
        ['ConfigMap/b-banner'],
      );
      const lines = renderTrees(report.resources, {
        colours: false,
        columns: 120,
        now: Date.now(),
        all: true,
        namespaces: false,
        kinds: KINDS_WITH_NINTH,
      });
      assert.ok(lines.some((line) => line.includes('SiteBanner') && line.includes('b')));
    } finally {
      await client.close();
    }
  });

  test('is refused and warned of by the webhooks, as the author of the object sees', async () => {
    const definitions = [...DEFINITIONS, definition];
    await register(cluster, configurations(webhookPort, {}, { definitions }));
    const create = (banner: Manifest): Promise<string> =>
      kubectlMessage(
        cluster,
        namespace,
        ['create', '--dry-run=server', '--warnings-as-errors', '--filename=-'],
        banner,
      );
    await cluster.until('the API server to call the webhooks', async () =>
      (await create(aBanner('second'))).endsWith('already'),
    );
    assert.equal(
      await create(aBanner('second')),
      'spec.siteRef.name: site s has SiteBanner b already',
    );
    assert.match(
      await create(aBanner('early', 'later')),
      new RegExp(
        `^Warning: spec[.]siteRef[.]name: there is no AppSite "later" in namespace ${namespace}$`,
        'm',
      ),
    );
    await cluster.apply(namespace, aSite('free', { bench: 'missing' }));
    assert.match(await create(aBanner('welcome', 'free')), /created/);
  });

  test('is deleted after what its cleanup waits for', async () => {
    await cluster.apply(namespace, aSite('pinned', { bench: 'missing' }), aBanner('p', 'pinned'));
    await cluster.patch(API.kind, namespace, 'p', {
      metadata: { annotations: { pinned: 'true' } },
    });
    await cluster.ready(API.kind, namespace, 'p');
    await cluster.delete(API.kind, namespace, 'p');
    await cluster.becomes(API.kind, namespace, 'p', {
      what: 'waits for its annotation',
      check: (live) => conditionOf(live, 'Ready')?.reason === 'BannerPinned',
    });
    await cluster.patch(API.kind, namespace, 'p', { metadata: { annotations: { pinned: null } } });
    await cluster.deleted(API.kind, namespace, 'p');
  });
});

describe('the same kind at admission', () => {
  const stored = (object: Manifest, created: string): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, namespace: 'n', creationTimestamp: created },
  });
  const review = (object: Manifest, ...others: readonly KubeObject[]) => {
    const admission = new Admission({
      kinds: KINDS_WITH_NINTH,
      group: DEFAULT_API_GROUP,
      namespaces: [],
      reader: () => new StaticReader({ objects: others }),
      log: createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough()),
    });
    return admission.validate({
      uid: 'u',
      kind: { group: DEFAULT_API_GROUP, version: 'v1alpha1', kind: API.kind },
      operation: 'CREATE',
      namespace: 'n',
      object: object,
    });
  };
  const messageOf = ({ status }: AdmissionResponse): string => String(at(status, 'message'));
  const site = stored(aSite('s', { bench: 'x' }), '2026-01-01T00:00:00Z');

  test('is refused by its schema and by its own conflict', async () => {
    const wrong = { ...aBanner('b'), spec: { siteRef: { name: 's' }, text: '' } };
    assert.equal((await review(wrong, site)).allowed, false);
    const other = stored(aBanner('first'), '2026-01-02T00:00:00Z');
    const refused = await review(aBanner('second'), site, other);
    assert.equal(refused.allowed, false);
    assert.match(messageOf(refused), /site s has SiteBanner first already/);
  });

  test('is allowed with a warning if its site is missing', async () => {
    const { allowed, warnings } = await review(aBanner('b'));
    assert.equal(allowed, true);
    assert.match(warnings?.join() ?? '', /there is no AppSite "s"/);
    assert.equal((await review(aBanner('b'), site)).warnings, undefined);
  });
});

describe('the documentation of the same kind', () => {
  test('has its fields and its reasons', () => {
    const table = fieldTable(definition.spec, 'spec');
    for (const field of ['siteRef', 'siteRef.name', 'text', 'colour']) {
      assert.ok(table.includes(`\`spec.${field}\``), field);
    }
    for (const [reason, expected] of Object.entries(bannerReasons)) {
      assert.equal(reasonClass(ninthKind, reason), expected);
    }
  });
});
