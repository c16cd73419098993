/** Administrators with few rights, as of managed servers, on real MariaDB and PostgreSQL servers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aSite, describeOnServers } from './site-fixture.js';
import type { Env } from './servers.js';

/** The rights of Amazon RDS' master user: no SUPER, and no rights that the service keeps. */
const RDS =
  'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, PROCESS, REFERENCES, INDEX, ALTER, SHOW DATABASES, ' +
  'CREATE TEMPORARY TABLES, LOCK TABLES, EXECUTE, REPLICATION SLAVE, REPLICATION CLIENT, CREATE VIEW, SHOW VIEW, ' +
  'CREATE ROUTINE, ALTER ROUTINE, CREATE USER, EVENT, TRIGGER';

describeOnServers('an administrator with few rights', (servers) => {
  const login = (name: string): Env => ({ DB_ROOT_USER: name, DB_ROOT_PASSWORD: 'pw' });
  const create = (name: string, ...rights: readonly string[]): Env => {
    const statements =
      servers.type === 'mariadb'
        ? [
            `CREATE USER ${name}@'%' IDENTIFIED BY 'pw'`,
            ...rights.map((right) => right.replace(' TO ', ` TO ${name}@'%' `)),
          ]
        : [`CREATE ROLE ${name} LOGIN PASSWORD 'pw' ${rights.join(' ')}`];
    for (const statement of statements) servers.database.sql(statement);
    return login(name);
  };
  const lives = async (env: Env): Promise<void> => {
    const site = aSite(servers.bench, servers.database, env);
    const created = await site.init();
    assert.equal(created.code, 0, created.output);
    const dropped = await site.drop();
    assert.match(dropped.lastLine, /"databaseDropped": true/, dropped.output);
  };
  const lacks = async (env: Env): Promise<string> => {
    const site = aSite(servers.bench, servers.database, { ...env, WAIT_SECONDS: '0' });
    const { terminationMessage } = await site.init();
    assert.ok(!site.exists(), 'nothing was created');
    return terminationMessage.trim().replace(/ of 127.0.0.1:\d+/, '');
  };

  test('of a managed server creates and drops a site', async () => {
    await lives(
      servers.type === 'mariadb'
        ? create('rds', `GRANT ${RDS} ON *.* TO WITH GRANT OPTION`)
        : create('rds', 'CREATEROLE', 'CREATEDB', 'NOSUPERUSER'),
    );
  });

  test('on some databases only creates and drops a site there', async (context) => {
    if (servers.type !== 'mariadb') {
      context.skip('NOT TESTED: PostgreSQL has no such rights');
      return;
    }
    await lives(
      create('some', 'GRANT CREATE USER ON *.* TO ', 'GRANT ALL ON `s%`.* TO WITH GRANT OPTION'),
    );
  });

  test('that lacks one is named, with the right, before anything is created', async () => {
    if (servers.type === 'postgres') {
      assert.equal(
        await lacks(create('poor')),
        'app-operator: DatabaseRightsMissing: poor lacks: CREATEROLE, CREATEDB; nothing was created',
      );
      assert.match(await lacks(create('half', 'CREATEROLE')), /half lacks: CREATEDB; nothing/);
      return;
    }
    assert.match(
      await lacks(create('poor', 'GRANT SELECT ON *.* TO ')),
      /^app-operator: DatabaseRightsMissing: poor lacks: CREATE, CREATE USER, GRANT OPTION for SELECT, INSERT, .*LOCK TABLES; nothing was created$/,
    );
    assert.match(
      await lacks(
        create(
          'others',
          'GRANT CREATE USER ON *.* TO ',
          'GRANT ALL ON `x%`.* TO WITH GRANT OPTION',
        ),
      ),
      /others lacks: CREATE, GRANT OPTION for /,
    );
    assert.match(
      await lacks(create('stingy', 'GRANT ALL ON *.* TO ')),
      /stingy lacks: GRANT OPTION for SELECT, /,
    );
  });
});
