import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { holdPods } from '../../testbed/controlplane/pods.js';
import {
  type Answer,
  DOCUMENT_PODS,
  DocumentScript,
  type WrittenDocument,
} from '../../testbed/stand-in/document-script.js';
import { type Cluster, startCluster } from '../cluster/harness.js';
import { aBench, aSecret, aSite, aUser } from '../cluster/support/builders.js';
import { at, conditionOf, type Live, type Manifest } from '../cluster/support/objects.js';

let cluster: Cluster;
let script: DocumentScript;
/** Its bench has the site `shop`, and one more for each test that disturbs others. */
let namespace: string;
before(async () => {
  cluster = await startCluster({ audit: true });
  await holdPods(cluster.controlPlane, DOCUMENT_PODS);
  script = new DocumentScript(cluster.controlPlane.api, answer);
  await cluster.operator([], { timeFactor: 5 });
  namespace = await cluster.namespace();
  const names = ['shop', 'many', 'closing', 'refusing'];
  await cluster.apply(namespace, aBench('bench'), ...names.map(sharedSite));
  for (const name of names) await cluster.ready('AppSite', namespace, name);
});
after(async () => {
  await script.stop();
  await cluster.stop();
});

const sharedSite = (name: string): Manifest => aSite(name, { bench: 'bench', workloads: 'Shared' });

const known = new Set<string>();

/** As the real script does: a new document is created, a role that does not exist is refused. */
function answer({ name, state, tables }: WrittenDocument): Answer {
  if (tables['roles']?.some(({ role }) => role === 'No Such Role')) {
    return ['Failed', 'LinkValidationError: Could not find Row #1: Role: No Such Role'];
  }
  if (state === 'absent') return [known.delete(name) ? 'Deleted' : 'Absent'];
  if (state === 'disabled') return [known.has(name) ? 'Disabled' : 'Absent'];
  if (known.has(name)) return ['Changed'];
  known.add(name);
  return ['Created'];
}

const writtenAs = (name: string): readonly WrittenDocument[] =>
  script.written.filter((document) => document.name === `${name}@example.com`);

const reasonOf = (live: Live): string | undefined => conditionOf(live, 'Ready')?.reason;

