import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { KubeObject } from '../../constructs/kit/object.js';
import { preview, type ClusterObjects } from '../../constructs/preview/preview.js';
import { aReadyBench, aSecret, aSite } from '../golden/builders.js';

const REDIRECT = 'nginx.ingress.kubernetes.io/ssl-redirect';
const ingress = { enabled: true, className: 'nginx', tls: { enabled: true } };
const EVERY_SECRET = new Set(['Secret']);

/** The children of a site on a bench of the cluster. */
function childrenOf(
  spec: object,
  complete: ClusterObjects['complete'],
  ...objects: readonly KubeObject[]
): readonly KubeObject[] {
  const cluster = { objects, complete };
  const site = { ...aSite({ ...spec, ingress }), status: undefined };
  const { problems, objects: children } = preview([aReadyBench(), site], { cluster });
  assert.deepEqual(problems, []);
  return children;
}

function redirects(children: readonly KubeObject[]): string | undefined {
  return children.find(({ kind }) => kind === 'Ingress')?.metadata.annotations?.[REDIRECT];
}

describe('a preview among the objects of a cluster', () => {
  test('has the Secret of a certificate only if the cluster has it', () => {
    assert.equal(redirects(childrenOf({}, EVERY_SECRET)), 'false');
    assert.equal(redirects(childrenOf({}, EVERY_SECRET, aSecret('demo-site-tls'))), 'true');
  });

  test('assumes Secrets to exist where they are unknown', () => {
    assert.equal(redirects(childrenOf({}, new Set())), 'true');
  });

  test('shows the children of a site that waits for a Secret', () => {
    const children = childrenOf({ adminPasswordSecretRef: { name: 'later' } }, EVERY_SECRET);
    assert.ok(children.some(({ kind }) => kind === 'Ingress'));
  });
});
