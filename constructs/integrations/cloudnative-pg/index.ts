import type { Integration } from '../../kit/integration.js';
import { addPostgresDatabase } from './database.js';
import { PostgresCluster, PostgresDatabase, PostgresRole } from './kinds.js';
import { primaryService, readCluster } from './server.js';

const SERVERS = [PostgresCluster];
const OF_DATABASE = [PostgresRole, PostgresDatabase];

/** PostgreSQL servers, and the databases of sites on them. */
export const cloudNativePg: Integration = {
  name: 'cloudnative-pg',
  title: 'CloudNativePG',
  uses: {
    AppBench: { reads: SERVERS },
    AppSite: { owns: OF_DATABASE, reads: SERVERS },
  },
  isNamedBy: ({ spec }) =>
    (spec as { readonly dbConfig?: { readonly clusterRef?: object } }).dbConfig?.clusterRef !==
    undefined,
  database: {
    provider: 'postgres',
    install: 'CloudNativePG 1.30 or newer',
    serverField: 'clusterRef',
    serverKinds: SERVERS,
    databaseKinds: OF_DATABASE,
    passwordLabels: { 'cnpg.io/reload': 'true' },
    passwordNamesUser: true,
    serviceOf: primaryService,
    readServer: readCluster,
    addDatabase: addPostgresDatabase,
  },
};
