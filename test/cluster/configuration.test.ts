import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { holdPods } from '../../testbed/controlplane/pods.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSecret, aSite } from './support/builders.js';
import { at, conditionOf, type Live } from './support/objects.js';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster({ audit: true });
  await holdPods(cluster.controlPlane, PODS);
  await cluster.operator();
});
after(() => cluster.stop());

const PODS = { 'app.kubernetes.io/component': 'configuration' };
const MAIL = [
  { key: 'allow_cors', value: '*' },
  { key: 'mail_password', valueFrom: { secretKeyRef: { name: 'mail', key: 'password' } } },
];
const stateOf = (site: Live): string | undefined => {
  const found = conditionOf(site, 'ConfigurationApplied');
  return found && `${found.status} ${found.reason}`;
};

interface Pod {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly containers: readonly {
      readonly name: string;
      readonly env: readonly { readonly name: string; readonly value?: string }[];
    }[];
  };
  readonly status?: { readonly phase?: string };
}

/** Ends the next pod of the Job as the script does, and returns the request that it was for. */
async function answer(namespace: string, before?: string): Promise<string> {
  const { api } = cluster.controlPlane;
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const [pod, request] = await cluster.until('a pod of the Job runs', async () => {
    const query = '?labelSelector=app.kubernetes.io/component=configuration';
    const { items } = (await api.request('GET', path + query)) as { items: readonly Pod[] };
    const found = items
      .filter(({ status }) => status?.phase === 'Running')
      .map((one) => [one, envOf(one)] as const)
      .find(([, id]) => id !== before);
    return found ?? false;
  });
  const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const message = JSON.stringify({
    results: { [request]: ['Changed', '', '', ['mail_password']] },
  });
  const times = { startedAt: time, finishedAt: time };
  const terminated = { exitCode: 0, reason: 'Completed', message, ...times };
  const image = { image: 'framework', imageID: '', ready: false, restartCount: 0 };
  const status = {
    phase: 'Succeeded',
    containerStatuses: [{ name: 'configuration', ...image, state: { terminated } }],
  };
  const patch = 'application/merge-patch+json';
  await api.request('PATCH', `${path}/${pod.metadata.name}/status`, { status }, patch);
  return request;
}

function envOf({ spec }: Pod): string {
  return spec.containers[0]?.env.find(({ name }) => name === 'REQUEST')?.value ?? '';
}

describe('the configuration of a site', () => {
  test('waits for its Secret, is applied when it arrives and when it changes, and then no more', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(
      namespace,
      aBench('bench'),
      aSite('shop', { bench: 'bench', workloads: 'Shared' }),
    );
    await cluster.ready('AppSite', namespace, 'shop');
    await cluster.patch('AppSite', namespace, 'shop', { spec: { siteConfig: MAIL } });
    const waiting = await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'names the Secret',
      check: (site) => stateOf(site) === 'False SecretMissing',
    });
    assert.match(
      conditionOf(waiting, 'ConfigurationApplied')?.message ?? '',
      /^spec\.siteConfig\[1\]\.valueFrom\.secretKeyRef\.name: there is no Secret "mail"/,
    );
    assert.equal(conditionOf(waiting, 'Ready')?.status, 'True', 'it keeps what it has');
    assert.equal(await cluster.get('Job', namespace, 'shop-configuration'), undefined);

    await cluster.apply(namespace, aSecret('mail', { password: 'one' }));
    const first = await answer(namespace);
    const applied = await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'has its keys',
      check: (site) => stateOf(site) === 'True Applied',
    });

    await cluster.apply(namespace, aSecret('mail', { password: 'two' }));
    await answer(namespace, first);
    await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'has the new value',
      check: (site) =>
        stateOf(site) === 'True Applied' &&
        at(site, 'status.siteConfig.hash') !== at(applied, 'status.siteConfig.hash'),
    });

    const since = new Date();
    await sleep(4_000);
    const writes = await cluster.writes({ namespace, since });
    assert.deepEqual(
      writes.filter((write) => /shop-configuration|appsites\/shop/.test(write)),
      [],
    );
    const job = JSON.stringify(await cluster.get('Job', namespace, 'shop-configuration'));
    assert.doesNotMatch(job, /"(one|two)"|b25l|dHdv/, 'no value of the Secret');
  });
});
