import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { aSite } from '../cluster/support/builders.js';
import { at } from '../cluster/support/objects.js';
import { install, the } from '../unit/install-manifest.js';
import { type E2e, e2e, OPERATOR_NAME, OPERATOR_NAMESPACE, skip } from './harness.js';
import { cleanUp, smallBench } from './support/benches.js';
import { outsidePod } from './support/outside-pod.js';

/** Says whether it gets a connection to port 6379 of a host within three seconds. */
const KNOCK = `
  const socket = require('node:net').connect(6379, process.argv[1]);
  const say = (word) => { console.log(word); process.exit(); };
  socket.on('connect', () => say('reached')).on('error', () => say('refused'));
  setTimeout(() => say('timeout'), 3000);`;

suite('an operator whose reach is limited', { skip }, () => {
  let cluster: E2e;
  let namespace: string;

  const setPolicy = async (limitEgress: boolean): Promise<void> => {
    const manifest = the(install({ limitEgress }), 'NetworkPolicy', OPERATOR.networkPolicy);
    const { spec = {} } = manifest;
    const patch = { spec: { egress: null, ...spec } };
    await cluster.patch('NetworkPolicy', OPERATOR_NAMESPACE, OPERATOR.networkPolicy, patch);
  };

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    await cluster.apply(namespace, outsidePod('outside'));
    await cluster.becomes('Pod', namespace, 'outside', {
      what: 'runs',
      check: (pod) => Object.is(at(pod, 'status.phase'), 'Running'),
    });
  });
  after(async () => {
    await setPolicy(false);
    await cleanUp(cluster, namespace);
  });

  const knock = async (): Promise<string> => {
    const host = String(at(await cluster.the('Pod', namespace, 'outside'), 'status.podIP'));
    const command = ['node', '-e', KNOCK, host];
    const output = await cluster.exec(OPERATOR_NAMESPACE, `deployment/${OPERATOR_NAME}`, command);
    return output.trim();
  };

  test('starts, and makes a bench and a site that answer', async () => {
    await cluster.until('it to be reached', async () => (await knock()) === 'reached');
    await setPolicy(true);
    await cluster.until('its egress to be limited', async () => (await knock()) === 'timeout');
    // Connections that were there before go on.
    await cluster.scaleOperator(0);
    await cluster.scaleOperator(1);
    await cluster.apply(namespace, smallBench('bench'), aSite('shop', { bench: 'bench' }));
    await cluster.ready('AppSite', namespace, 'shop');
    const answer = await cluster.request(namespace, 'bench', {
      host: 'shop.example.com',
      path: '/api/method/ping',
    });
    assert.equal(answer.status, 200);
    assert.equal(await knock(), 'timeout');
  });
});
