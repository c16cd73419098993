import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import type { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import type { Call } from '../../testbed/fault-proxy/call.js';
import { type Cluster, startCluster } from './harness.js';
import { aBench, aSecret, aSite, API_VERSION } from './support/builders.js';
import type { Manifest } from './support/objects.js';
import type { Operator } from './support/operator.js';
import { ProxiedOperators } from './support/proxied-operators.js';
import { bundleOf, configurations, register } from './support/webhooks.js';

/** Of the attacker, and of another tenant. */
const [SHOP, OTHER] = ['shop', 'other'];
const SECRET = 'present';
/** More than the operator has connections. */
const SITES = 60;
const FLOOD = 150;
/** On a busy machine some answers are too late for the API server. */
const LATE = /^429 .*; try again$|^500 .*webhook/;
const MAY_READ = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }];

let cluster: Cluster;
let operators: ProxiedOperators;
let proxy: FaultProxy;
let operator: Operator;
const agents: Agent[] = [];
/** May write our kinds in `shop`, and no more; and the other may read Secrets in `other` too. */
let tenant: User;
let reader: User;
before(async () => {
  cluster = await startCluster({ kwokNodes: 0, controllerManager: false, scheduler: false });
  operators = new ProxiedOperators(cluster);
  for (const name of [SHOP, OTHER, OPERATOR.namespace]) {
    await cluster.apply('', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  for (const namespace of [SHOP, OTHER]) await cluster.apply(namespace, aSecret(SECRET));
  tenant = await userOf('tenant', SHOP, []);
  reader = await userOf('reader', OTHER, MAY_READ);
  const port = await cluster.freePort();
  proxy = await operators.proxy();
  operator = await operators.start(proxy, {}, [
    '--webhooks',
    '--max-concurrent-reconciles=100',
    `--webhook-bind-address=127.0.0.1:${port}`,
  ]);
  // As installed: three seconds for an answer.
  await register(cluster, configurations(port, { timeoutSeconds: 3 }));
  await cluster.until('the authority to be registered', () => bundleOf(cluster));
  await cluster.until('the webhooks to be asked', async () =>
    (await created(tenant, SHOP, withSecret('probe'))).startsWith('422'),
  );
});
after(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await operators.stop();
  await cluster.stop();
});

/** A user, whose requests are sent once. */
type User = (method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => Promise<string>;

/** A user who may write our kinds in the namespace, and what these rules allow. */
async function userOf(user: string, namespace: string, more: readonly object[]): Promise<User> {
  const metadata = { name: user, namespace };
  const apiGroup = 'rbac.authorization.k8s.io';
  const apiVersion = `${apiGroup}/v1`;
  const path = `/apis/${apiVersion}/namespaces/${namespace}`;
  const rules = [{ apiGroups: ['app-operator.io'], resources: ['*'], verbs: ['*'] }, ...more];
  const { api } = cluster.controlPlane;
  await api.request('POST', `${path}/roles`, { apiVersion, kind: 'Role', metadata, rules });
  await api.request('POST', `${path}/rolebindings`, {
    apiVersion,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup, kind: 'Role', name: user },
    subjects: [{ apiGroup, kind: 'User', name: user }],
  });
  const {
    certificatePem: cert,
    keyPem: key,
    authorityPem: ca,
  } = cluster.controlPlane.credential({
    commonName: user,
  });
  const agent = new Agent({ connect: { ca, cert, key } });
  agents.push(agent);
  return async (method, at, body) => {
    const answer = await request(cluster.controlPlane.server + at, {
      ...{ dispatcher: agent, method, body: JSON.stringify(body ?? {}) },
      headers: {
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
    });
    const { message = '' } = (await answer.body.json()) as { message?: string };
    return answer.statusCode < 300 ? 'done' : `${answer.statusCode} ${message}`;
  };
}

const withSecret = (name: string): Manifest =>
  aBench(name, {
    componentPodTemplates: {
      gunicorn: {
        spec: { containers: [{ name: 'gunicorn', envFrom: [{ secretRef: { name: SECRET } }] }] },
      },
    },
  });

const pathOf = (namespace: string, { kind, metadata }: Manifest): string =>
  `/apis/${API_VERSION}/namespaces/${namespace}/${kind.toLowerCase()}s/${metadata.name}`;

/** The answer after further tries, as clients make them: a busy machine may answer too late. */
async function settled(send: () => Promise<string>): Promise<string> {
  for (let left = 20; ; left--) {
    const answer = await send();
    if (left === 0 || !/^429 |deadline exceeded/.test(answer)) return answer;
    await sleep(100);
  }
}

/** The answer to a user who creates an object without storing it. */
function created(user: User, namespace: string, manifest: Manifest): Promise<string> {
  const collection = pathOf(namespace, manifest).replace(/[/][^/]*$/, '');
  return user('POST', `${collection}?dryRun=All`, manifest);
}

const isReview = ({ path }: Call): boolean => path.endsWith('/subjectaccessreviews');
/** Whether a call asks for rights in a namespace. */
const isReviewIn = (call: Call, namespace: string): boolean =>
  isReview(call) && call.body.includes(`"namespace":"${namespace}"`);

/** Calls that match have no response until the end of the work. */
async function whileHanging<T>(hangs: (call: Call) => boolean, work: () => Promise<T>): Promise<T> {
  const end = Promise.withResolvers<undefined>();
  proxy.rule = (call) => (hangs(call) ? end.promise : undefined);
  try {
    return await work();
  } finally {
    proxy.rule = () => undefined;
    end.resolve(undefined);
  }
}

describe('while the API server answers no SubjectAccessReview of a namespace', () => {
  test('none of many changes that give a Secret to pods passes, and other namespaces are served', async (t) => {
    const first = await userOf('first', SHOP, []);
    await whileHanging(
      (call) => isReviewIn(call, SHOP),
      async () => {
        const flood = Promise.all(
          Array.from({ length: FLOOD }, (_, i) => created(first, SHOP, withSecret(`a${i}`))),
        );
        const end = new AbortController();
        const times: number[] = [];
        const answers = new Set<string>();
        const others = (async () => {
          while (!end.signal.aborted) {
            const begun = performance.now();
            answers.add(await settled(() => created(reader, OTHER, withSecret('mine'))));
            times.push(performance.now() - begun);
          }
        })();
        const results = await flood;
        end.abort();
        await others;
        assert.deepEqual([...answers], ['done']);
        const passed = results.filter((result) => result === 'done').length;
        t.diagnostic(
          `${passed} of ${FLOOD} passed; of ${times.length} others the slowest took ${Math.max(...times).toFixed()} ms`,
        );
        assert.equal(passed, 0);
        for (const result of results) assert.match(result, LATE);
      },
    );
  });

  test('the time without an answer is no decision: who has the right is served at once after it', async () => {
    const second = await userOf('second', OTHER, MAY_READ);
    await whileHanging(
      (call) => isReviewIn(call, OTHER),
      async () => {
        const message = await created(second, OTHER, withSecret('mine'));
        assert.match(message, LATE);
      },
    );
    assert.equal(await settled(() => created(second, OTHER, withSecret('mine'))), 'done');
  });
});

test('while all writers of the operator hang, authors are reviewed', async () => {
  let writes = 0;
  await whileHanging(
    (call) => {
      const hangs = call.isWrite && !isReview(call);
      if (hangs) writes += 1;
      return hangs;
    },
    async () => {
      await cluster.apply(SHOP, aBench('busy'));
      for (let i = 0; i < SITES; i++) await cluster.apply(SHOP, aSite(`s${i}`, { bench: 'busy' }));
      await cluster.until('its connections are used up', async () => writes >= 32);
      // No decision about them is known.
      const third = await userOf('third', OTHER, MAY_READ);
      assert.equal(await settled(() => created(third, OTHER, withSecret('late'))), 'done');
      const fourth = await userOf('fourth', SHOP, []);
      const message = await settled(() => created(fourth, SHOP, withSecret('late')));
      assert.match(message, /^422 .*you may not get this/);
    },
  );
});

test('a resource that is being deleted takes no Secret that its author may not get', async () => {
  const bench = aBench('doomed', {}, { finalizers: ['example.com/hold'] });
  await cluster.apply(SHOP, bench);
  const path = pathOf(SHOP, bench);
  assert.equal(await tenant('DELETE', path), 'done');
  const patch = { spec: withSecret('doomed').spec };
  assert.match(await settled(() => tenant('PATCH', path, patch)), /^422 .*you may not get this/);
  assert.equal(await tenant('PATCH', path, { spec: { paused: true } }), 'done');
  assert.equal(await tenant('PATCH', path, { metadata: { finalizers: [] } }), 'done');
});

test('a template of hundreds of Secrets is compared and reviewed in time', async () => {
  const templates = (image: string): object => {
    const env = Array.from({ length: 64 }, (_, i) => ({
      name: `V${i}`,
      valueFrom: { secretKeyRef: { name: `s${i}`, key: 'k' } },
    }));
    const containers = Array.from({ length: 8 }, (_, i) => ({ name: `c${i}`, image, env }));
    return { gunicorn: { spec: { containers } } };
  };
  const large = aBench('large', { componentPodTemplates: templates('a') });
  const path = pathOf(OTHER, large);
  const collection = path.replace(/[/][^/]*$/, '');
  assert.equal(await settled(() => reader('POST', collection, large)), 'done');
  const componentPodTemplates = templates('b');
  const change = { spec: { componentPodTemplates } };
  assert.equal(await settled(() => reader('PATCH', path, change)), 'done');
});

test('while the operator is away, only changes that give objects to pods are refused', async () => {
  operator.kill('SIGKILL');
  await operator.exited;
  assert.match(await created(reader, OTHER, withSecret('mine')), /^500 .*webhook/);
  assert.equal(await created(reader, OTHER, aBench('plain')), 'done');
  const bench = withSecret('stored');
  const path = pathOf(OTHER, bench);
  await register(
    cluster,
    configurations(1).map((one) => ({ ...one, webhooks: [] })),
  );
  assert.equal(await reader('POST', path.replace(/[/][^/]*$/, ''), bench), 'done');
  await register(cluster, configurations(1));
  assert.equal(await reader('PATCH', path, { spec: { paused: true } }), 'done');
  const siteConfig = [{ key: 'a', value: 1 }];
  assert.match(await reader('PATCH', path, { spec: { siteConfig } }), /^500 .*webhook/);
});
