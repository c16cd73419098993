import type { Problem } from '../kit/errors.js';
import type { AppSite } from './api.js';

const SERVERS = {
  shared: 'the database is on the server of the bench; set spec.dbConfig.resources of the AppBench',
  external: 'you run the server; set its resources there',
  operator: 'the database operator runs the server; set its resources there',
} as const;

/** Fields of a site that are accepted and have no effect. */
export function fieldsWithoutEffect({ spec }: AppSite): readonly Problem[] {
  const { mode, resources } = spec.dbConfig;
  if (!resources || mode === 'dedicated') return [];
  const message = `has no effect in mode ${mode}: ${SERVERS[mode]}`;
  return [{ path: 'spec.dbConfig.resources', message }];
}
