import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { toYaml } from '../../cli/io/yaml.js';
import { type Cluster, installCrd, startCluster } from './harness.js';
import { aBench, aSite } from './support/builders.js';
import { CommandLine } from './support/command-line.js';
import { crdsOf } from './support/modules.js';
import { at, conditionOf, type Live, type Manifest } from './support/objects.js';

const CERT_MANAGER = await crdsOf('cert-manager.io.ts', [
  'deploy/crds/cert-manager.io_certificates.yaml',
  'deploy/crds/cert-manager.io_issuers.yaml',
  'deploy/crds/cert-manager.io_clusterissuers.yaml',
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
    await cluster.operator([], { timeFactor: 5 });
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

  const awaitCertificate = (
    site: string,
    [status, reason, message]: readonly [status: string, reason: string, message: string],
    siteURL: string,
  ): Promise<Live> =>
    cluster.becomes('AppSite', namespace, site, {
      what: `reports ${reason} at ${siteURL}`,
      check: (live) => {
        const certificate = conditionOf(live, 'CertificateReady');
        return (
          certificate?.status === status &&
          certificate.reason === reason &&
          certificate.message === message &&
          at(live, 'status.siteURL') === siteURL
        );
      },
    });
  const ingressOf = (site: string): Promise<Live> =>
    cluster.the('Ingress', namespace, `${site}-ingress`);

  test('is none where TLS is off', async () => {
    const site = await cluster.the('AppSite', namespace, 'plain');
    assert.equal(conditionOf(site, 'CertificateReady'), undefined);
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

  test('in a user’s Secret is awaited, and used as soon as the Secret exists', async () => {
    await awaitCertificate(
      'own',
      [
        'False',
        'SecretMissing',
        'spec.ingress.tls: name a certManagerIssuer, or create the Secret "own-tls" of type kubernetes.io/tls',
      ],
      'http://own.example.com',
    );
    await cluster.apply(namespace, aTlsSecret('own-tls'));
    await awaitCertificate(
      'own',
      ['True', 'SecretFound', 'Secret own-tls'],
      'https://own.example.com',
    );
    assert.deepEqual(at(await ingressOf('own'), 'spec.tls'), [
      { hosts: ['own.example.com'], secretName: 'own-tls' },
    ]);
    await cluster.ready('AppSite', namespace, 'own');
  });

  test('cannot be requested without cert-manager, and a condition has the reason', async () => {
    await awaitCertificate(
      'issued',
      [
        'False',
        'CertManagerMissing',
        'no certificate is requested: the cluster does not serve cert-manager.io/v1',
      ],
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
      return cluster.patchStatus('Certificate', namespace, 'issued-tls', patch);
    };

    test('is requested as soon as its kind is served', async () => {
      const [certificates] = CERT_MANAGER.crds;
      assert.ok(certificates);
      await installCrd(cluster, certificates);
      await awaitCertificate(
        'issued',
        ['False', 'Issuing', 'its operator has not observed it yet'],
        'http://issued.example.com',
      );
      const { spec } = await cluster.the('Certificate', namespace, 'issued-tls');
      assert.deepEqual(spec, {
        secretName: 'issued-tls',
        dnsNames: ['issued.example.com'],
        issuerRef: { group: 'cert-manager.io', kind: 'ClusterIssuer', name: 'letsencrypt' },
      });
      const all = await cluster.list('Certificate', namespace);
      assert.equal(all.length, 1, 'only one is requested');
    });

    test('is awaited while the site stays Ready', async () => {
      await answer('False', 'DoesNotExist', WHY);
      await awaitCertificate('issued', ['False', 'Issuing', WHY], 'http://issued.example.com');
      await cluster.ready('AppSite', namespace, 'issued', 2_000);
    });

    test('is used when it is issued, and the site’s URL is https', async () => {
      await cluster.apply(namespace, aTlsSecret('issued-tls'));
      await answer('True', 'Ready', 'Certificate is up to date and has not expired');
      await awaitCertificate(
        'issued',
        ['True', 'Issued', 'Secret issued-tls'],
        'https://issued.example.com',
      );
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

    describe('for several domains', () => {
      const hosts = ['www.several.org', 'several.org', 'shop.several.org'];
      const [domain, ...aliases] = hosts;
      const tls = { enabled: true, certManagerIssuer: 'corp' };
      const annotations = { 'ingress.kubernetes.io/ssl-redirect': 'mine' };
      const ingress = { enabled: true, className: 'nginx-public', annotations, tls };
      const spec = { bench: 'b', workloads: 'Shared', domain, aliases, ingress };
      const url = `http://${hosts[0] ?? ''}`;
      const issuer = (kind: string): Manifest => ({
        apiVersion: 'cert-manager.io/v1',
        kind,
        metadata: { name: 'corp' },
        spec: { selfSigned: {} },
      });
      const issuerKind = (kind: string): Promise<unknown> =>
        cluster.until(`the Certificate asks the ${kind}`, async () => {
          const { spec } = await cluster.the('Certificate', namespace, 'several-tls');
          const issuerRef = { group: 'cert-manager.io', kind, name: 'corp' };
          assert.deepEqual(spec, { secretName: 'several-tls', dnsNames: hosts, issuerRef });
          return true;
        });
      const redirects = async (): Promise<unknown> =>
        at(
          await ingressOf('several'),
          'metadata.annotations["nginx.ingress.kubernetes.io/ssl-redirect"]',
        );
      before(async () => {
        for (const crd of CERT_MANAGER.crds.slice(1)) await installCrd(cluster, crd);
        await cluster.apply(namespace, aSite('several', spec));
      });

      test('reports that its issuer is missing', async () => {
        const missing = `spec.ingress.tls.certManagerIssuer: there is neither an Issuer "corp" in namespace ${namespace} nor a ClusterIssuer of this name`;
        await awaitCertificate('several', ['False', 'IssuerMissing', missing], url);
      });

      test('is requested from a new ClusterIssuer', async () => {
        await cluster.apply('', issuer('ClusterIssuer'));
        const omitted = 'its operator has not observed it yet';
        await awaitCertificate('several', ['False', 'Issuing', omitted], url);
        await issuerKind('ClusterIssuer');
      });

      test('is requested from an Issuer of the namespace in preference', async () => {
        await cluster.apply(namespace, issuer('Issuer'));
        await issuerKind('Issuer');
        const line = new CommandLine(cluster.controlPlane.kubeconfig);
        const args = ['diff', '-n', namespace, '-f', '-', '--field-manager', 'user'];
        const result = await line.run(args, toYaml([aSite('several', spec)]));
        assert.deepEqual(result, { code: 0, out: '', err: '' });
      });

      test('routes all domains to the site, by HTTP until the certificate is issued', async () => {
        const { spec } = await ingressOf('several');
        assert.deepEqual(at(spec, 'tls'), [{ hosts, secretName: 'several-tls' }]);
        const rules = at(spec, 'rules') as readonly { readonly host: string }[];
        assert.deepEqual(
          rules.map(({ host }) => host),
          hosts,
        );
        assert.equal(await redirects(), 'false');
        await cluster.until('the bench knows them', async () => {
          const { data } = await cluster.the('ConfigMap', namespace, 'b-nginx');
          const lines = Object.values(data ?? {}).join('\n');
          return hosts.every((host) => lines.includes(` ${host} several.example.com;`));
        });
      });

      test('reports the message of a failed issuance', async () => {
        const why =
          'The certificate request has failed to complete and will be retried: order is invalid';
        const lastTransitionTime = '2026-01-01T00:00:00Z';
        const conditions = [
          {
            type: 'Ready',
            status: 'False',
            reason: 'DoesNotExist',
            message: WHY,
            lastTransitionTime,
          },
          { type: 'Issuing', status: 'False', reason: 'Failed', message: why, lastTransitionTime },
        ];
        const status = { conditions };
        await cluster.patchStatus('Certificate', namespace, 'several-tls', { status });
        await awaitCertificate('several', ['False', 'Issuing', why], url);
      });

      test('redirects HTTP to HTTPS when it is issued, and keeps the user’s annotations', async () => {
        await cluster.apply(namespace, aTlsSecret('several-tls'));
        await cluster.until('HTTP is redirected', async () => (await redirects()) === 'true');
        const { metadata } = await ingressOf('several');
        assert.equal(metadata.annotations?.['ingress.kubernetes.io/ssl-redirect'], 'mine');
        // The Secret alone is no certificate of cert-manager's.
        const site = await cluster.the('AppSite', namespace, 'several');
        assert.equal(at(site, 'status.siteURL'), url);
      });

      test('is requested from the ClusterIssuer again when the Issuer is deleted', async () => {
        await cluster.delete('Issuer', namespace, 'corp');
        await issuerKind('ClusterIssuer');
      });

      test('leaves out an alias of a second site that is one of the domains', async () => {
        const ingress = { enabled: true, className: 'nginx' };
        const conflicting = {
          bench: 'b',
          workloads: 'Shared',
          aliases: ['shop.several.org'],
          ingress,
        };
        await cluster.apply(namespace, aSite('conflicting', conflicting));
        await cluster.becomes('AppSite', namespace, 'conflicting', {
          what: 'is Ready, and names the alias',
          check: (live) =>
            conditionOf(live, 'Ready')?.status === 'True' &&
            conditionOf(live, 'FieldsIgnored')?.message.startsWith(
              'spec.aliases[0]: has no effect: Invalid value: "shop.several.org"',
            ) === true,
        });
        await cluster.delete('AppSite', namespace, 'conflicting');
        await cluster.deleted('AppSite', namespace, 'conflicting');
      });
    });

    test('that another owner made stays as it is, and the site reports it', async () => {
      const spec = {
        secretName: 'elsewhere',
        dnsNames: ['taken.org'],
        issuerRef: { name: 'theirs' },
      };
      const metadata = { name: 'taken-tls' };
      const theirs = { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata, spec };
      await cluster.apply(namespace, theirs);
      const tls = { enabled: true, certManagerIssuer: 'corp' };
      const ingress = { enabled: true, className: 'nginx', tls };
      await cluster.apply(namespace, aSite('taken', { bench: 'b', workloads: 'Shared', ingress }));
      await cluster.becomes('AppSite', namespace, 'taken', {
        what: 'reports NameTaken',
        check: (live) => {
          const ready = conditionOf(live, 'Ready');
          return (
            ready?.reason === 'NameTaken' &&
            ready.message.includes('Certificate taken-tls exists and was not made by the operator')
          );
        },
      });
      const found = await cluster.the('Certificate', namespace, 'taken-tls');
      assert.deepEqual(at(found.spec, 'dnsNames'), ['taken.org']);
    });

    test('is deleted with its Ingress, and its Secret stays', async () => {
      const spec = { ingress: { enabled: false } };
      await cluster.patch('AppSite', namespace, 'issued', { spec });
      await cluster.deleted('Certificate', namespace, 'issued-tls');
      await cluster.deleted('Ingress', namespace, 'issued-ingress');
      assert.ok(await cluster.get('Secret', namespace, 'issued-tls'));
      const site = await cluster.ready('AppSite', namespace, 'issued');
      assert.equal(conditionOf(site, 'CertificateReady'), undefined);
    });

    test('is reported as missing when its kind is deleted', async () => {
      const spec = { ingress: { enabled: true } };
      await cluster.patch('AppSite', namespace, 'issued', { spec });
      await cluster.until('it is asked for', () =>
        cluster.get('Certificate', namespace, 'issued-tls'),
      );
      const [crd] = CERT_MANAGER.crds;
      await cluster.delete('CustomResourceDefinition', '', crd?.metadata.name ?? '');
      await cluster.becomes('AppSite', namespace, 'issued', {
        what: 'misses cert-manager',
        check: (live) => conditionOf(live, 'CertificateReady')?.reason === 'CertManagerMissing',
      });
      await cluster.ready('AppSite', namespace, 'issued');
    });
  });
});
