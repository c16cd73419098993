import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { startControlPlane } from '../../testbed/controlplane/controlplane.js';
import type { Helm } from '../../testbed/helm/helm.js';
import { projectRoot } from '../../testbed/project-root.js';
import { CHART, startHelm } from '../chart/support.js';
import { Cluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { forbiddenCalls, startInstalled } from './support/installed.js';
import { at, nameOf } from './support/objects.js';
import type { Operator } from './support/operator.js';

const { namespace } = OPERATOR;
const RELEASE = ['app-operator', `--namespace=${namespace}`];
const WAIT = ['--wait', '--timeout=90s'];
const CRD = 'appsites.app-operator.io';

let cluster: Cluster;
let helm: Helm;
let stopHelm: () => Promise<void>;
let operator: Operator | undefined;
before(async () => {
  cluster = new Cluster(
    await startControlPlane({ kwokNodes: 1, persistentVolumes: 20, audit: true }),
  );
  ({ helm, stop: stopHelm } = await startHelm(cluster.controlPlane.kubeconfig));
});
after(async () => {
  if (operator?.running) operator.kill('SIGKILL');
  await cluster.stop();
  await stopHelm();
});

const kubectl = (args: string): Promise<string> => cluster.controlPlane.kubectl(args.split(' '));
const exists = (what: string): Promise<boolean> =>
  kubectl(`get ${what} -n ${namespace} --ignore-not-found --output=name`).then(Boolean);

async function start(): Promise<void> {
  operator = await startInstalled(cluster, await helm.run('get', 'manifest', ...RELEASE));
}

/** `kind/name` → uid and version of all that the operator has made, and of what users have. */
async function state(place: string): Promise<Record<string, string>> {
  // A kind cannot be listed for a moment after its definition has changed.
  const objects = await cluster.until('everything to be listed', async () => [
    ...(await cluster.children(place)),
    ...(await cluster.list('AppBench', place)),
    ...(await cluster.list('AppSite', place)),
  ]);
  return Object.fromEntries(
    objects.map((object) => [
      nameOf(object),
      `${object.metadata.uid ?? ''} ${object.metadata.resourceVersion ?? ''}`,
    ]),
  );
}

/** The chart as an earlier release could have had it: a CRD with a column less. */
async function earlier(): Promise<string> {
  const folder = path.join(cluster.controlPlane.dataDir, 'earlier');
  await cp(CHART, folder, { recursive: true, dereference: true });
  const edit = async (file: string, from: RegExp, to: string): Promise<void> => {
    const target = path.join(folder, file);
    const text = await readFile(target, 'utf8');
    assert.match(text, from);
    await writeFile(target, text.replace(from, to));
  };
  await edit('Chart.yaml', /^version: .*$/m, 'version: 0.0.1');
  await edit(`files/crds/${CRD}.yaml`, /name: URL$/m, 'name: Address');
  return folder;
}

describe('helm', () => {
  let place: string;
  let before: Record<string, string>;

  test('installs all that the operator needs, in a namespace that only takes restricted pods', async () => {
    const labels = 'pod-security.kubernetes.io/enforce=restricted';
    await kubectl(`create namespace ${namespace}`);
    await kubectl(`label namespace ${namespace} ${labels}`);
    const output = await helm.run('install', ...RELEASE, await earlier(), ...WAIT);
    assert.match(output, /works in all namespaces/);
    assert.match(output, /stay when this release is uninstalled/);
    await start();
    place = await cluster.namespace();
    await cluster.apply(place, aBench('b'), aSite('s', { bench: 'b' }));
    await cluster.ready('AppBench', place, 'b');
    await cluster.ready('AppSite', place, 's');
  });

  test('upgrades the CRDs too, and leaves benches and sites as they are', async () => {
    // A bench reads its sites again after it is Ready, at most once in five seconds.
    before = await cluster.until('benches and sites to be at rest', async () => {
      const now = await state(place);
      await sleep(6_000);
      return isDeepStrictEqual(await state(place), now) && now;
    });
    const columns = (): Promise<string> =>
      kubectl(
        `get crd ${CRD} --output=jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}`,
      );
    assert.match(await columns(), /Address/);
    await helm.run('upgrade', ...RELEASE, CHART, '--set=replicas=2', ...WAIT);
    assert.match(await columns(), /URL/);
    // Helm waits for its ReplicaSet, which the Deployment reports a moment later.
    await cluster.becomes('Deployment', namespace, OPERATOR.deployment, {
      what: 'has both replicas',
      check: (live) => at(live, 'status.availableReplicas') === 2,
    });
    assert.ok(await exists(`pdb/${OPERATOR.deployment}`));
    assert.deepEqual(await state(place), before);
  });

  test('rolls back to the previous release', async () => {
    await helm.run('rollback', ...RELEASE, '1', ...WAIT);
    assert.equal(await exists(`pdb/${OPERATOR.deployment}`), false);
    await helm.run('upgrade', ...RELEASE, CHART, ...WAIT);
    assert.deepEqual(await state(place), before);
  });

  test('refuses a second installation in the cluster', async () => {
    const second = helm.try('install', 'second', CHART, '--namespace=default');
    assert.match((await second).err, /ownership metadata/);
  });

  test('uninstalls the operator, and no data: CRDs, benches and sites stay as they are', async () => {
    assert.equal((await operator?.stop())?.code, 0);
    const output = await helm.run('uninstall', ...RELEASE, '--wait');
    assert.match(output, /kept due to the resource policy/);
    assert.equal(await exists(`deployment/${OPERATOR.deployment}`), false);
    assert.equal(await exists(`clusterrole/${OPERATOR.managerRole}`), false);
    assert.deepEqual(await state(place), before);
  });

  test('installs again over the CRDs that stayed, and nothing restarts', async () => {
    // Without policies: kube-apiserver 1.36 does not find their ConfigMap again until it restarts.
    await helm.run('install', ...RELEASE, CHART, '--set=policies.enabled=false', ...WAIT);
    await start();
    // A change that must reach the children shows that all of the bench has been reconciled.
    await cluster.until('the API server to know that the policies are deleted', async () => {
      try {
        await cluster.patch('AppBench', place, 'b', { spec: { componentReplicas: { nginx: 2 } } });
        return true;
      } catch (error) {
        assert.match(String(error), /no params found/);
        return false;
      }
    });
    await cluster.ready('AppBench', place, 'b');
    await cluster.ready('AppSite', place, 's');
    const now = await state(place);
    const changed = Object.keys(before).filter((name) => now[name] !== before[name]);
    assert.deepEqual(
      changed.filter((name) => !/^(AppBench\/b|AppSite\/s|.*\/b-nginx)$/.test(name)),
      [],
    );
    assert.deepEqual(
      Object.keys(before).filter((name) => !(name in now)),
      [],
    );
    assert.deepEqual(await forbiddenCalls(cluster), []);
    assert.equal((await operator?.stop())?.code, 0);
  });

  test('takes over an installation by manifest on request', async () => {
    await helm.run('uninstall', ...RELEASE, '--wait');
    const manifest = path.join(projectRoot(), 'dist/install.yaml');
    await kubectl(`apply --server-side --force-conflicts --filename=${manifest}`);
    const kept = await state(place);
    const refused = await helm.try('install', ...RELEASE, CHART);
    assert.match(refused.err, /ownership metadata/);
    await helm.run('install', ...RELEASE, CHART, '--take-ownership', ...WAIT);
    assert.ok(await exists(`deployment/${OPERATOR.deployment}`));
    assert.deepEqual(await state(place), kept);
  });
});
