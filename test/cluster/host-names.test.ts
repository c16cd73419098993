import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, startCluster } from './harness.js';
import { aBench, API_VERSION, aSite } from './support/builders.js';
import type { Operator } from './support/operator.js';
import { at, conditionOf, isReady, type Live, type Manifest } from './support/objects.js';

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

const ignoredOf = (live: Live): string => conditionOf(live, 'FieldsIgnored')?.message ?? '';
const hostsIn = async (namespace: string, name: string): Promise<readonly unknown[]> => {
  const ingress = await cluster.the('Ingress', namespace, `${name}-ingress`);
  return (at(ingress, 'spec.rules') as readonly { readonly host: string }[]).map(
    ({ host }) => host,
  );
};

/** A site runs under its own name, and says that another namespace has its alias. */
async function runsWithout(namespace: string, name: string, host: string): Promise<void> {
  await cluster.becomes('AppSite', namespace, name, {
    what: `is Ready, and names the alias ${host}`,
    check: (live) =>
      isReady(live) &&
      ignoredOf(live).startsWith(
        `spec.aliases[0]: has no effect: Invalid value: "${host}": another namespace`,
      ),
  });
  assert.deepEqual(await hostsIn(namespace, name), [`${name}.example.com`]);
}

async function runsWith(namespace: string, name: string, host: string): Promise<void> {
  await cluster.becomes('AppSite', namespace, name, {
    what: `is Ready, with the alias ${host}`,
    check: (live) => isReady(live) && ignoredOf(live) === '',
  });
  await cluster.until(`its Ingress has ${host}`, async () =>
    (await hostsIn(namespace, name)).includes(host),
  );
}

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
      await runsWithout(tenant, 'old', host);
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
    await runsWithout(tenant, 'late', ALIAS);
    await cluster.ready('AppSite', victim, 'shop');
  });

  test('refuses a site of another namespace that has no other name', async () => {
    const thief = aSite('thief', { bench: 'b', domain: HOST, ...WITH_INGRESS });
    await cluster.apply(tenant, thief);
    await cluster.becomes('AppSite', tenant, 'thief', {
      what: 'is Stalled: its host name is taken',
      check: (live) => conditionOf(live, 'Stalled')?.reason === 'HostTaken',
    });
    await cluster.delete('AppSite', tenant, 'thief');
  });

  test('is free when the site gives it up, and then the other’s', async () => {
    await cluster.apply(victim, shop({ aliases: [] }));
    await runsWith(tenant, 'late', ALIAS);
    await cluster.apply(victim, shop());
    await runsWithout(victim, 'shop', ALIAS);
    await runsWith(tenant, 'late', ALIAS);
  });
});
