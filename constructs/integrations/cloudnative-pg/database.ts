import {
  Database,
  DatabaseRole,
  DatabaseRoleSpecDatabaseRoleReclaimPolicy as RolePolicy,
  DatabaseSpecDatabaseReclaimPolicy as DatabasePolicy,
} from '../../../imports/postgresql.cnpg.io.js';
import type { OperatorDatabaseProps } from '../../kit/database-operator.js';
import { Stage } from '../../kit/synth.js';

/** Adds the Database of a site and the DatabaseRole that owns it. The role must exist first. */
export function addPostgresDatabase(props: OperatorDatabaseProps): void {
  const { chart, foundation, server, database, password, dropsData } = props;
  const metadata = { ...props.metadata, labels: { ...props.metadata.labels } };
  const cluster = { name: server.name };
  new DatabaseRole(foundation, 'role', {
    metadata,
    spec: {
      cluster,
      name: database,
      login: true,
      passwordSecret: { name: password.secret },
      databaseRoleReclaimPolicy: dropsData ? RolePolicy.DELETE : RolePolicy.RETAIN,
    },
  });
  new Database(new Stage(chart, 'database', { waitForReady: true }), 'database', {
    metadata,
    spec: {
      cluster,
      name: database,
      owner: database,
      template: 'template0',
      encoding: 'UTF8',
      databaseReclaimPolicy: dropsData ? DatabasePolicy.DELETE : DatabasePolicy.RETAIN,
    },
  });
}
