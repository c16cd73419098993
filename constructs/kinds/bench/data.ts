import type { AppBench } from '../../api/bench.js';
import type { AppSite } from '../../api/site.js';
import { DEFAULT_PORTS, type BenchModel } from '../../frappe/bench-model.js';
import { databaseImage } from '../../frappe/database-image.js';
import { certificateVersion, tlsSecrets } from '../../frappe/database-tls.js';
import { ONE_POD, requireClaims, type ExistingClaim } from '../../frappe/existing-claim.js';
import { sitesOfBench } from '../../frappe/indexes.js';
import { redisVersion } from '../../frappe/redis-version.js';
import { requireSecret } from '../../frappe/secret.js';
import type { ClusterReader } from '../../kit/kind.js';
import { bareHost } from '../../kit/names.js';
import { keyOf, uidOf } from '../../kit/object.js';
import { resolveDatabaseFailure, type DatabaseFailure } from './database-failure.js';
import type { OutsideServer } from './network-policies.js';

/** What the bench's data depends on: Redis, and the servers of databases. */
export interface BenchData {
  /** Changes with the login to Redis, see `redisVersion`. Undefined until its Secret exists. */
  readonly redisVersion: string | undefined;
  /** The image of the managed database server. */
  readonly databaseImage: string;
  /** Changes with the certificate of the managed database server. */
  readonly databaseCertificate: string | undefined;
  /**
   * The database servers of the bench and of its sites that are none of its pods. Read only where
   * egress is limited.
   */
  readonly databases: readonly OutsideServer[];
  /** Why a site cannot use the bench's server; undefined where none fails. */
  readonly databaseFailure: DatabaseFailure | undefined;
}

/** @throws Waiting where a claim or a Secret that the spec names does not exist */
export function requireReferences(bench: AppBench, reader: ClusterReader): void {
  const { namespace = 'default' } = bench.metadata;
  for (const secret of referencedSecrets(bench)) {
    requireSecret({ namespace, ...secret }, reader, uidOf);
  }
  requireClaims(bench, existingClaims(bench), reader);
}

export function resolveData(bench: AppBench, model: BenchModel, reader: ClusterReader): BenchData {
  const { dbConfig } = bench.spec;
  return {
    redisVersion: redisVersion(model, reader),
    databaseImage: databaseImage(model.database, dbConfig, model.namespace, reader),
    databaseCertificate: certificateVersion(dbConfig.tls, model.namespace, reader),
    databases: outsideDatabases(bench, model, reader),
    databaseFailure: resolveDatabaseFailure(model, reader),
  };
}

function outsideDatabases(
  { spec }: AppBench,
  { name, namespace, database }: BenchModel,
  reader: ClusterReader,
): readonly OutsideServer[] {
  if (!spec.networkPolicy?.egress?.enabled) return [];
  const { host, port, provider } = database;
  const servers = [
    ...(spec.dbConfig.mode === 'managed' ? [] : [{ host, port }]),
    ...reader.list(sitesOfBench, keyOf(namespace, name), preparedDatabase),
  ];
  const known = servers.flatMap((server) =>
    server ? [{ host: server.host, port: server.port ?? DEFAULT_PORTS[provider] }] : [],
  );
  const byAddress = new Map(known.map((server) => [`${server.host}:${server.port}`, server]));
  return [...byAddress].sort(([a], [b]) => compare(a, b)).map(([, server]) => server);
}

/** The server of a site's prepared database; undefined in other modes. */
function preparedDatabase({ spec }: AppSite) {
  const { mode, host, port } = spec.dbConfig;
  return mode === 'external' && host !== undefined ? { host: bareHost(host), port } : undefined;
}

function existingClaims({ spec }: AppBench): readonly ExistingClaim[] {
  const { storage, redisConfig, dbConfig } = spec;
  return [
    {
      name: storage.existingClaim,
      path: 'spec.storage.existingClaim',
      accessModes: [storage.accessMode],
    },
    {
      name: redisConfig?.storage?.existingClaim,
      path: 'spec.redisConfig.storage.existingClaim',
      accessModes: ONE_POD,
    },
    {
      name: dbConfig.storage?.existingClaim,
      path: 'spec.dbConfig.storage.existingClaim',
      accessModes: ONE_POD,
    },
  ];
}

function referencedSecrets({ spec }: AppBench): { readonly path: string; readonly name: string }[] {
  const root = spec.dbConfig.rootSecretRef;
  const { urlsSecretRef: urls, caSecretRef: ca } = spec.redisConfig?.external ?? {};
  return [
    ...(spec.dbConfig.mode === 'external' && root
      ? [{ path: 'spec.dbConfig.rootSecretRef.name', name: root.name }]
      : []),
    ...tlsSecrets(spec.dbConfig.tls),
    ...(urls ? [{ path: 'spec.redisConfig.external.urlsSecretRef.name', name: urls.name }] : []),
    ...(ca ? [{ path: 'spec.redisConfig.external.caSecretRef.name', name: ca.name }] : []),
  ];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
