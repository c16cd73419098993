import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';

import { databaseName } from '../../constructs/kit/names.js';
import type { Resource } from '../../constructs/kit/object.js';
import { outcomesOf } from '../golden/outcome.js';
import { readScenario } from '../golden/scenario.js';
import { type Database, startMariaDb } from './databases.js';
import { needs, plainEnv } from './servers.js';

const PASSWORD = 'of-the-site';

/** The MariaDB operator's statements for a site's objects: names in backticks, unescaped. */
describe(
  'the Grant of a site on a real server',
  needs('mariadbd', 'mariadb', 'mariadb-install-db'),
  () => {
    const [outcome] = outcomesOf(readScenario('site-database-operator'));
    const specOf = (kind: string): Readonly<Record<string, string>> => {
      const objects = outcome?.stages.flatMap((stage) => stage.objects) ?? [];
      const found = objects.find((object) => object.kind === kind);
      assert.ok(found, kind);
      return (found as Resource<Readonly<Record<string, string>>>).spec;
    };
    const database = specOf('Database')['name'] ?? '';
    const grant = specOf('Grant');
    const account = `'${grant['username'] ?? ''}'@'${grant['host'] ?? ''}'`;
    const on = `\`${grant['database'] ?? ''}\`.${grant['table'] ?? ''}`;
    // In a grant an underscore matches any character, so only the digest separates the names.
    const neighbour = databaseName('default', 'demoxsite');
    let server: Database;
    before(async () => {
      server = await startMariaDb();
      for (const name of [database, neighbour]) {
        server.sql(`CREATE DATABASE \`${name}\``);
        server.sql('CREATE TABLE t (id INT)', name);
      }
      server.sql(`CREATE USER ${account} IDENTIFIED BY '${PASSWORD}'`);
    });
    after(() => server.stop());

    const asSite = (name: string): string =>
      execFileSync(
        'mariadb',
        [
          '--no-defaults',
          '-h127.0.0.1',
          `-P${server.port}`,
          `-u${grant['username'] ?? ''}`,
          '-NBe',
          'SELECT COUNT(*) FROM t',
          name,
        ],
        { env: plainEnv({ MYSQL_PWD: PASSWORD }), stdio: ['ignore', 'pipe', 'pipe'] },
      )
        .toString()
        .trim();

    test('reaches its own database', () => {
      server.sql(`GRANT ALL PRIVILEGES ON ${on} TO ${account}`);
      assert.equal(asSite(database), '0');
    });

    test('reaches no database whose name matches it', () => {
      assert.match(neighbour, new RegExp(database.replaceAll('_', '.').slice(0, -10)));
      assert.notEqual(neighbour.slice(-10), database.slice(-10));
      assert.throws(() => asSite(neighbour), /Access denied/);
    });

    test('has the unescaped name of the database: that field is immutable', () => {
      assert.equal(grant['database'], database);
    });

    test('can be revoked', () => {
      server.sql(`REVOKE ALL PRIVILEGES ON ${on} FROM ${account}`);
      assert.throws(() => asSite(database), /Access denied/);
    });
  },
);
