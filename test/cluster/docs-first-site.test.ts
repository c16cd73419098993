/** Types the commands of docs/first-site.md and docs/install.md as they stand there. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { startControlPlane } from '../../testbed/controlplane/controlplane.js';
import { ensureHelm } from '../../testbed/helm/helm.js';
import { projectRoot } from '../../testbed/project-root.js';
import { needOf, Reader, shellBlocks, type Block } from '../support/page-blocks.js';
import { Cluster } from './harness.js';
import { startInstalled } from './support/installed.js';
import { at } from './support/objects.js';
import { policyObjects } from './support/policies.js';

let cluster: Cluster;
let reader: Reader;
before(async () => {
  cluster = new Cluster(await startControlPlane({ kwokNodes: 1, persistentVolumes: 20 }));
  const { binaries, kubeconfig } = cluster.controlPlane;
  assert.ok(binaries.kubectl);
  const helm = await ensureHelm();
  reader = new Reader({ kubectl: binaries.kubectl, kubeconfig, programs: { helm } });
});
after(async () => {
  await cluster.stop();
  rmSync(reader.folder, { recursive: true });
});

const page = (name: string) => {
  const blocks = shellBlocks(name);
  return {
    /** The blocks under a heading that can run here. */
    under: (heading: string): readonly Block[] => {
      const found = blocks.filter((block) => block.heading === heading);
      assert.ok(found.length > 0, `${name}: ${heading}`);
      return found.filter((block) => needOf(block) === undefined);
    },
    /** The needs of the others, so that none is left out silently. */
    needs: blocks.flatMap((block) => needOf(block) ?? []),
    headings: new Set(blocks.map(({ heading }) => heading)),
  };
};

const NOTE =
  'failed to provision volume with StorageClass "one-node": NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes';
const PENDING_CLAIM =
  /volume claim stuck-sites is Pending: failed to provision volume with StorageClass "one-node": NodePath only supports .*; without a storage class for ReadWriteMany, delete the bench and this claim, and create the bench with spec\.storage\.accessMode: ReadWriteOnce/;

/** What a bench says whose claim is refused, as by the provisioner of kind and k3s. */
async function messageOfPendingClaim(): Promise<string> {
  const namespace = 'stuck';
  await cluster.controlPlane.kubectl(['create', 'namespace', namespace]);
  await apply({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'one-node' },
    provisioner: 'example.org/one-node',
  });
  await apply({
    apiVersion: 'app-operator.io/v1alpha1',
    kind: 'AppBench',
    metadata: { name: 'stuck', namespace },
    spec: { frameworkVersion: 'version-15', storage: { className: 'one-node' } },
  });
  const claim = await cluster.until('the claim', () =>
    cluster.get('PersistentVolumeClaim', namespace, 'stuck-sites'),
  );
  const { name, uid } = claim.metadata;
  await apply({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'refused', namespace },
    eventTime: new Date().toISOString().replace('Z', '000Z'),
    type: 'Warning',
    reason: 'ProvisioningFailed',
    action: 'Provision',
    note: NOTE,
    reportingController: 'example.org/one-node',
    reportingInstance: 'one-node-0',
    regarding: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
  });
  const message = await cluster.until('the message', async () => {
    const bench = await cluster.the('AppBench', namespace, 'stuck');
    const conditions = (at(bench, 'status.conditions') ?? []) as {
      readonly type: string;
      readonly message: string;
    }[];
    const ready = conditions.find(({ type }) => type === 'Ready')?.message ?? '';
    return ready.includes('stuck-sites') ? ready : undefined;
  });
  const remove = 'delete appbench stuck --timeout=1m -n';
  await cluster.controlPlane.kubectl([...remove.split(' '), namespace]);
  await cluster.controlPlane.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  return message;
}

async function apply(object: object): Promise<void> {
  const args = ['apply', '--server-side', '--filename=-'];
  await cluster.controlPlane.kubectl(args, JSON.stringify(object));
}

