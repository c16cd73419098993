/**
 * Benches on database servers that take encrypted connections only. The servers log every login: what
 * is encrypted is read there, not from the operator.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { type Authority, issue, newAuthority } from '../../testbed/controlplane/certificate.js';
import { aSecret } from '../cluster/support/builders.js';
import { at, conditionOf, type Manifest } from '../cluster/support/objects.js';
import { type E2e, e2e, skip } from './harness.js';
import { backUp, backupsClaim } from './support/backups.js';
import { cleanUp, runningPod, smallBench } from './support/benches.js';
import { newPassword, secretValue, SiteUser } from './support/bench.js';
import { logIn, REFUSED_IN_CLEAR_TEXT, type ServerPod } from './support/database-client.js';
import { LOGINS, outsideServer } from './support/outside-server.js';
import { podLog } from './support/pod-log.js';
import {
  COMPLAINT_MS,
  hostOf,
  type Provider,
  PROVIDERS,
  READY_MS,
  serverOf,
  siteOn,
  statusSays,
} from './support/tls-servers.js';

suite('databases that require TLS', { skip }, () => {
  const ca = newAuthority('database CA');
  const other = newAuthority('another CA');
  let cluster: E2e;
  let namespace: string;

  before(async () => {
    cluster = await e2e();
    namespace = await cluster.namespace();
    await cluster.apply(
      namespace,
      ...PROVIDERS.flatMap((provider) => [
        ...outsideServer(serverOf(provider), newPassword(), {
          provider,
          certificate: certificateFor(ca, hostOf(provider, namespace)),
        }),
        caSecret(provider, ca),
        smallBench(provider, {
          componentReplicas: { socketio: 0, workerDefault: 1 },
          dbConfig: {
            mode: 'external',
            provider,
            host: hostOf(provider, namespace),
            rootSecretRef: { name: `${serverOf(provider)}-root` },
            tls: { mode: 'VerifyFull', caSecretRef: { name: `${provider}-ca` } },
          },
        }),
        siteOn(provider),
      ]),
      backupsClaim('ReadWriteMany'),
    );
    await Promise.all(
      PROVIDERS.map((provider) =>
        cluster.ready('AppSite', namespace, `${provider}-site`, READY_MS),
      ),
    );
  });

  after(() => cleanUp(cluster, namespace));

  suite('side by side', { concurrency: true }, () => {
    for (const provider of PROVIDERS) {
      test(`${provider}: a site answers, stores, works and is backed up, encrypted only`, async () => {
        const user = userOf(`${provider}-site`, provider);
        await user.answers();
        await user.remember('a row');
        assert.equal(await user.enqueue('a job'), 200);
        await user.stored(['a row', 'a job']);
        const site = await cluster.the('AppSite', namespace, `${provider}-site`);
        assert.equal(at(site, 'status.database.tls'), 'VerifyFull');
        await backUp(cluster, namespace, {
          name: provider,
          site: `${provider}-site`,
          timeoutMs: COMPLAINT_MS,
        });
        await onlyEncrypted(provider);
      });
    }
  });

  suite('with a wrong CA', { concurrency: true }, () => {
    for (const provider of PROVIDERS) {
      test(`${provider}: sites and bench name it, a running one stays up, and the right one takes effect without a restart`, async () => {
        const [running, late] = [`${provider}-site`, `${provider}-late`];
        const before = await podsOf(provider);
        await cluster.apply(namespace, caSecret(provider, other), siteOn(provider, late));
        const words = new RegExp(
          `${hostOf(provider, namespace)}:\\d+: the server's certificate is not of the CA in tls.caSecretRef`,
        );
        await Promise.all([running, late].map((site) => names('AppSite', site, words)));
        await names('AppBench', provider, words);
        const bench = await cluster.the('AppBench', namespace, provider);
        assert.equal(conditionOf(bench, 'DatabaseReady')?.reason, 'DatabaseTlsFailed');
        assert.equal(conditionOf(bench, 'Ready')?.status, 'True');
        const held = await cluster.the('AppSite', namespace, late);
        assert.equal(held.status?.['phase'], 'Provisioning');
        assert.equal(await userOf(running, provider).ping(), 200);
        await onlyEncrypted(provider);
        await cluster.apply(namespace, caSecret(provider, ca));
        await Promise.all(
          [running, late].map((site) => cluster.ready('AppSite', namespace, site, READY_MS)),
        );
        await userOf(late, provider).answers();
        await cluster.until('the status to name no failure', async () => {
          const site = await cluster.the('AppSite', namespace, running);
          const bench = await cluster.the('AppBench', namespace, provider);
          return !JSON.stringify([site.status, bench.status]).includes('DatabaseTlsFailed');
        });
        assert.deepEqual(await podsOf(provider), before);
        await onlyEncrypted(provider);
      });
    }
  });

  test('a login in clear text would be in the logs of the servers', async () => {
    for (const provider of PROVIDERS) {
      const pod = await runningPod(cluster, namespace, `${provider}-gunicorn`);
      const root = `${serverOf(provider)}-root`;
      const password = await secretValue(cluster, namespace, root, 'password');
      const login = (encrypted: boolean): Promise<string> =>
        logIn(cluster, namespace, pod, {
          provider,
          host: hostOf(provider, namespace),
          password,
          encrypted,
        });
      assert.equal(await login(true), '1\n');
      await assert.rejects(login(false), REFUSED_IN_CLEAR_TEXT[provider]);
      await cluster.until('the log to have it', async () => {
        return (await loginsOf(provider)).clear.length > 0;
      });
    }
  });

  function userOf(site: string, bench: string): SiteUser {
    return new SiteUser(cluster, { namespace, bench }, site);
  }

  /** The pods that serve, by their uids; without those of Jobs. */
  async function podsOf(bench: string): Promise<readonly unknown[]> {
    const pods = await cluster.pods(namespace, `bench=${bench}`);
    return pods
      .filter(({ metadata }) => !metadata.labels?.['job-name'])
      .map(({ metadata }) => metadata.uid)
      .sort();
  }

  function names(kind: 'AppSite' | 'AppBench', name: string, words: RegExp): Promise<unknown> {
    return statusSays(cluster, kind, { namespace, name }, words);
  }

  async function onlyEncrypted(provider: Provider): Promise<void> {
    const { encrypted, clear } = await loginsOf(provider);
    assert.deepEqual(clear, []);
    assert.ok(encrypted.length > 0, 'there are encrypted logins');
  }

  /** The logins that a server has seen from the network, also refused ones. */
  async function loginsOf(
    provider: Provider,
  ): Promise<{ readonly encrypted: readonly string[]; readonly clear: readonly string[] }> {
    const server: ServerPod = { namespace, pod: `${serverOf(provider)}-0`, provider };
    const log =
      provider === 'mariadb'
        ? await cluster.exec(namespace, server.pod, ['cat', LOGINS])
        : await podLog(cluster, namespace, server.pod);
    const lines = log.split('\n');
    const having = (pattern: RegExp): readonly string[] =>
      lines.filter((line) => pattern.test(line));
    return provider === 'mariadb'
      ? { encrypted: having(/Connect.* using SSL\/TLS/), clear: having(/Connect.* using TCP\/IP/) }
      : { encrypted: having(/authorized:.* SSL enabled/), clear: having(/no encryption/) };
  }
});

function caSecret(provider: Provider, { certificatePem }: Authority): Manifest {
  return aSecret(`${provider}-ca`, { 'ca.crt': certificatePem });
}

function certificateFor(ca: Authority, host: string) {
  return issue(ca, { commonName: 'database', hosts: [host] });
}
