import { configurationWarnings } from '../../configuration/problems.js';
import { resolveApps } from '../../frappe/apps.js';
import { isSupported, lackingApps, untested } from '../../frappe/image.js';
import { maxReplicasOf } from '../../frappe/worker-scaling.js';
import type { Problem } from '../../kit/errors.js';
import type { ClusterReader } from '../../kit/kind.js';
import type { AppBench } from '../../api/bench.js';
import { fieldsWithoutEffect } from './without-effect.js';

/** The components that Dedicated sites have too. */
const INHERITED = ['gunicorn', 'workerDefault', 'workerShort', 'workerLong'] as const;

/** What is legal in a bench's spec, but seldom meant. */
export function benchWarnings(bench: AppBench, reader: ClusterReader): readonly Problem[] {
  const { namespace = 'default' } = bench.metadata;
  return [
    ...fieldsWithoutEffect(bench),
    ...configurationWarnings(bench.spec.siteConfig, namespace, reader),
    ...versionWarnings(bench),
    ...appWarnings(bench),
    ...dataWarnings(bench),
    ...replicaWarnings(bench),
    ...scalingWarnings(bench),
    ...webWarnings(bench),
    ...proxyWarnings(bench),
  ];
}

function versionWarnings({ spec }: AppBench): readonly Problem[] {
  const { frameworkVersion } = spec;
  if (isSupported(frameworkVersion)) return [];
  return [{ path: 'spec.frameworkVersion', message: untested(frameworkVersion) }];
}

function appWarnings(bench: AppBench): readonly Problem[] {
  const { spec } = bench;
  const { apps, ignored } = resolveApps(bench);
  const message = lackingApps(spec, apps);
  if (message === undefined) return [];
  const field = spec.apps && ignored?.field !== 'apps' ? 'apps' : 'appsJSON';
  return [{ path: `spec.${field}`, message }];
}

function dataWarnings({ spec }: AppBench): readonly Problem[] {
  const warnings: Problem[] = [];
  if (spec.deletionPolicy === 'Delete') {
    const server = spec.dbConfig.mode === 'managed' ? " and its database server's" : '';
    const message = `Delete removes the bench's volume${server} with the object: all data of its sites is lost`;
    warnings.push({ path: 'spec.deletionPolicy', message });
  }
  const { accessMode } = spec.storage;
  if (accessMode !== 'ReadWriteMany') {
    const message =
      accessMode === 'ReadWriteOnce'
        ? 'ReadWriteOnce puts every pod of the bench and of its sites on one node'
        : `${accessMode} works only while every pod of the bench and of its sites is on one node`;
    warnings.push({ path: 'spec.storage.accessMode', message });
  }
  return warnings;
}

function replicaWarnings({ spec }: AppBench): readonly Problem[] {
  return INHERITED.filter((component) => spec.componentReplicas?.[component] === 0).map(
    (component) => ({
      path: `spec.componentReplicas.${component}`,
      message: `Dedicated sites without a number of their own inherit 0: they have no ${component} either`,
    }),
  );
}

function scalingWarnings({ spec }: AppBench): readonly Problem[] {
  const known = (['short', 'long', 'default'] as const).map((queue) => ({
    path: `spec.workerAutoscaling.${queue}`,
    scaling: spec.workerAutoscaling?.[queue],
  }));
  const own = (spec.workers ?? []).map(({ autoscaling }, index) => ({
    path: `spec.workers[${index}].autoscaling`,
    scaling: autoscaling,
  }));
  const web = { path: 'spec.webAutoscaling', scaling: spec.webAutoscaling };
  return [...known, ...own, web].flatMap(({ path, scaling }) => {
    if (!scaling?.enabled || scaling.minReplicas !== maxReplicasOf(scaling)) return [];
    const message = `minReplicas and maxReplicas are both ${scaling.minReplicas}: nothing scales`;
    return [{ path, message }];
  });
}

/** A request of the CPU is what the load is measured by. */
function webWarnings({ spec }: AppBench): readonly Problem[] {
  if (!spec.webAutoscaling?.enabled) return [];
  const resources = spec.componentResources?.gunicorn;
  if (resources?.requests?.cpu ?? resources?.limits?.cpu) return [];
  const why = resources
    ? 'without a CPU request nothing is measured'
    : 'the CPU request by default is small: a little load makes many pods';
  const message = `${why}; set componentResources.gunicorn.requests.cpu`;
  return [{ path: 'spec.webAutoscaling', message }];
}

function proxyWarnings({ spec }: AppBench): readonly Problem[] {
  return (spec.proxy?.realIPFrom ?? []).flatMap((range, index) => {
    if (!range.endsWith('/0')) return [];
    const message = `${range} is every address: a client names itself as it likes, in logs and rate limits`;
    return [{ path: `spec.proxy.realIPFrom[${index}]`, message }];
  });
}
