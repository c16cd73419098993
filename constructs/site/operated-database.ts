import { Construct } from 'constructs';
import { Database, Grant, User } from '../../imports/k8s.mariadb.com.js';
import { childLabels, retention } from '../kit/labels.js';
import { siteNames } from '../kit/names.js';
import type { AppSite } from './api.js';
import type { SiteInputs } from './resolve.js';

/** Database, user and grant, made by the MariaDB operator. */
export class OperatedDatabase extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { site, inputs }: { readonly site: AppSite; readonly inputs: SiteInputs },
  ) {
    super(scope, id);
    const { bench, database } = inputs;
    if (!bench.mariadbRef) return;
    const metadata = {
      name: siteNames(site.metadata.name).database,
      namespace: bench.namespace,
      labels: { ...childLabels(site, 'database'), ...retention(site) },
    };
    const common = {
      mariaDbRef: { ...bench.mariadbRef },
      cleanupPolicy: site.spec.deletionPolicy === 'Delete' ? 'Delete' : 'Skip',
    };
    new Database(this, 'database', {
      metadata,
      spec: {
        ...common,
        name: database.name,
        characterSet: 'utf8mb4',
        collate: 'utf8mb4_unicode_ci',
      },
    });
    new User(this, 'user', {
      metadata,
      spec: {
        ...common,
        name: database.name,
        host: '%',
        // Its default is 10: fewer than the processes of one site open.
        maxUserConnections: 1000,
        passwordSecretKeyRef: { name: database.password.secret, key: database.password.key },
      },
    });
    new Grant(this, 'grant', {
      metadata,
      spec: {
        ...common,
        privileges: ['ALL PRIVILEGES'],
        // Immutable there: not escaped, as it never was. `_` stands for any character, but no other name has this one's digest.
        database: database.name,
        table: '*',
        username: database.name,
        host: '%',
      },
    });
  }
}
