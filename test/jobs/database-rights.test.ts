/** Administrators with few rights, as of managed servers, on real MariaDB and PostgreSQL servers. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { startMariaDb } from './databases.js';
import { AT_ONCE, aSite, describeOnServers } from './site-fixture.js';
import { type Env, plainEnv, required, SCRIPTS } from './servers.js';

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

  if (servers.type === 'postgres') return;

  test('learns that the server is a MySQL before anything is created, with its version', async () => {
    const mysql = await startMariaDb(undefined, ['--version=8.0.36']);
    try {
      const site = aSite(servers.bench, mysql, AT_ONCE);
      const { terminationMessage } = await site.init();
      assert.match(
        terminationMessage,
        /^app-operator: DatabaseUnsupported: 127\.0\.0\.1:\d+ is no MariaDB, but MySQL 8\.0\.36; nothing was created/,
      );
      assert.ok(!site.exists());
    } finally {
      await mysql.stop('SIGKILL');
    }
  });

  for (const driver of ['pymysql', 'MySQLdb'])
    test(`may have a password beyond Latin-1, and loads one statement at a time, by ${driver}`, () => {
      const user = `of_${driver}`;
      servers.database.sql(`SET NAMES utf8mb4; CREATE USER ${user}@'%' IDENTIFIED BY 'pässwört-€'`);
      const hidden = driver === 'pymysql' ? 'sys.modules["MySQLdb"] = None' : '';
      const code = `
import sys
from types import SimpleNamespace
sys.path.append(${JSON.stringify(SCRIPTS)})
${hidden}
from mariadb_load import DumpLoader
from mariadb_server import MariaDB, mysql_driver
server = MariaDB(SimpleNamespace(db_host="127.0.0.1", db_port=${String(servers.database.port)}))
connection = server.open("${user}", "pässwört-€", None)
print(server.query(connection, "SELECT CURRENT_USER()"))
loader = DumpLoader(connection, mysql_driver(), "mysql")
loader.allow_single_statements()
try:
    loader.query("SELECT 1; SELECT 2")
except Exception as error:
    print(error)
`;
      const output = execFileSync(required('python3'), ['-c', code], { env: plainEnv({}) });
      assert.match(output.toString(), new RegExp(`${user}[^]*error in your SQL syntax`));
    });
});
