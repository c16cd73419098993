/**
 * Database servers whose certificate is of another host, and that require one of their clients; and a
 * PostgreSQL of the operator with a certificate. What is encrypted is read from the servers.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { issue, newAuthority } from '../../testbed/controlplane/certificate.js';
import { databaseName } from '../../constructs/kit/names.js';
import { aSecret } from '../cluster/support/builders.js';
import { at, conditionOf, type Manifest } from '../cluster/support/objects.js';
import { type E2e, e2e, skip } from './harness.js';
import { cleanUp, runningPod, smallBench } from './support/benches.js';
import { newPassword, secretValue, SiteUser } from './support/bench.js';
import { logIn, type ServerPod, sql } from './support/database-client.js';
import { outsideServer } from './support/outside-server.js';
import { podLog } from './support/pod-log.js';
import {
  certificateSecret,
  hostOf,
  type Provider,
  PROVIDERS,
  READY_MS,
  serverOf,
  siteOn,
  statusSays,
} from './support/tls-servers.js';

/** How each server refuses a login without a client certificate. */
const REFUSALS = { mariadb: /Access denied/, postgres: /client certificate/ } as const;

suite('certificates of databases', { skip }, () => {
  const ca = newAuthority('database CA');
  let cluster: E2e;
  let namespace: string;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    await cluster.apply(
      namespace,
      ...PROVIDERS.flatMap((provider) =>
        outsideServer(serverOf(provider), newPassword(), {
          provider,
          certificate: issue(ca, { commonName: 'database', hosts: ['elsewhere.example.com'] }),
          clientCa: ca.certificatePem,
        }),
      ),
      aSecret('database-ca', { 'ca.crt': ca.certificatePem }),
      certificateSecret('client', ca, ['client.example.com']),
      certificateSecret('server', ca, [`own-db.${namespace}.svc.cluster.local`]),
      smallBench('own', {
        dbConfig: {
          provider: 'postgres',
          tls: { serverCertificateSecretRef: { name: 'server' } },
        },
      }),
    );
    await Promise.all(PROVIDERS.map((provider) => runs(provider)));
    await requireCertificate('root');
  });

  after(() => cleanUp(cluster, namespace));

  suite('side by side', { concurrency: true }, () => {
    for (const provider of PROVIDERS) {
      test(`${provider}: refused without a client certificate and under another host name; VerifyCA and Require serve`, async () => {
        await cluster.apply(namespace, benchOn(provider, { mode: 'VerifyCA' }), siteOn(provider));
        await complains(provider, REFUSALS[provider]);

        const clientCertificateSecretRef = { name: 'client' };
        await cluster.apply(namespace, benchOn(provider, { clientCertificateSecretRef }));
        await complains(provider, /DatabaseTlsFailed: .*(host ?name|elsewhere)/i);

        await cluster.apply(
          namespace,
          benchOn(provider, { mode: 'VerifyCA', clientCertificateSecretRef }),
        );
        await serves(provider, 'VerifyCA');
        if (provider === 'mariadb') {
          await requireCertificate(databaseName(namespace, `${provider}-site`));
          await serves(provider, 'VerifyCA');
        }

        await cluster.apply(
          namespace,
          benchOn(provider, { mode: 'Require', clientCertificateSecretRef }),
        );
        await serves(provider, 'Require');
      });
    }

    test('a managed PostgreSQL has its certificate, and the bench uses no other connection', async () => {
      await cluster.ready('AppBench', namespace, 'own', READY_MS);
      const logged = 'ALTER SYSTEM SET log_connections = on; SELECT pg_reload_conf()';
      await sql(cluster, { namespace, pod: 'own-db-0', provider: 'postgres' }, logged);
      await cluster.apply(namespace, siteOn('own'));
      await serves('own', 'VerifyFull');
      const { encrypted, clear } = await loginsOf('own-db-0');
      assert.deepEqual(clear, []);
      const user = databaseName(namespace, 'own-site');
      for (const name of ['postgres', user]) {
        assert.ok(
          encrypted.some((line) => line.includes(`user=${name} `)),
          `${name} has logged in`,
        );
      }
      const pod = await runningPod(cluster, namespace, 'own-gunicorn');
      const password = await secretValue(cluster, namespace, 'own-db-root', 'password');
      const server = { provider: 'postgres', host: 'own-db', password } as const;
      await logIn(cluster, namespace, pod, { ...server, encrypted: false });
      await cluster.until('the log to have a login in clear text', async () => {
        return (await loginsOf('own-db-0')).clear.length === 1;
      });
    });
  });

  function benchOn(provider: Provider, tls: Readonly<Record<string, unknown>>): Manifest {
    return smallBench(provider, {
      dbConfig: {
        mode: 'external',
        provider,
        host: hostOf(provider, namespace),
        rootSecretRef: { name: `${serverOf(provider)}-root` },
        tls: {
          ...(tls['mode'] === 'Require' ? {} : { caSecretRef: { name: 'database-ca' } }),
          ...tls,
        },
      },
    });
  }

  function runs(provider: Provider): Promise<unknown> {
    return cluster.until(
      `${serverOf(provider)} to run`,
      async () => {
        const { status = {} } = await cluster.the('StatefulSet', namespace, serverOf(provider));
        return status['readyReplicas'] === 1;
      },
      READY_MS,
    );
  }

  /** MariaDB requires a client certificate user by user; PostgreSQL by its configuration. */
  async function requireCertificate(user: string): Promise<void> {
    const server: ServerPod = { namespace, pod: 'outside-mariadb-0', provider: 'mariadb' };
    await sql(cluster, server, `ALTER USER '${user}'@'%' REQUIRE X509`);
  }

  /** Waits until the site of a bench is Ready with this mode, and uses its database. */
  async function serves(bench: string, mode: string): Promise<void> {
    const site = `${bench}-site`;
    await cluster.becomes('AppSite', namespace, site, {
      what: `is Ready with ${mode}`,
      check: (object) =>
        conditionOf(object, 'Ready')?.status === 'True' &&
        at(object, 'status.observedGeneration') === object.metadata.generation &&
        at(object, 'status.database.tls') === mode,
      timeoutMs: READY_MS,
    });
    const user = new SiteUser(cluster, { namespace, bench }, site);
    await user.answers();
    await user.remember(mode);
  }

  function complains(bench: string, words: RegExp): Promise<unknown> {
    return statusSays(cluster, 'AppSite', { namespace, name: `${bench}-site` }, words);
  }

  /** The logins of a PostgreSQL that came over the network. */
  async function loginsOf(
    pod: string,
  ): Promise<{ readonly encrypted: readonly string[]; readonly clear: readonly string[] }> {
    const lines = (await podLog(cluster, namespace, pod)).split('\n');
    const processOf = (line: string): string | undefined => /\[(\d+)\] LOG:/.exec(line)?.[1];
    const remote = new Set(
      lines
        .filter((line) => /connection received: host=(?!127\.0\.0\.1 )\d/.test(line))
        .map(processOf),
    );
    const logins = lines.filter(
      (line) => line.includes('connection authorized:') && remote.has(processOf(line)),
    );
    const isEncrypted = (line: string): boolean => line.includes('SSL enabled');
    return {
      encrypted: logins.filter(isEncrypted),
      clear: logins.filter((line) => !isEncrypted(line)),
    };
  }
});
