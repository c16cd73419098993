import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { WebSocketClient } from '../../runner/health/websocket.js';
import { traefik } from '../../testbed/traefik/traefik.js';
import { aSecret } from '../cluster/support/builders.js';
import { crdsOf } from '../cluster/support/modules.js';
import { at, conditionOf } from '../cluster/support/objects.js';
import { loadDuring, send, type RequestOptions } from '../support/http.js';
import { standInMethod, standInOnly } from './framework.js';
import { type E2e, e2e, skip } from './harness.js';
import { siteOf } from './support/bench.js';
import { cleanUp, smallBench } from './support/benches.js';
import { gateway, PORTS, Traefik } from './support/traefik.js';

const { crds, skip: noCrds } = await crdsOf(
  'gateway.networking.k8s.io.ts',
  [
    'backendtlspolicies',
    'gatewayclasses',
    'gateways',
    'grpcroutes',
    'httproutes',
    'referencegrants',
  ].map((plural) => `config/crd/standard/gateway.networking.k8s.io_${plural}.yaml`),
);
const found = skip || noCrds ? { skip: 'no node' } : await traefik();
const HOST = 'gated.example.com';
const PING = '/api/method/ping';

suite(
  'a site behind a real Gateway',
  { skip: skip || noCrds || ('skip' in found && found.skip) },
  () => {
    let cluster: E2e;
    let namespace: string;
    let infra: string;
    let controller: Traefik;
    let authority: string;

    before(async () => {
      cluster = await e2e();
      [namespace, infra] = [await cluster.namespace(), await cluster.namespace()];
      controller = new Traefik(cluster, crds, 'programs' in found ? found.programs.traefik : '');
      await controller.start();
      const { certificatePem, keyPem, authorityPem } = cluster.node.controlPlane.credential({
        commonName: 'wildcard',
        hosts: ['*.example.com'],
      });
      authority = authorityPem;
      const allowed = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
      const none = { matchLabels: { 'kubernetes.io/metadata.name': 'none' } };
      const certificate = 'wildcard';
      await cluster.apply(
        infra,
        {
          ...aSecret(certificate, { 'tls.crt': certificatePem, 'tls.key': keyPem }),
          type: 'kubernetes.io/tls',
        },
        gateway('shared', { certificate, namespaces: { from: 'Selector', selector: allowed } }),
        gateway('closed', { certificate, namespaces: { from: 'Selector', selector: none } }),
      );
      await cluster.apply(
        namespace,
        smallBench('bench', {
          componentReplicas: {
            socketio: 1,
            scheduler: 0,
            workerDefault: 0,
            workerShort: 0,
            workerLong: 0,
          },
        }),
        siteOf('bench', 'gated', {
          workloads: 'Shared',
          ingress: { enabled: true, className: 'traefik' },
        }),
      );
      await cluster.ready('AppSite', namespace, 'gated');
      await cluster.until('the Ingress to be served', async () => (await ask(PING)).status === 200);
    });
    after(async () => {
      await cleanUp(cluster, namespace);
      await controller.stop();
      await cluster.delete('Namespace', '', infra);
    });

    const target = (path: string, port: number = PORTS.http) => ({
      ...{ address: controller.address, port, host: HOST, path },
    });
    const ask = (path: string, options: RequestOptions = {}) => send(target(path), options);
    const ingress = (fields: object) =>
      cluster.patch('AppSite', namespace, 'gated', { spec: { ingress: fields } });
    const accepted = (status: string, reason: string) =>
      cluster.becomes('AppSite', namespace, 'gated', {
        what: `has RouteAccepted ${reason}`,
        check: (live) => {
          const condition = conditionOf(live, 'RouteAccepted');
          return condition?.status === status && condition.reason === reason;
        },
        timeoutMs: 90_000,
      });
    const objects = async (): Promise<readonly string[]> => {
      const all = [
        ...(await cluster.list('Ingress', namespace)),
        ...(await cluster.list('HTTPRoute', namespace)),
      ];
      return all.map(({ kind, metadata }) => `${kind}/${metadata.name}`).sort();
    };
    const has = (...expected: readonly string[]) =>
      cluster.until(
        `the site to have ${expected.join(', ')}`,
        async () => {
          assert.deepEqual(await objects(), expected);
          return true;
        },
        120_000,
      );
    /** No request of visitors is lost meanwhile. */
    const withoutLoss = async (what: string, work: () => Promise<unknown>): Promise<void> => {
      cluster.requireNoneLost(what, await loadDuring(target(PING), work));
    };

    test('stays at its Ingress while no listener takes it', async () => {
      await withoutLoss('a Gateway that refuses a site', async () => {
        const closed = { name: 'closed', namespace: infra };
        await ingress({ className: null, gatewayRef: closed });
        const site = await accepted('False', 'NotAccepted');
        assert.match(conditionOf(site, 'RouteAccepted')?.message ?? '', /NotAllowedByListeners/);
        await has('HTTPRoute/gated-ingress', 'Ingress/gated-ingress');
      });
    });

    test('moves there and back without a lost request', async () => {
      await withoutLoss('from an Ingress to a Gateway', async () => {
        await ingress({ gatewayRef: { name: 'shared', namespace: infra } });
        await accepted('True', 'Accepted');
        await has('HTTPRoute/gated-ingress');
      });
      await withoutLoss('from a Gateway to an Ingress', async () => {
        await ingress({ gatewayRef: null, className: 'traefik' });
        await has('Ingress/gated-ingress');
      });
    });

    test('has TLS of the Gateway, and a redirect', async () => {
      await ingress({
        ...{ className: null, gatewayRef: { name: 'shared', namespace: infra } },
        tls: { enabled: true },
      });
      const site = await accepted('True', 'Accepted');
      assert.equal(at(site, 'status.siteURL'), `https://${HOST}`);
      await has('HTTPRoute/gated-ingress', 'HTTPRoute/gated-ingress-redirect');
      await cluster.until('HTTPS', async () => {
        assert.equal((await send(target(PING, PORTS.https), { ca: authority })).status, 200);
        return true;
      });
      await cluster.until('the redirect', async () => {
        const { status, headers } = await ask('/app?x=1');
        assert.deepEqual([status, headers.location], [301, `https://${HOST}/app?x=1`]);
        return true;
      });
    });

    test(
      'gets long requests, large ones and websockets',
      { skip: standInOnly('a method that sleeps') },
      async () => {
        await ingress({ tls: { enabled: false } });
        await cluster.until('HTTP', async () => (await ask(PING)).status === 200);
        const [slow, large] = await Promise.all([
          ask(`${standInMethod('sleep')}?seconds=20`),
          ask(PING, { method: 'POST', body: Buffer.alloc(20 << 20) }),
        ]);
        assert.deepEqual([slow.status, large.status], [200, 200]);
        const url = `http://${controller.address}:${PORTS.http}/socket.io/?EIO=4&transport=websocket`;
        const headers = { Host: HOST, Cookie: 'sid=Guest' };
        const client = await WebSocketClient.open(url, headers, AbortSignal.timeout(30_000));
        assert.match(await client.receive(), /^0/);
        client.send(`40/${HOST},`);
        assert.match(await client.receive(), new RegExp(`^40/${HOST},\\{"sid"`));
        client.close();
      },
    );
  },
);
