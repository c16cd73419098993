import { READY, type Health, type HealthRule, type Observable } from '../../kit/health.js';
import { optionalKind, type ObjectKind } from '../../kit/object-kind.js';

const API = 'postgresql.cnpg.io/v1';

interface AppliedObject extends Observable {
  readonly status?: Observable['status'] & {
    readonly applied?: boolean;
    readonly message?: string;
  };
}

/** CloudNativePG reports in `applied` whether it applied the object, and in `message` why not. */
const health: HealthRule = {
  reportsReady: true,
  refusal: ({ status }: AppliedObject) => (status?.applied === true ? undefined : status?.message),
  evaluate: ({ status }: AppliedObject, byReady: Health) =>
    byReady.state !== 'Failed' && status?.applied === true ? READY : byReady,
};

export const PostgresCluster: ObjectKind = {
  ...optionalKind(API, 'Cluster', 'clusters'),
  content: 'whole',
};
export const PostgresDatabase: ObjectKind = {
  ...optionalKind(API, 'Database', 'databases'),
  data: { kept: { databaseReclaimPolicy: 'retain' } },
  health,
};
/** PostgreSQL drops no role that still owns a database. */
export const PostgresRole: ObjectKind = {
  ...optionalKind(API, 'DatabaseRole', 'databaseroles'),
  deletedLast: true,
  data: { kept: { databaseRoleReclaimPolicy: 'retain' } },
  health,
};
