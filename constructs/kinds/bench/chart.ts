import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import * as k8s from '../../kit/k8s.js';
import { configurationBlock } from '../../configuration/evaluate.js';
import { addConfigurationJob } from '../../configuration/job.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { SOCKETIO_PORT } from '../../kit/constants.generated.js';
import { DatabaseServer } from '../../frappe/database-server.js';
import { serverCertificate } from '../../frappe/database-tls.js';
import { Gunicorn } from '../../frappe/gunicorn.js';
import { imageNamed } from '../../frappe/image.js';
import { OnlyFromBench } from '../../frappe/network-rule.js';
import { scripts } from '../../frappe/scripts.generated.js';
import { Volume } from '../../frappe/volume.js';
import { isKnownQueue, Worker, WORKER_COMPONENTS, workerGroups } from '../../frappe/worker.js';
import { RedisLogin } from '../../integrations/keda/trigger-authentication.js';
import { hashOf } from '../../kit/json/hash.js';
import type { ChartProps } from '../../kit/kind.js';
import type { Resources } from '../../kit/api.js';
import { childLabels } from '../../kit/labels.js';
import { benchNames } from '../../kit/names.js';
import { Stage } from '../../kit/synth.js';
import type { AppBench } from '../../api/bench.js';
import type { BenchInputs } from './resolve.js';
import { backend, nginxSites } from './routed-sites.js';
import { benchWebScale, benchWorkerScale, benchWorkersWanted } from './workloads.js';
import { benchConfigHash, BenchInit } from './init-job.js';
import { Metrics } from './metrics.js';
import { BenchNetwork } from './network-policies.js';
import { Nginx } from './nginx.js';
import { type NginxConfig, renderNginxConfig } from './nginx-config.js';
import { proxySettings } from './proxy-settings.js';
import { Redis, RedisPassword } from './redis.js';
import { Scheduler } from './scheduler.js';
import { Socketio } from './socketio.js';

/** The complete graph of a bench's children. */
export class BenchChart extends Chart {
  constructor(
    scope: Construct,
    id: string,
    { resource, inputs }: ChartProps<AppBench, BenchInputs>,
  ) {
    super(scope, id, { disableResourceNameHashes: true });
    const { model } = inputs;
    const { spec } = resource;
    const names = benchNames(model.name);
    const common = { bench: model, owner: resource };

    if (!model.redis.external) {
      const passwords = new Stage(this, 'passwords', { waitForReady: true });
      new RedisPassword(passwords, 'redis-password', common);
    }
    const foundation = new Stage(this, 'foundation', { blocked: inputs.blockedReason });
    new Scripts(foundation, 'scripts', resource);
    // All pods of the bench and of its sites share it: sites, files, local backups.
    if (spec.storage.existingClaim === undefined) {
      new Volume(foundation, 'sites', {
        owner: resource,
        name: names.sites,
        component: 'sites',
        accessMode: spec.storage.accessMode,
        storage: spec.storage,
      });
    }
    if (!model.redis.external)
      new Redis(foundation, 'redis', {
        ...common,
        configHash: hashOf([inputs.data.redisVersion ?? '']),
      });
    if (spec.dbConfig.mode === 'managed' && model.database.root) {
      new DatabaseServer(foundation, 'database', {
        ...common,
        name: names.database,
        volume: names.databaseVolume,
        provider: model.database.provider,
        root: model.database.root.password,
        image: inputs.data.databaseImage,
        resources: spec.dbConfig.resources,
        storage: spec.dbConfig.storage,
        settings: spec.dbConfig.settings,
        certificate: serverCertificate(spec.dbConfig.tls, inputs.data.databaseCertificate),
      });
      new OnlyFromBench(foundation, 'database-network', {
        ...common,
        name: names.database,
        ports: [model.database.port],
        retained: true,
      });
    }

    new BenchNetwork(foundation, 'network', { ...common, databases: inputs.data.databases });

    this.framework(resource, inputs);
  }

  /** What runs the image of the framework: the init Job first. */
  private framework(resource: AppBench, inputs: BenchInputs): void {
    const { model, configuration, awaitsDigest } = inputs;
    const common = { bench: model, owner: resource };
    const init = new Stage(this, 'init', { waitForReady: true });
    new BenchInit(init, 'init', {
      ...common,
      taskHash: inputs.init,
      pulls: awaitsDigest && resource.spec.image?.refresh !== undefined,
    });
    const blocked = awaitsDigest
      ? `waiting for the digest of image ${model.image.reference}`
      : undefined;
    addConfigurationJob(this, { ...common, configuration, env: [], blocked });
    const workloads = new Stage(this, 'workloads', {
      blocked: blocked ?? configurationBlock(configuration),
    });
    this.workloads(workloads, resource, inputs);
  }

