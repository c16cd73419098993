import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { crdsOf } from './support/modules.js';
import { at, conditionOf, type Live, type Manifest } from './support/objects.js';

const CERT_MANAGER = await crdsOf('cert-manager.io.ts', [
  'deploy/crds/cert-manager.io_certificates.yaml',
]);

const aTlsSecret = (name: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  type: 'kubernetes.io/tls',
  stringData: { 'tls.crt': 'certificate', 'tls.key': 'key' },
});

describe('a site’s certificate', () => {
  let cluster: Cluster;
  let namespace: string;
  before(async () => {
    cluster = await startCluster();
    namespace = await cluster.namespace();
    await cluster.operator();
    const site = (name: string, tls?: object): Manifest =>
      aSite(name, {
        bench: 'b',
        workloads: 'Shared',
        ingress: { enabled: true, className: 'nginx', ...(tls ? { tls } : {}) },
      });
    await cluster.apply(
      namespace,
      aBench('b'),
      site('issued', { enabled: true, certManagerIssuer: 'letsencrypt' }),
      site('own', { enabled: true, secretName: 'own-tls' }),
      site('plain'),
    );
    for (const name of ['issued', 'own', 'plain']) {
      await cluster.ready('AppSite', namespace, name);
    }
  });
  after(() => cluster.stop());

  const says = (
    site: string,
    status: string,
    reason: string,
    message: string,
    siteURL: string,
  ): Promise<Live> =>
    cluster.becomes('AppSite', namespace, site, `says ${reason} at ${siteURL}`, (live) => {
      const certificate = conditionOf(live, 'Certificate');
      return (
        certificate?.status === status &&
        certificate.reason === reason &&
        certificate.message === message &&
        at(live, 'status.siteURL') === siteURL
      );
    });
  const ingressOf = (site: string): Promise<Live> =>
    cluster.the('Ingress', namespace, `${site}-ingress`);

  test('is none where TLS is off', async () => {
    const site = await cluster.the('AppSite', namespace, 'plain');
    assert.equal(conditionOf(site, 'Certificate'), undefined);
    assert.equal(at(site, 'status.siteURL'), 'http://plain.example.com');
    const ingress = await ingressOf('plain');
    assert.equal(at(ingress, 'spec.tls'), undefined);
    assert.equal(at(ingress, 'spec.ingressClassName'), 'nginx');
    assert.deepEqual(at(ingress, 'spec.rules'), [
      {
        host: 'plain.example.com',
        http: {
          paths: [
            {
              path: '/',
              pathType: 'Prefix',
              backend: { service: { name: 'b-nginx', port: { number: 8080 } } },
            },
          ],
        },
      },
    ]);
  });

  test('of one’s own is waited for, and used when it is there', async () => {
    await says(
      'own',
      'False',
      'SecretMissing',
      'spec.ingress.tls: name a certManagerIssuer, or create the Secret "own-tls" of type kubernetes.io/tls',
      'http://own.example.com',
    );
    await cluster.apply(namespace, aTlsSecret('own-tls'));
    await says('own', 'True', 'SecretFound', 'Secret own-tls', 'https://own.example.com');
    assert.deepEqual(at(await ingressOf('own'), 'spec.tls'), [
      { hosts: ['own.example.com'], secretName: 'own-tls' },
    ]);
    await cluster.ready('AppSite', namespace, 'own');
  });

  test('cannot be asked for without cert-manager, which a condition says', async () => {
    await says(
      'issued',
      'False',
      'CertManagerMissing',
      'no certificate is asked for: the cluster does not serve cert-manager.io/v1',
      'http://issued.example.com',
    );
    await cluster.ready('AppSite', namespace, 'issued');
  });

  describe('with cert-manager', { skip: CERT_MANAGER.skip }, () => {
    const WHY = 'Issuing certificate as Secret does not exist';
    const answer = (status: string, reason: string, message: string): Promise<Live> => {
      const lastTransitionTime = '2026-01-01T00:00:00Z';
      const conditions = [{ type: 'Ready', status, reason, message, lastTransitionTime }];
      const patch = { status: { conditions } };
      return cluster.patch('Certificate', namespace, 'issued-tls', patch, 'status');
    };

    test('is asked for as soon as its kind appears', async () => {
      for (const crd of CERT_MANAGER.crds) await installCrd(cluster, crd);
      await says(
        'issued',
        'False',
        'Issuing',
        'its operator has not looked at it yet',
        'http://issued.example.com',
      );
      const { spec } = await cluster.the('Certificate', namespace, 'issued-tls');
      assert.deepEqual(spec, {
        secretName: 'issued-tls',
        dnsNames: ['issued.example.com'],
        issuerRef: { group: 'cert-manager.io', kind: 'ClusterIssuer', name: 'letsencrypt' },
      });
      const all = await cluster.list('Certificate', namespace);
      assert.equal(all.length, 1, 'nobody else has asked for one');
    });

    test('is waited for while the site goes on being Ready', async () => {
      await answer('False', 'DoesNotExist', WHY);
      await says('issued', 'False', 'Issuing', WHY, 'http://issued.example.com');
      await cluster.ready('AppSite', namespace, 'issued', 2_000);
    });

    test('is used when it is issued, and the site’s URL says so', async () => {
      await cluster.apply(namespace, aTlsSecret('issued-tls'));
      await answer('True', 'Ready', 'Certificate is up to date and has not expired');
      await says('issued', 'True', 'Issued', 'Secret issued-tls', 'https://issued.example.com');
      await cluster.ready('AppSite', namespace, 'issued');
    });

    test('follows the domain and the issuer', async () => {
      await cluster.patch('AppSite', namespace, 'issued', {
        spec: {
          domain: 'www.example.com',
          ingress: { tls: { certManagerIssuer: 'internal', issuerKind: 'Issuer' } },
        },
      });
      await cluster.until('the Certificate has changed', async () => {
        const { spec } = await cluster.the('Certificate', namespace, 'issued-tls');
        assert.deepEqual(spec, {
          secretName: 'issued-tls',
          dnsNames: ['www.example.com'],
          issuerRef: { group: 'cert-manager.io', kind: 'Issuer', name: 'internal' },
        });
        return true;
      });
      await cluster.until('the Ingress has changed', async () => {
        const host = at(await ingressOf('issued'), 'spec.rules[0].host');
        return host === 'www.example.com';
      });
    });

    test('goes with its Ingress, and its Secret stays', async () => {
      const spec = { ingress: { enabled: false } };
      await cluster.patch('AppSite', namespace, 'issued', { spec });
      await cluster.gone('Certificate', namespace, 'issued-tls');
      await cluster.gone('Ingress', namespace, 'issued-ingress');
      assert.ok(await cluster.get('Secret', namespace, 'issued-tls'));
      const site = await cluster.ready('AppSite', namespace, 'issued');
      assert.equal(conditionOf(site, 'Certificate'), undefined);
    });

    test('is missed again when its kind is gone', async () => {
      const spec = { ingress: { enabled: true } };
      await cluster.patch('AppSite', namespace, 'issued', { spec });
      await cluster.until('it is asked for', () =>
        cluster.get('Certificate', namespace, 'issued-tls'),
      );
      const [crd] = CERT_MANAGER.crds;
      await cluster.delete('CustomResourceDefinition', '', crd?.metadata.name ?? '');
      await cluster.becomes(
        'AppSite',
        namespace,
        'issued',
        'misses cert-manager',
        (live) => conditionOf(live, 'Certificate')?.reason === 'CertManagerMissing',
      );
      await cluster.ready('AppSite', namespace, 'issued');
    });
  });
});
