import type { BenchModel, DatabaseServer, SecretKey } from '../frappe/bench-model.js';
import { DEFAULT_PORTS, ROOT_USERS } from '../frappe/bench-model.js';
import { Stalled } from '../kit/errors.js';
import { databaseName, serviceHost, siteNames } from '../kit/names.js';
import type { AppSite } from './api.js';

/** Where a site's database is, and how the site gets in. */
export interface SiteDatabasePlan {
  readonly mode: 'shared' | 'dedicated' | 'external' | 'operator';
  readonly server: DatabaseServer;
  /** Name of the database and of its user: version-15 wants them to be the same. */
  readonly name: string;
  readonly password: SecretKey;
}

/**
 * Decides about a site's database.
 * @throws Stalled where the bench has no server of the kind that the site asks for
 */
export function databasePlan(site: AppSite, bench: BenchModel): SiteDatabasePlan {
  const { mode, host = '', port, name, secretRef } = site.spec.dbConfig;
  const { provider } = bench.database;
  const names = siteNames(site.metadata.name);
  const common = {
    mode,
    name: databaseName(bench.namespace, site.metadata.name),
    password: { secret: names.databaseSecret, key: 'password' },
  };
  switch (mode) {
    case 'shared':
      if (!bench.database.root) {
        throw unsupported(
          mode,
          `the server of bench ${bench.name} is a database operator's; use "operator"`,
        );
      }
      return { ...common, server: bench.database };
    case 'operator':
      if (!bench.operatorServer || bench.database.root) {
        throw unsupported(
          mode,
          `bench ${bench.name} names no server of a database operator in spec.dbConfig`,
        );
      }
      return {
        ...common,
        server: { provider, host: bench.database.host, port: bench.database.port },
      };
    case 'dedicated':
      return {
        ...common,
        server: {
          provider,
          host: serviceHost(names.database, bench.namespace, bench.clusterDomain),
          port: DEFAULT_PORTS[provider],
          root: {
            user: ROOT_USERS[provider],
            password: { secret: names.databaseRoot, key: 'password' },
          },
        },
      };
    case 'external':
      return {
        mode,
        name: name ?? common.name,
        password: { secret: secretRef?.name ?? common.password.secret, key: 'password' },
        server: { provider, host, port: port ?? DEFAULT_PORTS[provider] },
      };
  }
}

function unsupported(mode: string, why: string): Stalled {
  return Stalled.invalid([
    { path: 'spec.dbConfig.mode', message: `Invalid value: "${mode}": ${why}` },
  ]);
}
