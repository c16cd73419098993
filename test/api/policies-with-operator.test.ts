import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { installManifest } from '../../cli/commands/install/manifest.js';
import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { DEFINITIONS } from '../../constructs/registry.js';
import { VERSION } from '../../runner/kit/version.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSite } from '../cluster/support/builders.js';
import { forbiddenCalls, startInstalled } from '../cluster/support/installed.js';
import { kubectlMessage } from '../cluster/support/kubectl-message.js';
import { at, conditionOf, type Manifest } from '../cluster/support/objects.js';
import type { Operator } from '../cluster/support/operator.js';

/** May write our kinds in a namespace, and nothing else. */
const TENANT = 'tenant';
/** What no author may set. The pods of it work. */
const DENIED = {
  security: { securityContext: { allowPrivilegeEscalation: true } },
  componentPodTemplates: {
    nginx: {
      spec: {
        containers: [
          { name: 'logs', image: 'logs:1', securityContext: { capabilities: { add: ['CHOWN'] } } },
        ],
      },
    },
  },
};
/** What no rule can read, stored under a schema that has no such types. */
const GARBAGE = {
  componentPodTemplates: {
    nginx: {
      metadata: { annotations: 'x' },
      spec: { containers: [{ name: 'a', securityContext: 'x', image: 5 }] },
    },
  },
};
const SNIPPET = {
  ingress: { enabled: true, annotations: { 'nginx.ingress.kubernetes.io/server-snippet': 'x' } },
};

let cluster: Cluster;
let operator: Operator | undefined;
let namespace: string;
before(async () => {
  cluster = await startCluster({ audit: true });
  namespace = await cluster.namespace();
  const kubectl = (args: string, input?: string): Promise<string> =>
    cluster.controlPlane.kubectl(args.split(' '), input);
  await kubectl(`create role ${TENANT} --verb=* --resource=*.app-operator.io -n ${namespace}`);
  await kubectl(`create rolebinding ${TENANT} --role=${TENANT} --user=${TENANT} -n ${namespace}`);
  // What was stored before the policies.
  await cluster.apply(
    namespace,
    aBench('old', DENIED),
    aBench('garbage', GARBAGE),
    aSite('oldest', { bench: 'old', ...SNIPPET }),
  );
  const manifest = installManifest({ version: VERSION, webhooks: false });
  await kubectl('apply --server-side --force-conflicts --filename=-', manifest);
  for (const denied of [aBench('x', DENIED), aSite('x', { bench: 'b', ...SNIPPET })]) {
    await cluster.until(`the limits of ${denied.kind}`, async () =>
      (await create(denied)).includes('forbidden:'),
    );
  }
  operator = await startInstalled(cluster, manifest);
});
after(async () => {
  if (operator?.running) operator.kill('SIGKILL');
  await cluster.stop();
});

const create = (manifest: Manifest): Promise<string> =>
  kubectlMessage(
    cluster,
    namespace,
    ['create', '--dry-run=server', '--validate=false', '--filename=-'],
    manifest,
  );
const byTenant = (...args: readonly string[]): Promise<string> =>
  kubectlMessage(cluster, namespace, [...args, `--as=${TENANT}`]);

test('no expression of a policy is doubtful to the API server', async () => {
  const PATH = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
  interface Policy {
    readonly metadata: { readonly name: string; readonly generation: number };
    readonly status?: { readonly observedGeneration?: number; readonly typeChecking?: object };
  }
  const policies = await cluster.until('every policy to be checked', async () => {
    const { items } = (await cluster.controlPlane.api.request('GET', PATH)) as {
      items: readonly Policy[];
    };
    const isChecked = ({ metadata, status }: Policy): boolean =>
      status?.observedGeneration === metadata.generation && status.typeChecking !== undefined;
    return items.every(isChecked) && items;
  });
  const warnings = policies.map(({ metadata, status }) => [metadata.name, status?.typeChecking]);
  assert.deepEqual(
    Object.fromEntries(warnings),
    Object.fromEntries(policies.map(({ metadata }) => [metadata.name, {}])),
  );
  const shipped = policies.filter(({ metadata }) => metadata.name.startsWith('app-operator-'));
  assert.ok(shipped.length > DEFINITIONS.length / 2, `${shipped.length} policies`);
});

describe('an operator under the policies', () => {
  test('makes a bench and a site, also of specs that are denied to authors now', async () => {
    await cluster.apply(namespace, aBench('new'), aSite('shop', { bench: 'new' }));
    for (const name of ['new', 'old']) await cluster.ready('AppBench', namespace, name);
    for (const name of ['shop', 'oldest']) await cluster.ready('AppSite', namespace, name);
    await cluster.becomes('AppBench', namespace, 'garbage', {
      what: 'is refused by name',
      check: (live) =>
        /nginx[.]metadata[.]annotations/.test(conditionOf(live, 'Ready')?.message ?? ''),
    });
  });
  test('leaves metadata of what was stored before to each author', async () => {
    for (const resource of ['appbench/old', 'appbench/garbage', 'appsite/oldest']) {
      assert.match(await byTenant('label', resource, 'team=erp'), /labeled/);
      assert.match(await byTenant('annotate', resource, 'team=erp'), /annotated/);
    }
    assert.match(await byTenant('patch', 'appsite/oldest', '--type=merge', '-p={"spec":{"suspend":true}}'), /patched/); // prettier-ignore
    const more = JSON.stringify({ spec: { ...DENIED, componentPodTemplates: null } });
    assert.match(await byTenant('patch', 'appbench/new', '--type=merge', `-p=${more}`), /forbidden/); // prettier-ignore
  });
  test('deletes them', async () => {
    for (const [kind, name] of [
      ['AppSite', 'oldest'],
      ['AppBench', 'old'],
      ['AppBench', 'garbage'],
    ] as const) {
      // prettier-ignore
      await cluster.delete(kind, namespace, name);
      await cluster.deleted(kind, namespace, name);
    }
  });
  test('has been refused nothing', async () => {
    assert.deepEqual(await forbiddenCalls(cluster), []);
  });
});

describe('without the ConfigMap of the limits', () => {
  const LIMITS = `/api/v1/namespaces/${OPERATOR.namespace}/configmaps/${OPERATOR.limits}`;
  const NO_PARAMS = /app-operator-limits-.*no params found for policy binding/;
  before(async () => {
    await cluster.controlPlane.api.request('DELETE', LIMITS);
    await cluster.until('the refusal', async () =>
      NO_PARAMS.test(await create(aSite('x', { bench: 'new' }))),
    );
  });
  test('a status is written', async () => {
    await cluster.patch('Deployment', namespace, 'new-gunicorn', { spec: { replicas: 0 } });
    await cluster.ready('AppBench', namespace, 'new');
    const patched = await cluster.patchStatus('AppSite', namespace, 'shop', {
      status: { phase: 'Ready' },
    });
    assert.equal(at(patched, 'status.phase'), 'Ready');
  });
  test('a deletion says what it waits for, and ends with the ConfigMap', async () => {
    await cluster.delete('AppSite', namespace, 'shop');
    await cluster.becomes('AppSite', namespace, 'shop', {
      what: 'says why it is still there',
      check: (live) => NO_PARAMS.test(conditionOf(live, 'Ready')?.message ?? ''),
    });
    await cluster.apply(OPERATOR.namespace, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: OPERATOR.limits },
    });
    await cluster.deleted('AppSite', namespace, 'shop');
  });
});
