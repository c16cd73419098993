import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Route } from '../../constructs/integrations/openshift/kinds.js';
import { resolveSite } from '../../constructs/kinds/site/resolve.js';
import { aReadyBench, aSecret, aSite, aReader } from '../golden/builders.js';

suite('on OpenShift, a site without an issuer', () => {
  /** How its traffic comes in, and how that is encrypted. */
  const inputs = (secret: string, tls: Readonly<Record<string, unknown>>) => {
    const reader = aReader([aReadyBench(), aSecret(secret)], { serves: [Route] });
    const { access } = resolveSite(aSite({ ingress: { enabled: true, tls } }), reader);
    const { route, encrypted, tls: inIngress } = access;
    return { route, encrypted, secret: inIngress?.secretName };
  };

  test('has a Route with the certificate of the router', () => {
    const made = { route: 'openshift', encrypted: true, secret: undefined };
    assert.deepEqual(inputs('other-site-tls', { enabled: true }), made);
  });
  test('has an Ingress where its Secret exists, also under the default name', () => {
    const made = { route: undefined, encrypted: true, secret: 'demo-site-tls' };
    assert.deepEqual(inputs('demo-site-tls', { enabled: true }), made);
    assert.deepEqual(inputs('demo-site-tls', { enabled: true, secretName: 'mine' }), {
      route: undefined,
      encrypted: true,
      secret: 'mine',
    });
  });
  test('has a Route without TLS, with any Secrets', () => {
    const made = { route: 'openshift', encrypted: false, secret: undefined };
    assert.deepEqual(inputs('demo-site-tls', { enabled: false }), made);
  });
});
