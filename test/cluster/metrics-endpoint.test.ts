import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';

import { Agent, request } from 'undici';

import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { type Client, createClient } from '../../runner/api/client.js';
import { parseConfig } from '../../runner/config/config.js';
import { loadCredentials } from '../../runner/api/credentials.js';
import { type Endpoints, startEndpoints } from '../../runner/http/endpoints.js';
import { createLogger } from '../../runner/telemetry/log.js';
import { OperatorMetrics } from '../../runner/telemetry/metrics.js';
import { resourcePath } from '../../runner/api/resource-path.js';
import { FaultProxy } from '../../testbed/fault-proxy/fault-proxy.js';
import { type Cluster, startCluster } from './harness.js';

const ServiceAccount: ObjectKind = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
};
const RBAC = 'rbac.authorization.k8s.io';
const ROLE = {
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRole',
  metadata: { name: 'metrics-reader' },
  rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
};
const bound = (role: string, subject: object): object => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: `test-${role.replaceAll(':', '-')}` },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
  subjects: [subject],
});

let cluster: Cluster;
let namespace: string;
let admin: Client;
const clients: Client[] = [];
const started: Endpoints[] = [];
let endpoints: Endpoints;
// The certificate is self-signed, as in the specification's scrape configuration.
const insecure = new Agent({ connect: { rejectUnauthorized: false } });
let sitesReady = false;

before(async () => {
  cluster = await startCluster();
  namespace = await cluster.namespace();
  const { api, kubeconfig } = cluster.controlPlane;
  admin = await clientOf(kubeconfig);
  const account = (name: string): object => ({ kind: 'ServiceAccount', name, namespace });
  const rbac = `/apis/${RBAC}/v1`;
  await api.request('POST', `${rbac}/clusterroles`, ROLE);
  for (const binding of [
    bound('metrics-reader', account('scraper')),
    bound('system:auth-delegator', { kind: 'User', name: 'operator' }),
  ]) {
    await api.request('POST', `${rbac}/clusterrolebindings`, binding);
  }
  for (const name of ['scraper', 'without-rights']) {
    await cluster.create(namespace, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name },
    });
  }
  endpoints = await start('operator');
  // The API server learns of bindings by a watch.
  await cluster.until('the rights to be known', async () => {
    return (await get(secure(), await tokenOf('scraper'))).status === 200;
  });
});
after(async () => {
  for (const each of started) await each.close();
  for (const each of clients) await each.close();
  await insecure.close();
  await cluster.stop();
});

async function clientOf(kubeconfig: string): Promise<Client> {
  const client = createClient({ credentials: await loadCredentials(kubeconfig, {}) });
  clients.push(client);
  return client;
}

/** The operator's endpoints, with the rights of a user, by default on the API server itself. */
async function start(user: string, kubeconfig?: string): Promise<Endpoints> {
  const anyPort = '127.0.0.1:0';
  const running = await startEndpoints({
    config: parseConfig([], {
      APP_METRICS_BIND_ADDRESS: anyPort,
      APP_METRICS_SECURE_BIND_ADDRESS: anyPort,
      APP_HEALTH_PROBE_BIND_ADDRESS: anyPort,
    }),
    metrics: new OperatorMetrics(['AppSite'], false),
    client: await clientOf(kubeconfig ?? (await cluster.controlPlane.userKubeconfig(user))),
    log: createLogger({ logLevel: 'error', logEncoder: 'json' }, new PassThrough()),
    live: [],
    ready: [{ name: 'caches', problems: () => (sitesReady ? [] : ['AppSite: not listed yet']) }],
  });
  started.push(running);
  return running;
}

interface TokenRequest {
  readonly status: { readonly token: string };
}

async function tokenOf(name: string, audiences?: readonly string[]): Promise<string> {
  const { status } = await admin.request<TokenRequest>(
    'POST',
    resourcePath(ServiceAccount, namespace, name, 'token'),
    {
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { ...(audiences && { audiences }), expirationSeconds: 600 },
      },
    },
  );
  return status.token;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly challenge: unknown;
}

async function get(url: string, token?: string): Promise<Answer> {
  const { statusCode, headers, body } = await request(url, {
    dispatcher: insecure,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  return { status: statusCode, body: await body.text(), challenge: headers['www-authenticate'] };
}

const secure = (which = endpoints): string =>
  `https://127.0.0.1:${which.ports.metricsSecure}/metrics`;

describe('metrics over HTTPS', () => {
  test('are for a service account with the right', async () => {
    const { status, body } = await get(secure(), await tokenOf('scraper'));
    assert.equal(status, 200);
    assert.match(body, /^# TYPE app_operator_reconciliation_duration_seconds histogram$/m);
  });

  test('are not for a caller without a token', async () => {
    const { status, body, challenge } = await get(secure());
    assert.deepEqual({ status, challenge }, { status: 401, challenge: 'Bearer' });
    assert.doesNotMatch(body, /app_operator/);
  });

  test('are refused for an invalid token', async () => {
    assert.equal((await get(secure(), 'made-up')).status, 401);
  });

  test('are not for a token with a broken signature', async () => {
    const token = await tokenOf('scraper');
    // Of the last characters some bits do not count.
    const first = token.lastIndexOf('.') + 1;
    const other = token[first] === 'A' ? 'B' : 'A';
    const broken = token.slice(0, first) + other + token.slice(first + 1);
    assert.equal((await get(secure(), broken)).status, 401);
  });

  test('are refused to a token of another audience', async () => {
    const token = await tokenOf('scraper', ['https://vault.example.com']);
    assert.equal((await get(secure(), token)).status, 401);
  });

  test('are not for a service account without the right', async () => {
    const { status, body } = await get(secure(), await tokenOf('without-rights'));
    assert.equal(status, 403);
    assert.doesNotMatch(body, /app_operator/);
  });

  test('are refused while the operator may not review access', async () => {
    const powerless = await start('powerless');
    assert.equal((await get(secure(powerless), await tokenOf('scraper'))).status, 500);
  });

  test('are refused while the API server is down', async (t) => {
    const token = await tokenOf('scraper');
    const proxy = await FaultProxy.start(cluster.controlPlane, 'operator', []);
    t.after(() => proxy.stop());
    const { ports } = await start('operator', proxy.kubeconfig);
    const url = `https://127.0.0.1:${ports.metricsSecure}/metrics`;
    await proxy.refuse();
    assert.equal((await get(url, token)).status, 503);
    await proxy.accept();
    assert.equal((await get(url, token)).status, 200);
  });
});

test('metrics over HTTP need no token', async () => {
  const { status, body } = await get(`http://127.0.0.1:${endpoints.ports.metrics}/metrics`);
  assert.equal(status, 200);
  assert.match(body, /^app_operator_build_info\{/m);
});

test('health needs no token, and readiness waits for the caches', async () => {
  const health = (path: string): Promise<Answer> =>
    get(`http://127.0.0.1:${endpoints.ports.health}${path}`);
  assert.deepEqual(await health('/healthz'), { status: 200, body: 'ok', challenge: undefined });
  const waiting = await health('/readyz');
  assert.equal(waiting.status, 500);
  assert.equal(waiting.body, '[-]caches failed: AppSite: not listed yet');
  sitesReady = true;
  assert.equal((await health('/readyz')).status, 200);
});
