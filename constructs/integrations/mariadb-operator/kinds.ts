import { optionalKind, type ObjectKind } from '../../kit/object-kind.js';

const API = 'k8s.mariadb.com/v1alpha1';

export const MariaDb: ObjectKind = {
  ...optionalKind(API, 'MariaDB', 'mariadbs'),
  content: 'whole',
};
export const ExternalMariaDb: ObjectKind = {
  ...optionalKind(API, 'ExternalMariaDB', 'externalmariadbs'),
  content: 'whole',
};

const OF_DATABASE = {
  data: { kept: { cleanupPolicy: 'Skip' } },
  health: { reportsReady: true },
} as const;
export const MariaDbDatabase: ObjectKind = {
  ...optionalKind(API, 'Database', 'databases'),
  ...OF_DATABASE,
};
export const MariaDbUser: ObjectKind = { ...optionalKind(API, 'User', 'users'), ...OF_DATABASE };
export const MariaDbGrant: ObjectKind = { ...optionalKind(API, 'Grant', 'grants'), ...OF_DATABASE };
