import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Health } from '../../constructs/kit/health.js';
import type { AppSite } from '../../constructs/api/site.js';
import type { SiteDatabasePlan } from '../../constructs/kinds/site/database.js';
import { databaseStatus, otherServer } from '../../constructs/kinds/site/database-status.js';
import { aSite } from '../golden/builders.js';

type Status = NonNullable<AppSite['status']>;

const NAME = 's_shop';
const OLD = { provider: 'mariadb', host: 'old', port: 3306, name: NAME } as const;
const NEW = { provider: 'mariadb', host: 'new', port: 3307, name: NAME } as const;
const { name: _, ...server } = NEW;
const PLAN: SiteDatabasePlan = {
  mode: 'shared',
  name: NAME,
  password: { secret: 'shop-db', key: 'password' },
  server,
};

suite('the database in the status', () => {
  const statusWith = (status: Status, init: Health['state'] | undefined) =>
    databaseStatus({
      resource: { ...aSite(), status },
      inputs: { data: { database: PLAN } },
      child: (kind, name) =>
        kind === 'Job' && name === 'demo-site-init' && init
          ? { health: { state: init, message: '' } }
          : undefined,
    });

  test('is the previous one, until the init Job has succeeded on a changed server', () => {
    const status = { appliedHash: 'x', database: OLD };
    for (const init of [undefined, 'InProgress', 'Failed'] as const) {
      assert.deepEqual(statusWith(status, init), OLD, init);
    }
    assert.deepEqual(statusWith(status, 'Ready'), NEW);
  });

  test('is the one of the bench for a site that was never Ready', () => {
    for (const init of [undefined, 'Failed', 'Ready'] as const) {
      assert.deepEqual(statusWith({}, init), NEW);
      assert.deepEqual(statusWith({ database: OLD }, init), NEW);
    }
  });

  test('gets the port that an earlier release did not record', () => {
    const { port: _port, ...recorded } = NEW;
    assert.deepEqual(statusWith({ appliedHash: 'x', database: recorded }, 'Ready'), NEW);
  });
});

suite('the server in the status of a deleted site', () => {
  const other = (database: Status['database'], ready: Status = { appliedHash: 'x' }) =>
    otherServer({ ...aSite(), status: { ...ready, ...(database ? { database } : {}) } }, PLAN);

  test('is another one if host or port differ', () => {
    assert.deepEqual(other(OLD), { host: 'old', port: 3306 });
    assert.deepEqual(other({ ...NEW, port: 3306 }), { host: 'new', port: 3306 });
    assert.equal(other(NEW), undefined);
  });

  test('is another one without a port, as an earlier release recorded it, if host or kind differ', () => {
    const { port: _port, ...recorded } = NEW;
    assert.equal(other(recorded), undefined);
    assert.deepEqual(other({ ...recorded, host: 'old' }), { host: 'old', port: 3307 });
    assert.deepEqual(other({ ...recorded, provider: 'postgres' }), { host: 'new', port: 5432 });
  });

  test('is not known of a site that was never Ready, or without a record', () => {
    assert.equal(other(OLD, {}), undefined);
    assert.equal(other(undefined), undefined);
  });
});
