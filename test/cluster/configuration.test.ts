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

const SCRIPT = { exitCode: 0, reason: 'Completed', phase: 'Succeeded' };

/** Ends the next pod of the Job as the script does, and returns the run that it was for. */
async function answer(
  namespace: string,
  before?: string,
  result: readonly unknown[] = ['Changed', '', '', ['mail_password']],
): Promise<string> {
  const pod = await nextPod(namespace, before);
  const results = { [envOf(pod)]: result };
  await end(namespace, pod, { ...SCRIPT, message: JSON.stringify({ results }) });
  return envOf(pod);
}

/** The running pod of the Job, of another run than the one before. */
function nextPod(namespace: string, before?: string): Promise<Pod> {
  const query = '?labelSelector=app.kubernetes.io/component=configuration';
  return cluster.until('a pod of the Job runs', async () => {
    const path = `/api/v1/namespaces/${namespace}/pods${query}`;
    const { items } = (await cluster.controlPlane.api.request('GET', path)) as {
      items: readonly Pod[];
    };
    const running = items.filter(({ status }) => status?.phase === 'Running');
    return running.find((pod) => envOf(pod) !== before) ?? false;
  });
}

async function end(
  namespace: string,
  { metadata }: Pod,
  { phase, ...how }: typeof SCRIPT & { readonly message: string },
): Promise<void> {
  const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const terminated = { ...how, startedAt: time, finishedAt: time };
  const image = { image: 'framework', imageID: '', ready: false, restartCount: 0 };
  const containerStatuses = [{ name: 'configuration', ...image, state: { terminated } }];
  const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/status`;
  await patchStatus(path, { phase, containerStatuses });
}

async function patchStatus(path: string, status: object): Promise<void> {
  const type = 'application/merge-patch+json';
  await cluster.controlPlane.api.request('PATCH', path, { status }, type);
}

const isApplied = { what: 'has its keys', check: (site: Live) => stateOf(site) === 'True Applied' };

/** The Job is deleted once its result is in the status. */
function jobGone(namespace: string): Promise<unknown> {
  return cluster.until(
    'the Job is deleted',
    async () => (await cluster.get('Job', namespace, 'shop-configuration')) === undefined,
  );
}

function envOf({ spec }: Pod, variable = 'REQUEST'): string {
  return spec.containers[0]?.env.find(({ name }) => name === variable)?.value ?? '';
}

/** As the script answers where the Secret of the second entry does not exist. */
async function leaveOut(namespace: string): Promise<string> {
  const given = envOf(await nextPod(namespace), 'SITE_CONFIG');
  const [, entry] = JSON.parse(given) as readonly { reason?: string; missing?: string }[];
  const { reason, missing } = entry ?? {};
  return answer(namespace, undefined, ['Changed', reason, missing, ['allow_cors'], ['siteConfig[1]']]); // prettier-ignore
}

const LEFT_OUT =
  /^spec\.siteConfig\[1\]\.valueFrom\.secretKeyRef\.name: there is no Secret "mail" in namespace \S+; create it; all else is set$/;

describe('the configuration of a site', () => {
  test('is applied without an entry whose Secret is missing, with it when it arrives and when it changes, and then no more', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(
      namespace,
      aBench('bench'),
      aSite('shop', { bench: 'bench', workloads: 'Shared' }),
    );
    await cluster.ready('AppSite', namespace, 'shop');
    await cluster.patch('AppSite', namespace, 'shop', { spec: { siteConfig: MAIL } });
    const without = await leaveOut(namespace);
    const waiting = await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'names the Secret',
      check: (site) => stateOf(site) === 'False SecretMissing',
    });
    assert.match(conditionOf(waiting, 'ConfigurationApplied')?.message ?? '', LEFT_OUT);
    assert.equal(conditionOf(waiting, 'Ready')?.status, 'True', 'it keeps what it has');
    assert.deepEqual(at(waiting, 'status.siteConfig.keys'), ['allow_cors']);
    await jobGone(namespace);

    await cluster.apply(namespace, aSecret('mail', { password: 'one' }));
    await nextPod(namespace, without);
    const job = JSON.stringify(await cluster.get('Job', namespace, 'shop-configuration'));
    assert.doesNotMatch(job, /"(one|two)"|b25l|dHdv/, 'no value of the Secret');
    const during = await cluster.the('AppSite', namespace, 'shop');
    assert.equal(conditionOf(during, 'Ready')?.status, 'True', 'it is open meanwhile');
    const first = await answer(namespace, without);
    const applied = await cluster.becomes('AppSite', namespace, 'shop', isApplied);
    await jobGone(namespace);

    await cluster.apply(namespace, aSecret('mail', { password: 'two' }));
    await answer(namespace, first);
    await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'has the new value',
      check: (site) =>
        stateOf(site) === 'True Applied' &&
        at(site, 'status.siteConfig.hash') !== at(applied, 'status.siteConfig.hash'),
    });

    await jobGone(namespace);
    const since = new Date();
    await sleep(4_000);
    const writes = await cluster.writes({ namespace, since });
    assert.deepEqual(
      writes.filter((write) => /shop-configuration|appsites\/shop/.test(write)),
      [],
    );
  });

  test('of a new site starts it without an entry whose Secret is missing', async () => {
    const namespace = await cluster.namespace();
    const spec = { bench: 'bench', workloads: 'Shared', siteConfig: MAIL };
    await cluster.apply(namespace, aBench('bench'), aSite('shop', spec));
    const without = await leaveOut(namespace);
    const site = await cluster.ready('AppSite', namespace, 'shop');
    assert.match(conditionOf(site, 'ConfigurationApplied')?.message ?? '', LEFT_OUT);
    await cluster.apply(namespace, aSecret('mail', { password: 'one' }));
    await answer(namespace, without);
    await cluster.becomes('AppSite', namespace, 'shop', isApplied);
  });

  test('of a new site keeps it closed without a key that encrypts', async () => {
    const namespace = await cluster.namespace();
    const secretKeyRef = { name: 'mail', key: 'password' };
    const siteConfig = [MAIL[0], { key: 'backup_encryption_key', valueFrom: { secretKeyRef } }];
    const spec = { bench: 'bench', workloads: 'Shared', siteConfig };
    await cluster.apply(namespace, aBench('bench'), aSite('shop', spec));
    const without = await leaveOut(namespace);
    await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'is not Ready, and names the Secret',
      check: (site) =>
        conditionOf(site, 'Ready')?.message.includes('there is no Secret "mail"') === true &&
        conditionOf(site, 'ConfigurationApplied')?.message.endsWith('do not start without it') === true, // prettier-ignore
    });
    await cluster.apply(namespace, aSecret('mail', { password: 'one' }));
    await answer(namespace, without);
    await cluster.ready('AppSite', namespace, 'shop');
  });

  test('of a closed site is tried again, with the cause in the condition', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(namespace, aBench('bench'), aSite('shop', { bench: 'bench', workloads: 'Shared' })); // prettier-ignore
    await cluster.ready('AppSite', namespace, 'shop');
    const siteConfig = [{ key: 'allow_cors', value: '*' }];
    await cluster.patch('AppSite', namespace, 'shop', { spec: { siteConfig } });
    const pod = await nextPod(namespace);
    const { uid } = await cluster.the('Job', namespace, 'shop-configuration').then((job) => job.metadata); // prettier-ignore
    const message = 'app-operator: SiteClosed: an upgrade has begun';
    await end(namespace, pod, { exitCode: 1, reason: 'Error', phase: 'Failed', message });
    await failJob(namespace);
    const stuck = await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'names the cause',
      check: (site) => stateOf(site) === 'False JobFailed',
    });
    assert.match(conditionOf(stuck, 'ConfigurationApplied')?.message ?? '', /^Job shop-configuration: SiteClosed: an upgrade has begun/); // prettier-ignore
    assert.equal(conditionOf(stuck, 'Ready')?.status, 'True');
    const again = await cluster.until('another Job', async () => {
      const job = await cluster.get('Job', namespace, 'shop-configuration');
      return job !== undefined && job.metadata.uid !== uid && job;
    });
    assert.equal(at(again, 'status.failed'), undefined);
    await answer(namespace);
    await cluster.becomes('AppSite', namespace, 'shop', isApplied);
  });

  test('is deleted with its site', async () => {
    const namespace = await cluster.namespace();
    const siteConfig = [{ key: 'allow_cors', value: '*' }];
    await cluster.apply(namespace, aBench('bench'), aSite('shop', { bench: 'bench', workloads: 'Shared', siteConfig })); // prettier-ignore
    await nextPod(namespace);
    const waiting = await cluster.the('AppSite', namespace, 'shop');
    assert.notEqual(conditionOf(waiting, 'Ready')?.status, 'True', 'a new site waits for its keys');
    await cluster.delete('AppSite', namespace, 'shop');
    await cluster.until('the site is deleted', async () => !(await cluster.get('AppSite', namespace, 'shop'))); // prettier-ignore
    await jobGone(namespace);
  });

  test('is taken over from release 0.2.0, whose Job was a batch', async () => {
    const namespace = await cluster.namespace();
    await cluster.apply(namespace, aBench('bench'), aSite('shop', { bench: 'bench', workloads: 'Shared' })); // prettier-ignore
    await cluster.ready('AppSite', namespace, 'shop');
    const siteConfig = [{ key: 'allow_cors', value: '*' }];
    await cluster.patch('AppSite', namespace, 'shop', { spec: { siteConfig } });
    const run = envOf(await nextPod(namespace));
    const labels = { 'app-operator.io/batch': 'site-configuration' };
    await cluster.patch('Job', namespace, 'shop-configuration', { metadata: { labels } });
    assert.equal(await answer(namespace), run);
    await cluster.becomes('AppSite', namespace, 'shop', isApplied);
    await jobGone(namespace);
  });
});

/** The Job controller would need more than a minute for the three further attempts. */
async function failJob(namespace: string): Promise<void> {
  const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const why = { status: 'True', reason: 'BackoffLimitExceeded', lastTransitionTime: time };
  const conditions = ['FailureTarget', 'Failed'].map((type) => ({ type, ...why }));
  const path = `/apis/batch/v1/namespaces/${namespace}/jobs/shop-configuration/status`;
  // Until the Job controller has counted the pod, the API server refuses it.
  await cluster.until('the Job has failed', async () => {
    try {
      await patchStatus(path, { conditions, active: null, ready: null });
      return true;
    } catch {
      return false;
    }
  });
}
