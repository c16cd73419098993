import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { installManifest } from '../../cli/commands/install/manifest.js';
import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { VERSION } from '../../runner/kit/version.js';
import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite, scaled } from './support/builders.js';
import { forbiddenCalls, installed, startInstalled, USER } from './support/installed.js';
import { crdsOf } from './support/modules.js';
import { envOf, Operator } from './support/operator.js';

/** The part of a user who has rights in namespaces only; an administrator has installed the CRDs. */
const TENANT = 'tenant';

let cluster: Cluster;
let operator: Operator | undefined;
before(async () => {
  cluster = await startCluster({ audit: true });
});
after(async () => {
  if (operator?.running) operator.kill('SIGKILL');
  await cluster.stop();
});

const kubectl = (args: string, input?: string): Promise<string> =>
  cluster.controlPlane.kubectl(args.split(' '), input);

describe('an installation without ClusterRoles', () => {
  let namespace: string;
  let other: string;
  let manifest: string;
  before(async () => {
    [namespace, other] = [await cluster.namespace(), await cluster.namespace()];
    manifest = installManifest({
      version: VERSION,
      watchNamespaces: [namespace],
      namespaced: true,
    });
    await kubectl(`create namespace ${OPERATOR.namespace}`);
    for (const place of [namespace, OPERATOR.namespace]) {
      await kubectl(
        `create rolebinding ${TENANT} --clusterrole=admin --user=${TENANT} -n ${place}`,
      );
    }
  });

  test('is refused to a user without the rights that it grants', async () => {
    const refused = kubectl('apply --server-side --filename=- --as=without-rights', manifest);
    await assert.rejects(refused, /forbidden/);
  });

  test('takes an administrator of the namespaces, who may grant what the operator gets', async () => {
    // An administrator of a namespace may grant what they have: rights on the kinds of ours, and leases.
    await kubectl(
      `create clusterrole granter --verb=escalate,bind --resource=roles.rbac.authorization.k8s.io`,
    );
    for (const place of [namespace, OPERATOR.namespace]) {
      await kubectl(
        `create rolebinding granter --clusterrole=granter --user=${TENANT} -n ${place}`,
      );
    }
    await kubectl(`apply --server-side --filename=- --as=${TENANT}`, manifest);
  });

  test('gives the operator no right outside of its namespaces', async () => {
    const answers = [
      `auth can-i list secrets -n ${other} --as=${USER}`,
      `auth can-i list secrets --all-namespaces --as=${USER}`,
      `auth can-i list customresourcedefinitions.apiextensions.k8s.io --as=${USER}`,
      `auth can-i create tokenreviews.authentication.k8s.io --as=${USER}`,
    ].map((call) => kubectl(call));
    for (const answer of await Promise.allSettled(answers)) {
      assert.equal(answer.status, 'rejected');
    }
    assert.match(await kubectl(`auth can-i list secrets -n ${namespace} --as=${USER}`), /yes/);
  });

  test('works: a bench and a site become Ready, and what is elsewhere is left alone', async (t) => {
    const { crds, skip } = await crdsOf('keda.sh.ts', [
      'config/crd/bases/keda.sh_scaledobjects.yaml',
      'config/crd/bases/keda.sh_triggerauthentications.yaml',
    ]);
    for (const crd of crds) await installCrd(cluster, crd);
    operator = await startInstalled(cluster, manifest);
    for (const place of [namespace, other]) {
      await cluster.apply(place, aBench('b'), aSite('s', { bench: 'b' }));
    }
    await cluster.ready('AppBench', namespace, 'b');
    await cluster.ready('AppSite', namespace, 's');
    assert.equal((await cluster.the('AppBench', other, 'b')).status, undefined);
    if (skip !== false) {
      t.skip(skip);
      return;
    }
    // An API of others is found at the start, without the right to see definitions.
    const spec = { workerAutoscaling: { short: scaled(0, 10, 2) } };
    await cluster.patch('AppBench', namespace, 'b', { spec });
    await cluster.until('the ScaledObject', () =>
      cluster.get('ScaledObject', namespace, 'b-worker-short'),
    );
  });

  test('requests cluster-wide objects once, and logs that it skips them', async () => {
    // After two minutes and more it looks whether it has been given the right meanwhile.
    const refused = await forbiddenCalls(cluster, 100_000);
    assert.ok(refused.length > 0, 'definitions are asked for');
    assert.equal(new Set(refused).size, refused.length, `asked again: ${refused.join('\n')}`);
    for (const call of refused) assert.doesNotMatch(call, /namespaces\//);
    const lines = operator?.lines ?? [];
    assert.ok(
      lines.some(({ msg }) => msg.startsWith('no permission to watch cluster-scoped kind')),
    );
    assert.deepEqual(
      lines.filter(({ level }) => level === 'warn' || level === 'error'),
      [],
    );
  });

  test('removes what it made', async () => {
    await cluster.patch('AppSite', namespace, 's', { spec: { deletionPolicy: 'Delete' } });
    await cluster.delete('AppSite', namespace, 's');
    await cluster.deleted('AppSite', namespace, 's');
    assert.equal((await operator?.stop())?.code, 0);
  });
});

describe('a namespace that is deleted with its Role', () => {
  let [shop, blog] = ['', ''];
  let manifest: string;
  before(async () => {
    [shop, blog] = [await cluster.namespace(), await cluster.namespace()];
    const watchNamespaces = [shop, blog];
    manifest = installManifest({ version: VERSION, watchNamespaces, namespaced: true });
    await kubectl('apply --server-side --force-conflicts --filename=-', manifest);
    await kubectl(`delete role,rolebinding --all -n ${blog}`);
  });

  test('does not keep the operator from working in the others', async () => {
    const props = await installed(cluster, manifest);
    operator = new Operator({ ...props, env: { ...props.env, ...envOf({ timeFactor: 4 }) } });
    const line = await operator.logged('no permission to list in namespace; skipping it', 90_000);
    assert.equal(line['namespace'], blog);
    await operator.logged('caches are filled');
    for (const place of [shop, blog]) {
      await cluster.apply(place, aBench('b'), aSite('s', { bench: 'b' }));
    }
    await cluster.ready('AppSite', shop, 's');
    assert.equal((await cluster.the('AppSite', blog, 's')).status, undefined);
  });

  test('is reconciled again when it exists again', async () => {
    await kubectl('apply --server-side --force-conflicts --filename=-', manifest);
    await cluster.ready('AppSite', blog, 's', 180_000);
  });
});
