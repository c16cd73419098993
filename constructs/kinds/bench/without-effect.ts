import { ignoredEntries } from '../../configuration/problems.js';
import { ignoredAppsProblem } from '../../frappe/apps.js';
import { needsDigest } from '../../frappe/image-digest.js';
import type { Problem } from '../../kit/errors.js';
import { proxyWithoutEffect } from './proxy-settings.js';
import type { AppBench } from '../../api/bench.js';

/** Fields of a bench that are accepted and have no effect. */
export function fieldsWithoutEffect(bench: AppBench): readonly Problem[] {
  const { mode, resources } = bench.spec.dbConfig;
  const server =
    mode === 'external' ? 'you run the server' : 'the database operator runs the server';
  return [
    ...ignoredAppsProblem(bench),
    ...(resources && mode !== 'managed'
      ? [
          {
            path: 'spec.dbConfig.resources',
            message: `has no effect in mode ${mode}: ${server}; set its resources there`,
          },
        ]
      : []),
    ...refreshWithoutEffect(bench),
    ...proxyWithoutEffect(bench),
    ...ignoredEntries(bench.spec.siteConfig),
    ...(bench.spec.componentPodTemplates?.['redis'] && bench.spec.redisConfig?.external
      ? [
          {
            path: 'spec.componentPodTemplates.redis',
            message: 'has no effect with redisConfig.external: you run the servers',
          },
        ]
      : []),
    ...(bench.spec.componentPodTemplates?.['workers'] && !bench.spec.workers?.length
      ? [
          {
            path: 'spec.componentPodTemplates.workers',
            message: 'has no effect without workers: the bench declares no queues of its own',
          },
        ]
      : []),
  ];
}

function refreshWithoutEffect({ spec }: AppBench): readonly Problem[] {
  if (spec.image?.refresh === undefined || needsDigest(spec)) return [];
  const message =
    'has no effect with image.digest, or with pullPolicy Never: nothing is pulled by a tag';
  return [{ path: 'spec.image.refresh', message }];
}
