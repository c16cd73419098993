import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { configurationBlock } from '../../configuration/evaluate.js';
import { addConfigurationJob } from '../../configuration/job.js';
import { databaseOperator } from '../../integrations/index.js';
import { DatabaseServer } from '../../frappe/database-server.js';
import { serverCertificate } from '../../frappe/database-tls.js';
import { GeneratedSecret } from '../../frappe/generated-secret.js';
import { Gunicorn } from '../../frappe/gunicorn.js';
import { siteEnv } from '../../frappe/site-model.js';
import { OnlyFromBench } from '../../frappe/network-rule.js';
import {
  isKnownQueue,
  queueDeclarations,
  Worker,
  WORKER_COMPONENTS,
  workerGroups,
} from '../../frappe/worker.js';
import type { Resources } from '../../kit/api.js';
import type { DatabaseOperator } from '../../kit/database-operator.js';
import { hashOf } from '../../kit/json/hash.js';
import type { ChartProps } from '../../kit/kind.js';
import { dataLabels, retainsData } from '../../kit/deletion-policy.js';
import { benchNames, siteNames } from '../../kit/names.js';
import { Stage } from '../../kit/synth.js';
import type { AppSite } from '../../api/site.js';
import type { SiteInputs } from './resolve.js';
import { siteWebScale, siteWorkerScale } from './workloads.js';
import { SiteIngress } from './ingress.js';
import { SiteInit } from './init-job.js';
import { SiteReopen } from './reopen-job.js';
import { queuePrefix } from './site-config.js';

/** The complete graph of a site's children. */
export class SiteChart extends Chart {
  constructor(
    scope: Construct,
    id: string,
    private readonly props: ChartProps<AppSite, SiteInputs>,
  ) {
    super(scope, id, { disableResourceNameHashes: true });
    const { resource: site, inputs } = props;
    const foundation = new Stage(this, 'foundation', {
      // Only another operator that makes the database has to be waited for.
      waitForReady: inputs.data.database.mode === 'operator',
    });
    this.addSecrets(foundation);
    this.addDatabase(foundation);

    const init = new Stage(this, 'init', { waitForReady: true, blocked: inputs.blockedReason });
    new SiteInit(init, 'init', { site, inputs });

    addConfigurationJob(this, {
      bench: inputs.bench,
      owner: site,
      configuration: inputs.configuration,
      env: siteEnv({
        name: site.metadata.name,
        namespace: inputs.bench.namespace,
        siteName: site.spec.siteName,
      }),
    });

    const upgrade = inputs.upgrade?.started ? inputs.upgrade : undefined;
    const workloads = new Stage(this, 'workloads', {
      waitForReady: upgrade !== undefined,
      blocked: configurationBlock(inputs.configuration),
    });
    if (site.spec.workloads === 'Dedicated') this.addWorkloads(workloads);
    this.addAccess(workloads);
    if (upgrade) {
      const reopen = new Stage(this, 'reopen', {
        waitForReady: true,
        blocked: upgrade.reopenBlockedReason,
      });
      new SiteReopen(reopen, 'reopen', { site, inputs, upgrade });
    }
  }

  /** The Secrets that are generated once. */
  private addSecrets(scope: Construct): void {
    const { resource: site, inputs } = this.props;
    const { bench, data } = inputs;
    const { database } = data;
    const names = siteNames(site.metadata.name);
    const common = { owner: site, namespace: bench.namespace, retained: true };
    if (data.generatesPassword) {
      new GeneratedSecret(scope, 'admin-password', {
        ...common,
        name: names.adminPassword,
        component: 'admin-password',
        keys: { password: 'password' },
      });
    }
    if (database.mode !== 'external' && database.password) {
      const operator = this.databaseOperator;
      new GeneratedSecret(scope, 'database-password', {
        ...common,
        name: database.password.secret,
        component: 'database-password',
        keys: {
          [database.password.key]: 'password',
          ...(operator?.passwordNamesUser ? { username: { text: database.name } } : {}),
        },
        ...(operator ? { labels: operator.passwordLabels } : {}),
      });
    }
    new GeneratedSecret(scope, 'encryption-key', {
      ...common,
      name: names.encryptionKey,
      component: 'encryption-key',
      keys: { key: 'fernet' },
    });
  }

