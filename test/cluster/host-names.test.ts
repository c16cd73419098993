import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, API_VERSION, aSite } from './support/builders.js';
import type { Operator } from './support/operator.js';
import { at, conditionOf, type Manifest } from './support/objects.js';

const HOST = 'shop.example.com';
const ALIAS = 'www.example.com';
const WITH_INGRESS = { ingress: { enabled: true }, workloads: 'Shared' };

let cluster: Cluster;
let operator: Operator;
/** Has the site `shop` with its host names, and another tenant's namespace. */
let victim: string;
let tenant: string;
before(async () => {
  cluster = await startCluster();
  victim = await cluster.namespace();
  tenant = await cluster.namespace();
  operator = await cluster.operator([], { timeFactor: 5 });
  await cluster.apply(tenant, aBench('b'));
  await cluster.apply(victim, aBench('b'));
  await cluster.ready('AppBench', tenant, 'b');
  // Older than the victim, which age once decided.
  await cluster.apply(tenant, aSite('old', { bench: 'b', ...WITH_INGRESS }));
  await cluster.ready('AppSite', tenant, 'old');
  await cluster.ready('AppBench', victim, 'b');
  await cluster.apply(victim, shop());
  await cluster.ready('AppSite', victim, 'shop');
});
after(() => cluster.stop());

const shop = (more: Readonly<Record<string, unknown>> = {}): Manifest =>
  aSite('shop', { bench: 'b', aliases: [ALIAS], ...WITH_INGRESS, ...more });

/** An Ingress as a tenant may write it, for a host name of its choice. */
const anIngress = (
  name: string,
  host: string,
  owner?: Readonly<Record<string, unknown>>,
): Manifest => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: {
    name,
    labels: {
      'app.kubernetes.io/managed-by': 'app-operator',
      'app-operator.io/owner': 'AppSite.old',
    },
    ...(owner ? { ownerReferences: [owner] } : {}),
  },
  spec: {
    rules: [
      {
        host,
        http: {
          paths: [
            {
              path: '/',
              pathType: 'Prefix',
              backend: { service: { name: 'evil', port: { number: 80 } } },
            },
          ],
        },
      },
    ],
  },
});

const becomesTaken = (namespace: string, name: string) =>
  cluster.becomes('AppSite', namespace, name, {
    what: 'is Stalled: its host name is taken',
    check: (live) => conditionOf(live, 'Stalled')?.reason === 'HostTaken',
  });

describe('a host name that the operator has recorded', () => {
  test('is in the status, with all others of the site', async () => {
    const { status } = await cluster.the('AppSite', victim, 'shop');
    assert.deepEqual(at({ status }, 'status.hosts'), [HOST, ALIAS]);
  });

  for (const host of [HOST, ALIAS]) {
    test(`is not taken by an Ingress that says that it is of an older site: ${host}`, async () => {
      const { metadata } = await cluster.the('AppSite', tenant, 'old');
      const owner = { apiVersion: API_VERSION, kind: 'AppSite', name: 'old', uid: metadata.uid, controller: true }; // prettier-ignore
      await cluster.create(tenant, anIngress('forged', host, owner));
      await cluster.apply(tenant, aSite('old', { bench: 'b', aliases: [host], ...WITH_INGRESS }));
      await becomesTaken(tenant, 'old');
      const own = await cluster.the('Ingress', tenant, 'old-ingress');
      assert.equal((at(own, 'spec.rules') as readonly unknown[]).length, 1);
      // The victim is reconciled, and keeps the name.
      await cluster.delete('Ingress', victim, 'shop-ingress');
      await cluster.until('its Ingress exists', () =>
        cluster.get('Ingress', victim, 'shop-ingress'),
      );
      await cluster.ready('AppSite', victim, 'shop');
      await cluster.delete('Ingress', tenant, 'forged');
      await cluster.apply(tenant, aSite('old', { bench: 'b', ...WITH_INGRESS }));
      await cluster.ready('AppSite', tenant, 'old');
    });
  }

  test('survives the loss of its Ingress while another one names it', async () => {
    await cluster.create(tenant, anIngress('other', HOST));
    await cluster.delete('Ingress', victim, 'shop-ingress');
    await cluster.until('its Ingress exists', () => cluster.get('Ingress', victim, 'shop-ingress'));
    await cluster.ready('AppSite', victim, 'shop');
    await cluster.delete('Ingress', tenant, 'other');
  });

  test('survives a restart of the operator', async () => {
    await operator.stop();
    await cluster.apply(tenant, aSite('late', { bench: 'b', aliases: [ALIAS], ...WITH_INGRESS }));
    await cluster.operator([], { timeFactor: 5 });
    await becomesTaken(tenant, 'late');
    await cluster.ready('AppSite', victim, 'shop');
  });

  test('is free when the site gives it up, and then the other’s', async () => {
    await cluster.apply(victim, shop({ aliases: [] }));
    await cluster.ready('AppSite', tenant, 'late');
    await cluster.apply(victim, shop());
    await becomesTaken(victim, 'shop');
    await cluster.ready('AppSite', tenant, 'late');
  });
});