  /** The bench's own pods. They keep the previous image while Shared sites are open on it. */
  private workloads(scope: Stage, resource: AppBench, inputs: BenchInputs): void {
    const { spec } = resource;
    const { keptImage } = inputs.upgrade ?? {};
    const model =
      keptImage === undefined
        ? inputs.model
        : { ...inputs.model, image: imageNamed(keptImage, spec) };
    const names = benchNames(model.name);
    const common = { bench: model, owner: resource };
    const configHash = processHash(model, inputs);
    const tick = model.schedulerTickSeconds;
    const sized = (component: 'nginx' | 'socketio' | 'scheduler') => ({
      ...common,
      replicas: spec.componentReplicas?.[component] ?? 1,
      resources: spec.componentResources?.[component],
    });
    new Gunicorn(scope, 'gunicorn', {
      ...common,
      scale: benchWebScale(resource, inputs),
      resources: spec.componentResources?.gunicorn,
      name: names.gunicorn,
      settings: model.gunicorn,
      configHash,
    });
    new Socketio(scope, 'socketio', { ...sized('socketio'), configHash });
    new Nginx(scope, 'nginx', {
      ...sized('nginx'),
      config: nginxConfig(model, inputs, spec),
    });
    new Scheduler(scope, 'scheduler', {
      ...sized('scheduler'),
      configHash: tick === undefined ? configHash : hashOf([configHash, tick]),
    });
    if (spec.metrics.enabled) {
      new Metrics(scope, 'metrics', { ...common, resources: spec.metrics.resources });
    }
    for (const group of workerGroups(model.workers)) {
      new Worker(scope, `worker-${group.name}`, {
        ...common,
        name: names.worker(group.name),
        group,
        scale: benchWorkerScale(resource, inputs, group.name),
        resources: workerResources(model, group.name),
        configHash,
        triggerAuthentication: names.redisTrigger,
      });
    }
    this.redisLogin(scope, resource, inputs);
  }

  /** The ScaledObjects of Dedicated sites name it too, also where the bench's workers need none. */
  private redisLogin(scope: Stage, bench: AppBench, inputs: BenchInputs): void {
    const { redis, name, namespace } = inputs.model;
    const { keda, logins } = inputs.workloads;
    const enabled = workerGroups(inputs.model.workers).some(
      ({ name: group }) => benchWorkersWanted(bench, inputs, group).scaling?.enabled,
    );
    if (!keda || !logins || !enabled || redis.external) return;
    new RedisLogin(scope, 'redis-trigger', {
      name: benchNames(name).redisTrigger,
      namespace,
      labels: childLabels(bench, 'redis'),
      password: redis.password,
    });
  }
}

function nginxConfig(
  model: BenchModel,
  inputs: BenchInputs,
  { proxy, componentReplicas }: AppBench['spec'],
): NginxConfig {
  const names = benchNames(model.name);
  const several = (componentReplicas?.socketio ?? 1) > 1;
  return renderNginxConfig({
    benchBackend: backend(names.gunicorn, model),
    socketio: backend(names.socketio, model, SOCKETIO_PORT),
    ...(several ? { socketioPods: backend(names.socketioPods, model, SOCKETIO_PORT) } : {}),
    sites: nginxSites(inputs),
    ...proxySettings(proxy),
  });
}

/** Hash of what the bench's processes read at their start, `siteConfig` included. */
function processHash(model: BenchModel, { data }: BenchInputs): string {
  const hash = benchConfigHash(model, data.redisVersion);
  const { configurationRestart: restart } = model;
  return restart === undefined ? hash : hashOf([hash, restart]);
}

/** Compute resources of workers, of a queue of the framework or of others. */
function workerResources(model: BenchModel, group: string): Resources | undefined {
  if (isKnownQueue(group)) return model.componentResources[WORKER_COMPONENTS[group]];
  return model.workers.find(({ name }) => name === group)?.resources;
}

/** The scripts of all pods of a bench and of its sites. */
class Scripts extends k8s.KubeConfigMap {
  constructor(scope: Construct, id: string, bench: AppBench) {
    super(scope, id, {
      metadata: {
        name: benchNames(bench.metadata.name).config,
        ...(bench.metadata.namespace ? { namespace: bench.metadata.namespace } : {}),
        labels: childLabels(bench, 'scripts'),
      },
      data: scripts,
    });
  }
}
