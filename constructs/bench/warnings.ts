import { isSupported, untested } from '../frappe/image.js';
import type { Problem } from '../kit/errors.js';
import type { AppBench } from './api.js';

/** What is legal in a bench's spec, but seldom meant. */
export function benchWarnings({ spec }: AppBench): readonly Problem[] {
  const warnings: Problem[] = [];
  const warn = (path: string, message: string): void => void warnings.push({ path, message });
  if (!isSupported(spec.frameworkVersion)) {
    warn('spec.frameworkVersion', untested(spec.frameworkVersion));
  }
  if (spec.deletionPolicy === 'Delete') {
    const server = spec.dbConfig.mode === 'managed' ? " and its database server's" : '';
    warn(
      'spec.deletionPolicy',
      `Delete removes the bench's volume${server} with the object: all data of its sites is lost`,
    );
  }
  if (spec.storage.accessMode !== 'ReadWriteMany') {
    warn(
      'spec.storage.accessMode',
      `${spec.storage.accessMode} works only while every pod of the bench and of its sites is on one node`,
    );
  }
  for (const queue of ['short', 'long', 'default'] as const) {
    const scaling = spec.workerAutoscaling?.[queue];
    if (scaling?.enabled && scaling.minReplicas === scaling.maxReplicas) {
      warn(
        `spec.workerAutoscaling.${queue}`,
        `minReplicas and maxReplicas are both ${scaling.maxReplicas}: nothing scales`,
      );
    }
  }
  return warnings;
}
