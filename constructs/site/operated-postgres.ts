import { Construct } from 'constructs';
import {
  Database,
  DatabaseRole,
  DatabaseRoleSpecDatabaseRoleReclaimPolicy as RolePolicy,
  DatabaseSpecDatabaseReclaimPolicy as DatabasePolicy,
} from '../../imports/postgresql.cnpg.io.js';
import type { BenchModel } from '../frappe/bench-model.js';
import { childLabels, retention } from '../kit/labels.js';
import { siteNames } from '../kit/names.js';
import type { AppSite } from './api.js';
import type { SiteDatabasePlan } from './database.js';

export interface OperatedPostgresProps {
  readonly site: AppSite;
  readonly bench: BenchModel;
  readonly database: SiteDatabasePlan;
}

/** The role that owns a site's database, made by CloudNativePG. */
export class OperatedRole extends Construct {
  constructor(scope: Construct, id: string, { site, bench, database }: OperatedPostgresProps) {
    super(scope, id);
    if (!bench.clusterRef) return;
    new DatabaseRole(this, 'role', {
      metadata: metadataOf(site, bench),
      spec: {
        cluster: { name: bench.clusterRef.name },
        name: database.name,
        login: true,
        passwordSecret: { name: database.password.secret },
        databaseRoleReclaimPolicy: drops(site) ? RolePolicy.DELETE : RolePolicy.RETAIN,
      },
    });
  }
}

/** A site's database, made by CloudNativePG. Its owner has to be there. */
export class OperatedPostgres extends Construct {
  constructor(scope: Construct, id: string, { site, bench, database }: OperatedPostgresProps) {
    super(scope, id);
    if (!bench.clusterRef) return;
    new Database(this, 'database', {
      metadata: metadataOf(site, bench),
      spec: {
        cluster: { name: bench.clusterRef.name },
        name: database.name,
        owner: database.name,
        template: 'template0',
        encoding: 'UTF8',
        databaseReclaimPolicy: drops(site) ? DatabasePolicy.DELETE : DatabasePolicy.RETAIN,
      },
    });
  }
}

function metadataOf(site: AppSite, { namespace }: BenchModel) {
  return {
    name: siteNames(site.metadata.name).database,
    namespace,
    labels: { ...childLabels(site, 'database'), ...retention(site) },
  };
}

function drops({ spec }: AppSite): boolean {
  return spec.deletionPolicy === 'Delete';
}
