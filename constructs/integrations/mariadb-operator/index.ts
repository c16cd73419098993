import type { Integration } from '../../kit/integration.js';
import { addMariaDbDatabase } from './database.js';
import { ExternalMariaDb, MariaDb, MariaDbDatabase, MariaDbGrant, MariaDbUser } from './kinds.js';
import { readMariaDb } from './server.js';

const SERVERS = [MariaDb, ExternalMariaDb];
const OF_DATABASE = [MariaDbDatabase, MariaDbUser, MariaDbGrant];

/** MariaDB servers, and the databases of sites on them. */
export const mariaDbOperator: Integration = {
  name: 'mariadb-operator',
  title: 'the MariaDB operator',
  uses: {
    AppBench: { reads: SERVERS },
    AppSite: { owns: OF_DATABASE, reads: SERVERS },
  },
  isNamedBy: ({ spec }) =>
    (spec as { readonly dbConfig?: { readonly mariadbRef?: object } }).dbConfig?.mariadbRef !==
    undefined,
  database: {
    provider: 'mariadb',
    install: 'the MariaDB operator',
    serverField: 'mariadbRef',
    serverKinds: SERVERS,
    databaseKinds: OF_DATABASE,
    passwordLabels: { 'k8s.mariadb.com/watch': '' },
    passwordNamesUser: false,
    serviceOf: (server) => server,
    readServer: readMariaDb,
    addDatabase: addMariaDbDatabase,
  },
};