  /** The operator that makes the site's database; undefined in other modes. */
  private get databaseOperator(): DatabaseOperator | undefined {
    const { mode, server } = this.props.inputs.data.database;
    return mode === 'operator' ? databaseOperator(server.provider) : undefined;
  }

  /** The objects of a database operator, or a server for this site alone. */
  private addDatabase(foundation: Construct): void {
    const { resource: site, inputs } = this.props;
    const { bench, data } = inputs;
    const { database } = data;
    const name = siteNames(site.metadata.name).database;
    const labels = dataLabels(site, 'database');
    if (bench.operatorServer && database.password) {
      this.databaseOperator?.addDatabase({
        chart: this,
        foundation,
        server: bench.operatorServer,
        metadata: { name, namespace: bench.namespace, labels },
        database: database.name,
        password: database.password,
        dropsData: !retainsData(site),
      });
    }
    if (database.mode === 'dedicated') this.addDatabaseServer(foundation);
  }

  private addDatabaseServer(scope: Construct): void {
    const { resource: site, inputs } = this.props;
    const { bench, data } = inputs;
    const { database } = data;
    const { server } = database;
    if (!server.root) return;
    const { resources, storage, settings, tls } = site.spec.dbConfig;
    const names = siteNames(site.metadata.name);
    new DatabaseServer(scope, 'database', {
      bench,
      owner: site,
      name: names.database,
      volume: names.databaseVolume,
      provider: server.provider,
      root: server.root.password,
      image: data.databaseImage,
      resources,
      storage,
      settings,
      certificate: serverCertificate(tls, data.databaseCertificate),
    });
    new OnlyFromBench(scope, 'database-network', {
      bench,
      owner: site,
      name: names.database,
      ports: [server.port],
      retained: true,
    });
  }

  /** The site's own web processes and workers. */
  private addWorkloads(scope: Construct): void {
    const { resource: site, inputs } = this.props;
    const { bench, data } = inputs;
    const names = siteNames(site.metadata.name);
    const resources = { ...bench.componentResources, ...site.spec.componentResources };
    const prefix = queuePrefix(site, bench);
    const queues = queueDeclarations(bench.workers);
    const common = {
      bench,
      owner: site,
      configHash: hashOf([
        bench.redis,
        data.redisVersion,
        bench.database,
        data.database,
        prefix,
        ...(queues ? [{ queues }] : []),
        ...(bench.configurationRestart === undefined ? [] : [bench.configurationRestart]),
      ]),
    };
    new Gunicorn(scope, 'gunicorn', {
      ...common,
      name: names.gunicorn,
      scale: siteWebScale(site, inputs),
      resources: resources.gunicorn,
      settings: { ...bench.gunicorn, ...site.spec.gunicorn },
      siteName: site.spec.siteName,
    });
    for (const group of workerGroups(bench.workers)) {
      new Worker(scope, `worker-${group.name}`, {
        ...common,
        name: names.worker(group.name),
        group,
        scale: siteWorkerScale(site, inputs, group.name),
        resources: this.workerResources(group.name),
        ...(prefix === undefined ? {} : { queuePrefix: prefix }),
        triggerAuthentication: benchNames(bench.name).redisTrigger,
      });
    }
  }

  /** Compute resources of workers, of a queue of the framework or of others. */
  private workerResources(group: string): Resources | undefined {
    const { resource: site, inputs } = this.props;
    const { componentResources, workers } = inputs.bench;
    if (isKnownQueue(group)) {
      const component = WORKER_COMPONENTS[group];
      return site.spec.componentResources?.[component] ?? componentResources[component];
    }
    const isGroup = ({ name }: { readonly name: string }) => name === group;
    return site.spec.workers?.find(isGroup)?.resources ?? workers.find(isGroup)?.resources;
  }

  private addAccess(scope: Construct): void {
    const { resource: site, inputs } = this.props;
    const { bench, access } = inputs;
    if (site.spec.ingress?.enabled) new SiteIngress(scope, 'ingress', { site, bench, access });
  }
}
