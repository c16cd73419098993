import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { hashOf } from '../../constructs/kit/json/hash.js';
import type { AppSite, RestoredBackup, SiteRestore } from '../../constructs/api/site.js';
import { restoreEnv, resolveRestore, restoreRun } from '../../constructs/kinds/site/restore.js';
import { aSecret, aSite, aReader } from '../golden/builders.js';

const BACKUP = {
  apiVersion: 'app-operator.io/v1alpha1',
  kind: 'SiteBackup',
  metadata: { name: 'nightly', namespace: 'default' },
  spec: { siteRef: { name: 'other' }, destination: { pvc: { claimName: 'backups' } } },
} as Resource;
const S3: SiteRestore = {
  source: {
    s3: {
      endpoint: 'https://s3',
      region: 'r',
      bucket: 'bucket',
      secretRef: { name: 'login' },
      forcePathStyle: true,
    },
  },
};
const REF: SiteRestore = { backupRef: { name: 'nightly' } };
const NAME = 'demo.example.com';

const restoring = (restoreFrom: SiteRestore, status: AppSite['status'] = {}): AppSite => ({
  ...aSite({ restoreFrom }),
  status,
});
const inputsOf = (site: AppSite, ...objects: readonly KubeObject[]) => {
  const inputs = resolveRestore(site, aReader(objects));
  assert.ok(inputs);
  return inputs;
};
const done = (...requests: readonly string[]): AppSite['status'] => ({
  appliedHash: 'h',
  restored: { requests } as unknown as RestoredBackup,
});
const idOf = (restoreFrom: SiteRestore): string => inputsOf(restoring(restoreFrom)).id;

suite('the restore that restoreFrom requests', () => {
  test('is nothing without it', () => {
    assert.equal(resolveRestore(aSite(), aReader([])), undefined);
    assert.deepEqual([restoreEnv(aSite(), undefined), restoreRun(undefined)], [[], []]);
  });

  test('is another request with another place, name, or text after the confirmation', () => {
    const name = '20250131T120000Z';
    const ids = [
      REF,
      S3,
      { ...REF, name },
      { ...S3, name },
      { backupRef: { name: 'weekly' } },
      { ...REF, confirm: `${NAME} again` },
      { ...REF, confirm: `${NAME} and again` },
    ].map(idOf);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('is the same with and without the plain confirmation, and with a wrong one', () => {
    for (const confirm of [NAME, `${NAME} `, 'other.example.com', `${NAME}.org`]) {
      assert.equal(idOf({ ...REF, confirm }), idOf(REF), confirm);
    }
  });

  test('is the same with any status of the SiteBackup, and without it', () => {
    const [absent, found] = [inputsOf(restoring(REF)), inputsOf(restoring(REF), BACKUP)];
    assert.equal(absent.id, found.id);
    assert.equal(absent.problem?.reason, 'BackupMissing');
    assert.notDeepEqual(restoreRun(absent), restoreRun(found), 'the Job runs when it comes');
  });

  test('is confirmed by the name of the site, and by nothing like it', () => {
    const confirmed = (confirm: string) => inputsOf(restoring({ ...REF, confirm })).confirmed;
    assert.deepEqual([NAME, `${NAME} on Monday`].map(confirmed), [true, true]);
    const wrong = ['demo', `${NAME}x`, `${NAME}.`, `${NAME},`, `www.${NAME}`, 'true'];
    assert.deepEqual(wrong.map(confirmed), wrong.map(() => false)); // prettier-ignore
  });
});

suite('the store of a backup', () => {
  test('is the one of the SiteBackup, for its site; or the one that is given, for this site', () => {
    assert.equal(inputsOf(restoring(REF), BACKUP).store?.location, 'pvc://backups/default/other');
    assert.equal(
      inputsOf(restoring(S3), aSecret('login')).store?.location,
      's3://bucket/default/demo-site',
    );
  });

  test('is not touched without its Secrets', () => {
    const { store, problem } = inputsOf(restoring(S3));
    assert.equal(store, undefined);
    assert.match(problem?.message ?? '', /^spec\.restoreFrom\.source\.s3\.secretRef\.name: /);
  });

  test('is not mounted after it was used, and that runs no Job', () => {
    const before = inputsOf(restoring(REF), BACKUP);
    const after = inputsOf(restoring(REF, done('x', before.id, 'y')), BACKUP);
    assert.equal(after.store, undefined);
    assert.deepEqual(restoreRun(after), restoreRun(before));
    const ended = inputsOf(restoring(REF, done(before.id)));
    assert.deepEqual(restoreRun(ended), restoreRun(before), 'nor does the end of the SiteBackup');
  });

  test('is not mounted for a site that exists, without a confirmation', () => {
    const exists = { appliedHash: 'h' };
    assert.equal(inputsOf(restoring(REF, exists), BACKUP).store, undefined);
    const confirmed = { ...REF, confirm: NAME };
    assert.ok(inputsOf(restoring(confirmed, exists), BACKUP).store);
  });
});

suite('an archive', () => {
  const link = (name: string) => ({ secretKeyRef: { name, key: 'k' } });
  const LINKS: SiteRestore = {
    archive: {
      https: { database: link('links'), authorizationSecretRef: { name: 'login', key: 'k' } },
      encryptionKeySecretRef: { name: 'backup-key', key: 'k' },
    },
  };
  const volume = (prefix?: string): SiteRestore => ({
    archive: { pvc: { claimName: 'uploads', ...(prefix === undefined ? {} : { prefix }) } },
  });
  const valuesOf = (restoreFrom: SiteRestore, ...objects: readonly KubeObject[]) => {
    const site = restoring(restoreFrom);
    const env = restoreEnv(site, inputsOf(site, ...objects));
    return Object.fromEntries(env.map(({ name, value }) => [name, value]));
  };

  test('is another request than each other place, and leaves the requests of these as they were', () => {
    const ids = [REF, S3, volume(), volume('a'), LINKS].map(idOf);
    assert.equal(new Set(ids).size, ids.length);
    // As releases before the field have recorded it.
    assert.equal(idOf(REF), hashOf(['nightly', null, null, '']));
  });

  test('is read at the top of a volume, or in a folder, and nothing is written', () => {
    const { store } = inputsOf(restoring(volume()));
    assert.deepEqual(
      store?.mounts.map(({ readOnly }) => readOnly),
      [true],
    );
    assert.equal(valuesOf(volume())['STORE_PREFIX'], '/');
    assert.equal(valuesOf(volume())['STORE_ACCESS'], 'Read');
    assert.equal(valuesOf(volume('old'))['STORE_PREFIX'], 'old');
  });

  test('waits for each of its Secrets, by the field that names it', () => {
    const secrets: KubeObject[] = [];
    for (const [name, path] of [
      ['backup-key', 'encryptionKeySecretRef'],
      ['login', 'https.authorizationSecretRef'],
      ['links', 'https.database.secretKeyRef'],
    ] as const) {
      const { problem } = inputsOf(restoring(LINKS), ...secrets);
      assert.equal(problem?.reason, 'SecretMissing');
      assert.match(problem.message, new RegExp(`^spec\\.restoreFrom\\.archive\\.${path}\\.name: `));
      secrets.push(aSecret(name));
    }
    const values = valuesOf(LINKS, ...secrets);
    assert.equal(values['RESTORE_ARCHIVE'], 'URLs');
    assert.equal(values['RESTORE_URL_DATABASE'], undefined, 'no value of a Secret is in the spec');
  });

  test('is not read by a site that exists', () => {
    assert.equal(inputsOf(restoring(volume(), { appliedHash: 'h' })).store, undefined);
  });
});
