import type { AppSite } from '../../api/site.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import { databaseImage } from '../../frappe/database-image.js';
import { certificateVersion, tlsVersions } from '../../frappe/database-tls.js';
import { ONE_POD, requireClaims } from '../../frappe/existing-claim.js';
import { redisVersion } from '../../frappe/redis-version.js';
import { requireSecret } from '../../frappe/secret.js';
import type { ClusterReader } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import { namedSecretOf, valuesIdOf } from '../../kit/secret-values.js';
import { databasePlan, type SiteDatabasePlan } from './database.js';
import { resolveRestore, type SiteRestoreInputs } from './restore.js';

/** What the site's data depends on: its database, its Secrets, the backup to restore. */
export interface SiteData extends SiteSecrets {
  readonly database: SiteDatabasePlan;
  /** Changes with the files of its encrypted connections, see `tlsVersions`. */
  readonly databaseTlsVersions: readonly string[];
  /** The image of a dedicated database server. */
  readonly databaseImage: string;
  /** Changes with the certificate of a dedicated database server. */
  readonly databaseCertificate: string | undefined;
  /** Changes with the login to Redis, see `redisVersion`. */
  readonly redisVersion: string;
  /** The restore that `restoreFrom` requests; undefined where it is not given. */
  readonly restore: SiteRestoreInputs | undefined;
}

interface SiteSecrets {
  /** undefined where a site that is taken over keeps its password. */
  readonly adminPassword: { readonly secret: string; readonly version: string } | undefined;
  /** Whether the operator generates that Secret: a user has neither named nor created one. */
  readonly generatesPassword: boolean;
  /** Version of the Secret of a prepared database. */
  readonly databaseVersion: string;
  /**
   * What identifies the values of the generated Secrets: the site must get values that were generated
   * again.
   */
  readonly generated: readonly string[];
  /** The first generated Secret that does not exist, in a preview. */
  readonly missing: string | undefined;
}

/** @throws Waiting where a claim or a Secret does not exist */
export function resolveData(site: AppSite, bench: BenchModel, reader: ClusterReader): SiteData {
  const { storage, tls } = site.spec.dbConfig;
  const path = 'spec.dbConfig.storage.existingClaim';
  const claim = { name: storage?.existingClaim, path, accessModes: ONE_POD };
  requireClaims(site, [claim], reader);
  const database = databasePlan(site, bench);
  return {
    ...resolveSecrets(site, database, reader),
    database,
    databaseTlsVersions: databaseTls(site, database, reader),
    databaseImage: databaseImage(database.server, site.spec.dbConfig, bench.namespace, reader),
    databaseCertificate: certificateVersion(tls, bench.namespace, reader),
    redisVersion: redisVersion(bench, reader) ?? '',
    restore: resolveRestore(site, reader),
  };
}

/** @throws Waiting where a Secret of the encrypted connections does not exist */
function databaseTls(
  { metadata, spec }: AppSite,
  { mode, server }: SiteDatabasePlan,
  reader: ClusterReader,
): readonly string[] {
  const { namespace = 'default', name } = metadata;
  const isOwn = mode === 'external' || mode === 'dedicated';
  const owner = isOwn ? `AppSite ${name}` : `AppBench ${spec.benchRef.name}`;
  return tlsVersions(server, { namespace, owner }, reader);
}

/** @throws Waiting where a Secret that the spec names does not exist */
function resolveSecrets(
  { metadata, spec }: Pick<AppSite, 'metadata' | 'spec'>,
  database: SiteDatabasePlan,
  reader: ClusterReader,
): SiteSecrets {
  const { namespace = 'default' } = metadata;
  const names = siteNames(metadata.name);
  const version = (name: string, path: string): string =>
    requireSecret({ namespace, name, path }, reader);
  const external = spec.dbConfig.mode === 'external';
  const admin = adminPassword({ metadata, spec }, reader);
  const { password } = database;
  const databaseVersion =
    external && password ? version(password.secret, 'spec.dbConfig.secretRef.name') : '';
  const others = [...(external ? [] : [names.databaseSecret]), names.encryptionKey].map((name) => ({
    name,
    id: reader.generated(namespace, name, valuesIdOf),
  }));
  const generated = [
    ...(admin?.generated ? [{ name: names.adminPassword, id: admin.id }] : []),
    ...others,
  ];
  return {
    adminPassword: admin && { secret: admin.secret, version: admin.version },
    generatesPassword: admin?.generated ?? false,
    databaseVersion,
    generated: generated.map(({ id = '' }) => id),
    missing: generated.find(({ id }) => id === undefined)?.name,
  };
}

/** The Secret of the administrator's password, and whether the operator generates it. */
interface AdminPassword {
  readonly secret: string;
  readonly version: string;
  readonly generated: boolean;
  /** See `valuesIdOf`; undefined for a Secret that does not exist, in a preview. */
  readonly id: string | undefined;
}

/**
 * A Secret of the generated name that a user has created is the user's, and counts as referenced.
 * @throws Waiting where the Secret that the spec names does not exist
 */
function adminPassword(
  { metadata, spec }: Pick<AppSite, 'metadata' | 'spec'>,
  reader: ClusterReader,
): AdminPassword | undefined {
  const { namespace = 'default', name } = metadata;
  const reference = spec.adminPasswordSecretRef?.name;
  if (reference !== undefined) {
    const path = 'spec.adminPasswordSecretRef.name';
    const version = requireSecret({ namespace, name: reference, path }, reader);
    return { secret: reference, version, generated: false, id: undefined };
  }
  if (spec.adopt) return undefined;
  const secret = siteNames(name).adminPassword;
  const found = reader.generated(namespace, secret, namedSecretOf);
  if (!found) return { secret, version: '', generated: true, id: undefined };
  const { version, generated, id } = found;
  return { secret, version, generated, id };
}
