import { Database, Grant, User } from '../../../imports/k8s.mariadb.com.js';
import type { OperatorDatabaseProps } from '../../kit/database-operator.js';

/** Adds the Database, the User and the Grant of a site. */
export function addMariaDbDatabase(props: OperatorDatabaseProps): void {
  const { foundation, server, database, password } = props;
  const metadata = { ...props.metadata, labels: { ...props.metadata.labels } };
  const common = {
    mariaDbRef: { ...server },
    cleanupPolicy: props.dropsData ? 'Delete' : 'Skip',
  };
  new Database(foundation, 'database', {
    metadata,
    spec: {
      ...common,
      name: database,
      characterSet: 'utf8mb4',
      collate: 'utf8mb4_unicode_ci',
    },
  });
  new User(foundation, 'user', {
    metadata,
    spec: {
      ...common,
      name: database,
      host: '%',
      // The default is 10, and the processes of one site open more.
      maxUserConnections: 1000,
      passwordSecretKeyRef: { name: password.secret, key: password.key },
    },
  });
  new Grant(foundation, 'grant', {
    metadata,
    spec: {
      ...common,
      privileges: ['ALL PRIVILEGES'],
      // Immutable, so it stays unescaped. `_` matches any character, but no other name has this
      // digest.
      database,
      table: '*',
      username: database,
      host: '%',
    },
  });
}