describe('docs/first-site.md', () => {
  const { under, needs, headings } = page('first-site.md');

  test('leads from an empty cluster to a site, its password, and an empty cluster', async () => {
    const type = async (heading: string): Promise<string> => {
      let output = '';
      for (const block of under(heading)) output += await reader.types(block);
      headings.delete(heading);
      return output;
    };
    assert.match(await type('2. Install the operator'), /successfully rolled out/);
    const operator = await startInstalled(
      cluster,
      readFileSync(reader.file('install.yaml'), 'utf8'),
    );
    try {
      await type('3. Create a namespace');
      assert.match(await type('4. Create the bench'), /appbench\S*\/demo-bench condition met/);
      const claim = await cluster.the('PersistentVolumeClaim', 'shop', 'demo-bench-sites');
      assert.deepEqual(at(claim, 'spec.accessModes'), ['ReadWriteOnce']);
      assert.match(await messageOfPendingClaim(), PENDING_CLAIM);
      assert.match(await type('5. Create the site'), /appsite\S*\/demo-site condition met/);
      assert.match(await type('6. Read the password'), /^[A-Za-z0-9]{20,}$/);
      const removed = await type('8. Remove everything');
      assert.match(removed, /^nothing is retained$/m);
    } finally {
      operator.kill('SIGKILL');
    }
    const left = await reader.types({
      heading: 'what is left',
      code: 'kubectl get ns,crd,clusterrole -o name | grep -E "shop|app-operator" || true',
    });
    assert.equal(left, '');
    // The rest needs a node, or has been typed by whoever builds this.
    assert.deepEqual([...headings], ['', '7. Open the site in a browser']);
    assert.deepEqual(needs, ['a clone that is not built', 'a builder of images', 'a node that runs pods', 'a node that runs pods']); // prettier-ignore
  });
});

describe('docs/install.md', () => {
  const { under, needs } = page('install.md');
  const env = { IMAGE: 'registry.test/app-operator:0.2.0' };
  const type = async (heading: string): Promise<string> => {
    let output = '';
    for (const block of under(heading)) output += await reader.types(block, env);
    return output;
  };
  const imageOf = async (): Promise<unknown> =>
    at(
      await cluster.the('Deployment', OPERATOR.namespace, OPERATOR.deployment),
      'spec.template.spec.containers[0].image',
    );
  /** Makes room for the next way: of the operator, only the CRDs stay. */
  async function uninstall(): Promise<void> {
    const [block] = under('Uninstall');
    assert.ok(block);
    await reader.types(block);
    const names =
      'kubectl get ns,clusterrole,clusterrolebinding -o name | grep app-operator || true';
    assert.equal(await reader.types({ heading: 'what is left', code: names }), '');
    const crds = { heading: 'CRDs', code: 'kubectl get crd -o name' };
    assert.match(await reader.types(crds), /appbenchs\.app-operator\.io/);
  }

  test('installs with the manifest, upgrades and uninstalls', async () => {
    assert.match(await type('2. Install with the manifest'), /successfully rolled out/);
    assert.equal(await imageOf(), env.IMAGE);
    await type('Upgrade the operator');
    assert.equal(await imageOf(), 'registry.example.com/app-operator:NEW');
    await uninstall();
  });

  test('installs without ClusterRoles', async () => {
    await reader.types({
      heading: 'namespaces that must exist',
      code: 'for name in shop blog; do kubectl create namespace $name; done',
    });
    const [crds, manifest] = under('Without ClusterRoles');
    const policies = under('Without ClusterRoles').find(({ code }) => code.includes('--selector'));
    assert.ok(crds && manifest && policies);
    await reader.types(crds, env);
    await reader.types(manifest, env);
    assert.equal(await imageOf(), env.IMAGE);
    const roles = await reader.types({ heading: 'roles', code: 'kubectl get clusterrole -o name' });
    assert.doesNotMatch(roles, /app-operator/);
    const applied = (await reader.types(policies, env)).trim().split('\n').sort();
    const lines = policyObjects().map(({ kind, metadata }) => [kind.toLowerCase(), metadata.name]);
    assert.deepEqual(
      applied.map((line) => line.replace(/[.][^/]*[/]/, '/')),
      lines.map(([kind, name]) => `${kind}/${name} serverside-applied`).sort(),
    );
    await uninstall();
  });

  for (const heading of ['Without ClusterRoles', 'Or install with Helm'])
    test(`installs with Helm: ${heading}`, async () => {
      const block = under(heading).find(({ code }) => code.startsWith('helm '));
      assert.ok(block);
      if (!block.code.includes('--create-namespace'))
        await reader.types({
          heading: 'the namespace that must exist',
          code: `kubectl create namespace ${OPERATOR.namespace}`,
        });
      // The CRDs of the manifest are still there: the page says to add this then.
      const code = `${block.code.trimEnd()} --take-ownership\n`;
      assert.match(await reader.types({ heading, code }, env), /STATUS: deployed/);
      assert.equal(await imageOf(), env.IMAGE);
      const remove = `helm uninstall app-operator --namespace ${OPERATOR.namespace}`;
      assert.ok(readFileSync(`${projectRoot()}/docs/install.md`, 'utf8').includes(`\`${remove}\``));
      await reader.types({ heading: 'Uninstall', code: remove });
    });

  test('has no other block that does not run here', () => {
    assert.deepEqual(needs, ['a clone that is not built', 'a builder of images', 'a node that runs pods']); // prettier-ignore
  });
});