describe('users of a site', { concurrency: true }, () => {
  test('a user is written once, and its status records it', async () => {
    await cluster.apply(namespace, aUser('ann', { roles: ['Blogger', 'Accounts User'] }));
    const user = await cluster.ready('SiteUser', namespace, 'ann');
    assert.equal(at(user, 'status.document'), 'ann@example.com');
    assert.equal(at(user, 'status.outcome'), 'Created');
    assert.equal(reasonOf(user), 'Synced');
    const [written, ...more] = writtenAs('ann');
    assert.equal(more.length, 0);
    assert.equal(written?.doctype, 'User');
    assert.deepEqual(written.tables['roles'], [{ role: 'Accounts User' }, { role: 'Blogger' }]);
    assert.equal(written.fields['first_name'], 'ann');
    assert.equal(written.fields['send_welcome_email'], false);
  });

  test('a changed field is one more Job, and an unchanged one none', async () => {
    await cluster.apply(namespace, aUser('bob'));
    await cluster.ready('SiteUser', namespace, 'bob');
    await cluster.apply(namespace, aUser('bob'));
    await cluster.apply(namespace, aUser('bob', { lastName: 'Builder' }));
    const user = await cluster.ready('SiteUser', namespace, 'bob');
    assert.equal(at(user, 'status.outcome'), 'Changed');
    assert.equal(writtenAs('bob').length, 2);
    assert.equal(writtenAs('bob')[1]?.fields['last_name'], 'Builder');
  });

  test('many at once are few Jobs, and one bad document fails alone', async () => {
    const names = Array.from({ length: 120 }, (_, index) => `many-${String(index)}`);
    const before = script.batches.length;
    await Promise.all(
      names.map((name, index) =>
        cluster.apply(
          namespace,
          aUser(name, {
            siteRef: { name: 'many' },
            ...(index === 60 ? { roles: ['No Such Role'] } : {}),
          }),
        ),
      ),
    );
    const ofMany = async (): Promise<readonly Live[]> =>
      (await cluster.list('SiteUser', namespace)).filter(
        (user) => at(user, 'spec.siteRef.name') === 'many',
      );
    await cluster.until('all to have a status', async () => {
      const users = await ofMany();
      return users.every((user) => ['Ready', 'Failed'].includes(String(at(user, 'status.phase'))));
    });
    const users = await ofMany();
    assert.equal(users.length, names.length);
    const failed = users.filter((user) => at(user, 'status.phase') === 'Failed');
    const reported = failed.map((user) => {
      const { reason, message } = conditionOf(user, 'Ready') ?? {};
      return [user.metadata.name, reason, message];
    });
    const message = 'LinkValidationError: Could not find Row #1: Role: No Such Role';
    assert.deepEqual(reported, [['many-60', 'DocumentFailed', message]]);
    const batches = script.batches
      .slice(before)
      .filter((batch) => batch.some(({ name }) => name.startsWith('many-')));
    assert.ok(batches.length <= 6, `${String(batches.length)} Jobs for 120 users`);
    for (const name of names) {
      assert.equal(writtenAs(name).length, 1, name);
    }
  });

  test('waits for its site, and is written as soon as the site is Ready', async () => {
    await cluster.apply(namespace, aUser('cid', { siteRef: { name: 'late' } }));
    const missing = (live: Live): boolean => reasonOf(live) === 'SiteMissing';
    const user = await cluster.becomes('SiteUser', namespace, 'cid', {
      what: 'waits',
      check: missing,
    });
    assert.equal(at(user, 'status.phase'), 'Pending');
    assert.equal(
      conditionOf(user, 'Ready')?.message,
      `spec.siteRef.name: there is no AppSite "late" in namespace ${namespace}`,
    );
    await cluster.apply(namespace, sharedSite('late'));
    await cluster.ready('SiteUser', namespace, 'cid');
  });

  test('its password comes from a Secret, and is set again when that changes', async () => {
    await cluster.apply(namespace, aUser('dan', { passwordSecretRef: { name: 'dan-password' } }));
    const waits = (live: Live): boolean => reasonOf(live) === 'SecretMissing';
    await cluster.becomes('SiteUser', namespace, 'dan', {
      what: 'waits for its Secret',
      check: waits,
    });
    await cluster.apply(namespace, aSecret('dan-password', { password: 'correct horse' }));
    await cluster.ready('SiteUser', namespace, 'dan');
    const wrote = (at: number): unknown => {
      const { secrets, secretsWhenNew } = writtenAs('dan')[at] ?? {};
      return { secrets, secretsWhenNew };
    };
    const set = { secrets: ['password'], secretsWhenNew: undefined };
    assert.deepEqual(wrote(0), set);
    await cluster.apply(
      namespace,
      aUser('dan', { passwordSecretRef: { name: 'dan-password' }, lastName: 'D' }),
    );
    await cluster.until('a second run', () => Promise.resolve(writtenAs('dan').length === 2));
    const kept = { secrets: ['password'], secretsWhenNew: ['password'] };
    assert.deepEqual(wrote(1), kept, 'a password that was set is not set again');
    await cluster.apply(
      namespace,
      aSecret('dan-password', { password: 'battery staple', dan: 'paper clip' }),
    );
    await cluster.until('a third run', () => Promise.resolve(writtenAs('dan').length === 3));
    assert.deepEqual(wrote(2), set);
    await cluster.ready('SiteUser', namespace, 'dan');
    await cluster.apply(
      namespace,
      aUser('dan', { passwordSecretRef: { name: 'dan-password', key: 'dan' }, lastName: 'D' }),
    );
    await cluster.until('a fourth run', () => Promise.resolve(writtenAs('dan').length === 4));
    assert.deepEqual(wrote(3), set, 'another key is another password');
    const seen = JSON.stringify(script.written);
    assert.ok(!/correct horse|battery staple|paper clip/.test(seen));
  });

  test('its API key is made once, in its Secret', async () => {
    await cluster.apply(namespace, aUser('eve', { apiKeySecretRef: { name: 'eve-api' } }));
    const user = await cluster.ready('SiteUser', namespace, 'eve');
    assert.equal(at(user, 'status.apiKeySecret'), 'eve-api');
    assert.deepEqual(writtenAs('eve')[0]?.secrets, ['api_key', 'api_secret']);
    const { data: before } = await cluster.the('Secret', namespace, 'eve-api');
    await cluster.apply(
      namespace,
      aUser('eve', { apiKeySecretRef: { name: 'eve-api' }, lastName: 'E' }),
    );
    await cluster.until('a second run', () => Promise.resolve(writtenAs('eve').length === 2));
    const { data: after } = await cluster.the('Secret', namespace, 'eve-api');
    assert.deepEqual(after, before);
    assert.deepEqual(Object.keys(after ?? {}).sort(), ['api-key', 'api-secret']);
  });

  test('is deleted after its document is disabled, also while others are written', async () => {
    await cluster.apply(namespace, aUser('fay'), aUser('gus', { deletionPolicy: 'Retain' }));
    await cluster.ready('SiteUser', namespace, 'fay');
    await cluster.ready('SiteUser', namespace, 'gus');
    await cluster.delete('SiteUser', namespace, 'fay');
    await cluster.deleted('SiteUser', namespace, 'fay');
    await cluster.delete('SiteUser', namespace, 'gus');
    await cluster.deleted('SiteUser', namespace, 'gus');
    assert.deepEqual(
      writtenAs('fay').map(({ state }) => state),
      ['present', 'disabled'],
    );
    assert.deepEqual(
      writtenAs('gus').map(({ state }) => state),
      ['present'],
    );
  });

  test('the deletion of a site does not block its users', async () => {
    await cluster.apply(namespace, aUser('hal', { siteRef: { name: 'closing' } }));
    await cluster.ready('SiteUser', namespace, 'hal');
    await cluster.delete('AppSite', namespace, 'closing');
    await cluster.delete('SiteUser', namespace, 'hal');
    await cluster.deleted('SiteUser', namespace, 'hal');
    await cluster.deleted('AppSite', namespace, 'closing');
  });

  test('a second resource with the same address is refused, and its deletion leaves the user alone', async () => {
    await cluster.apply(namespace, aUser('ida'));
    await cluster.ready('SiteUser', namespace, 'ida');
    await cluster.apply(namespace, aUser('ida-2', { email: 'ida@example.com' }));
    const refused = (live: Live): boolean => reasonOf(live) === 'DocumentTaken';
    const user = await cluster.becomes('SiteUser', namespace, 'ida-2', {
      what: 'is refused',
      check: refused,
    });
    assert.equal(
      conditionOf(user, 'Stalled')?.message,
      'spec.email: Invalid value: "ida@example.com": SiteUser ida already manages this document of site shop',
    );
    await cluster.delete('SiteUser', namespace, 'ida-2');
    await cluster.deleted('SiteUser', namespace, 'ida-2');
    assert.equal(writtenAs('ida').length, 1);
  });

  test('the deletion of a resource whose user was never written leaves the user alone', async () => {
    await cluster.apply(
      namespace,
      aUser('joy', { siteRef: { name: 'refusing' }, roles: ['No Such Role'] }),
    );
    const failed = (live: Live): boolean => reasonOf(live) === 'DocumentFailed';
    await cluster.becomes('SiteUser', namespace, 'joy', { what: 'is refused', check: failed });
    await cluster.delete('SiteUser', namespace, 'joy');
    await cluster.deleted('SiteUser', namespace, 'joy');
    assert.deepEqual(
      writtenAs('joy').map(({ state }) => state),
      ['present'],
    );
  });
});
