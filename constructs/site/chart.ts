import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { QUEUES } from '../frappe/constants.generated.js';
import { DatabaseServer } from '../frappe/database-server.js';
import { GeneratedSecret } from '../frappe/generated-secret.js';
import { Gunicorn } from '../frappe/gunicorn.js';
import { OnlyFromBench } from '../frappe/network-policy.js';
import { Worker, WORKER_COMPONENTS } from '../frappe/worker.js';
import { workerScale, type WorkerScale } from '../frappe/worker-scaling.js';
import type { Queue } from '../kit/api.js';
import { hashOf } from '../kit/hash.js';
import type { ChartProps } from '../kit/kind.js';
import { benchNames, siteNames } from '../kit/names.js';
import { Stage } from '../kit/stage.js';
import type { AppSite } from './api.js';
import { siteWorkersWanted, type SiteInputs } from './resolve.js';
import { SiteIngress } from './ingress.js';
import { queuePrefix, SiteInit, SiteReopen } from './job.js';
import { OperatedDatabase } from './operated-database.js';
import { OperatedPostgres, OperatedRole } from './operated-postgres.js';
import { SiteRoutes } from './route.js';

/** By these labels database operators watch a Secret with a user's password, and hear of a new one at once. */
const WATCH_LABELS = {
  mariadb: { 'k8s.mariadb.com/watch': '' },
  postgres: { 'cnpg.io/reload': 'true' },
};

/** The complete graph of a site's children. */
export class SiteChart extends Chart {
  constructor(
    scope: Construct,
    id: string,
    { resource: site, inputs }: ChartProps<AppSite, SiteInputs>,
  ) {
    super(scope, id, { disableResourceNameHashes: true });
    const { bench, database } = inputs;
    const { spec } = site;
    const names = siteNames(site.metadata.name);
    const secret = { owner: site, namespace: bench.namespace, retained: true };

    // A gate only where another operator has to make the database first.
    const foundation = new Stage(this, 'foundation', {
      waitForReady: database.mode === 'operator',
    });
    if (!spec.adminPasswordSecretRef) {
      new GeneratedSecret(foundation, 'admin-password', {
        ...secret,
        name: names.adminPassword,
        component: 'admin-password',
        keys: { password: 'password' },
      });
    }
    const operated = database.mode === 'operator' ? database.server.provider : undefined;
    if (database.mode !== 'external') {
      new GeneratedSecret(foundation, 'database-password', {
        ...secret,
        name: database.password.secret,
        component: 'database-password',
        keys: {
          [database.password.key]: 'password',
          // CloudNativePG wants to see whose password it is.
          ...(operated === 'postgres' ? { username: { text: database.name } } : {}),
        },
        ...(operated ? { labels: WATCH_LABELS[operated] } : {}),
      });
    }
    new GeneratedSecret(foundation, 'encryption-key', {
      ...secret,
      name: names.encryptionKey,
      component: 'encryption-key',
      keys: { key: 'fernet' },
    });
    if (database.mode === 'operator') this.operated(foundation, site, inputs);
    if (database.mode === 'dedicated' && database.server.root) {
      new DatabaseServer(foundation, 'database', {
        bench,
        owner: site,
        name: names.database,
        volume: names.databaseVolume,
        provider: database.server.provider,
        root: database.server.root.password,
        image: spec.dbConfig.image,
        resources: spec.dbConfig.resources,
        storage: spec.dbConfig.storage,
      });
      new OnlyFromBench(foundation, 'database-network', {
        bench,
        owner: site,
        name: names.database,
        ports: [database.server.port],
        retained: true,
      });
    }

    const init = new Stage(this, 'init', { waitForReady: true, blocked: inputs.blockedReason });
    new SiteInit(init, 'init', { site, inputs });

    const upgrade = inputs.upgrade?.begun ? inputs.upgrade : undefined;
    const workloads = new Stage(this, 'workloads', { waitForReady: upgrade !== undefined });
    if (spec.workloads === 'Dedicated') this.dedicated(workloads, site, inputs);
    const { route } = inputs;
    if (route) new SiteRoutes(workloads, 'routes', { site, inputs, route });
    else if (spec.ingress?.enabled) new SiteIngress(workloads, 'ingress', { site, inputs });
    if (upgrade) {
      const reopen = new Stage(this, 'reopen', {
        waitForReady: true,
        blocked: upgrade.reopenBlockedReason,
      });
      new SiteReopen(reopen, 'reopen', { site, inputs, upgrade });
    }
  }

  /** What a database operator makes a database of. */
  private operated(foundation: Stage, site: AppSite, inputs: SiteInputs): void {
    const { bench, database } = inputs;
    if (database.server.provider === 'mariadb') {
      new OperatedDatabase(foundation, 'database', { site, inputs });
      return;
    }
    const props = { site, bench, database };
    new OperatedRole(foundation, 'role', props);
    const owned = new Stage(this, 'database', { waitForReady: true });
    new OperatedPostgres(owned, 'database', props);
  }

  private dedicated(scope: Construct, site: AppSite, inputs: SiteInputs): void {
    const { bench } = inputs;
    const names = siteNames(site.metadata.name);
    const replicas = site.spec.componentReplicas ?? {};
    const resources = { ...bench.componentResources, ...site.spec.componentResources };
    const common = {
      bench,
      owner: site,
      configHash: hashOf([
        bench.redis,
        inputs.redisVersion,
        bench.database,
        inputs.database,
        queuePrefix(site, bench),
      ]),
    };
    new Gunicorn(scope, 'gunicorn', {
      ...common,
      name: names.gunicorn,
      replicas: replicas.gunicorn ?? 1,
      resources: resources.gunicorn,
      siteName: site.spec.siteName,
    });
    const prefix = queuePrefix(site, bench);
    for (const queue of QUEUES) {
      new Worker(scope, `worker-${queue}`, {
        ...common,
        name: names.worker(queue),
        queue,
        scale: siteWorkerScale(site, inputs, queue),
        resources: resources[WORKER_COMPONENTS[queue]],
        ...(prefix === undefined ? {} : { queuePrefix: prefix }),
        triggerAuthentication: benchNames(bench.name).redisTrigger,
      });
    }
  }
}

/** Who decides about the number of a site's own workers of a queue: its bench's scaling, its own replicas. */
export function siteWorkerScale(site: AppSite, inputs: SiteInputs, queue: Queue): WorkerScale {
  return workerScale({
    ...siteWorkersWanted(site, inputs, queue),
    scaledToZero: inputs.scaledToZero.includes(queue),
    foreign: inputs.foreignScalers[queue],
  });
}
