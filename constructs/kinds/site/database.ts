import type { BenchModel } from '../../frappe/bench-model.js';
import type { DatabaseServer, SecretKey } from '../../frappe/database.js';
import { DEFAULT_PORTS, ROOT_USERS, serverTlsPlan } from '../../frappe/bench-model.js';
import type { Problem } from '../../kit/errors.js';
import { bareHost, databaseName, serviceHost, siteNames } from '../../kit/names.js';
import type { AppSite } from '../../api/site.js';

/** Where a site's database is, and how the site gets in. */
export interface SiteDatabasePlan {
  readonly mode: 'shared' | 'dedicated' | 'external' | 'operator';
  readonly server: DatabaseServer;
  /** Name of the database and of its user: version-15 wants them to be the same. */
  readonly name: string;
  /** undefined where the site's own configuration has it. */
  readonly password: SecretKey | undefined;
}

/** Decides about a site's database. The bench is known to have a server for its mode. */
export function databasePlan(site: AppSite, bench: BenchModel): SiteDatabasePlan {
  const { mode, name } = site.spec.dbConfig;
  return {
    mode,
    name:
      (mode === 'external' ? name : undefined) ?? databaseName(bench.namespace, site.metadata.name),
    password: passwordOf(site),
    server: SERVERS[mode](site, bench),
  };
}

/** The Secret of a prepared database is the user's. */
function passwordOf({ metadata, spec }: AppSite): SecretKey | undefined {
  const { mode, secretRef } = spec.dbConfig;
  const secret = mode === 'external' ? secretRef?.name : siteNames(metadata.name).databaseSecret;
  return secret === undefined ? undefined : { secret, key: 'password' };
}

/** A mode for which the bench has no server. */
export function unsupportedMode(
  { spec }: AppSite,
  { name, database, operatorServer }: BenchModel,
): readonly Problem[] {
  const { mode } = spec.dbConfig;
  const path = 'spec.dbConfig.mode';
  if (mode === 'shared' && !database.root) {
    const message = `Invalid value: "shared": the server of bench ${name} is managed by a database operator; use "operator"`;
    return [{ path, message }];
  }
  if (mode === 'operator' && (!operatorServer || database.root)) {
    const message = `Invalid value: "operator": bench ${name} names no server of a database operator in spec.dbConfig`;
    return [{ path, message }];
  }
  return [];
}

type Mode = SiteDatabasePlan['mode'];

/** The server of a site's database, by mode. */
const SERVERS: Readonly<Record<Mode, (site: AppSite, bench: BenchModel) => DatabaseServer>> = {
  shared: (_site, { database }) => database,
  operator: (_site, { database: { root: _root, ...server } }) => server,
  dedicated({ metadata, spec }, { database: { provider }, namespace, clusterDomain }) {
    const names = siteNames(metadata.name);
    return {
      provider,
      host: serviceHost(names.database, namespace, clusterDomain),
      port: DEFAULT_PORTS[provider],
      root: {
        user: ROOT_USERS[provider],
        password: { secret: names.databaseRoot, key: 'password' },
      },
      ...tlsOf(spec),
    };
  },
  external({ spec }, { database: { provider } }) {
    const { host = '', port = DEFAULT_PORTS[provider] } = spec.dbConfig;
    return { provider, host: bareHost(host), port, ...tlsOf(spec) };
  },
};

function tlsOf({ dbConfig }: AppSite['spec']): Pick<DatabaseServer, 'tls'> {
  const tls = serverTlsPlan(dbConfig.tls);
  return tls ? { tls } : {};
}
