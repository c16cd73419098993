import type { ConfigurationSync } from '../../configuration/sync.js';
import type { BackupStore } from '../../frappe/backup-store.js';
import type { BenchModel } from '../../frappe/bench-model.js';
import type { ForeignScalers } from '../../frappe/worker-scaling.js';
import type { SiteDatabasePlan } from './database.js';
import type { SiteTlsInputs } from './tls.js';

/** What the tree of a site depends on. */
export interface SiteInputs {
  readonly bench: BenchModel;
  /**
   * Why the site must not be created or changed yet; undefined when the bench is ready, or is kept
   * for its sites only.
   */
  readonly blockedReason: string | undefined;
  /**
   * What identifies the values of the generated Secrets: the site must get values that were generated
   * again.
   */
  readonly generated: readonly string[];
  readonly database: SiteDatabasePlan;
  /** Why the server of a database operator is not ready, in that operator's words. */
  readonly serverNotReady: string | undefined;
  /** Version of the Secret of a prepared database. */
  readonly databaseVersion: string;
  /** Changes with the files of its encrypted connections, see `tlsVersions`. */
  readonly databaseTlsVersions: readonly string[];
  /** Changes with the certificate of a dedicated database server. */
  readonly databaseCertificate: string | undefined;
  /** Changes with the login to Redis, see `redisVersion`. */
  readonly redisVersion: string;
  readonly apps: readonly string[];
  /** The public host name. */
  readonly domain: string;
  /** All public host names, `domain` first. */
  readonly hosts: readonly string[];
  readonly adminPassword: { readonly secret: string; readonly version: string };
  /** Whether the operator generates that Secret: a user has neither named nor created one. */
  readonly generatesPassword: boolean;
  /** Undefined also where a Route has the router's certificate. */
  readonly tls: SiteTlsInputs | undefined;
  /** Undefined where the site has an Ingress, or neither. */
  readonly route: SiteRouteInputs | undefined;
  /** Whether the cluster serves KEDA's API. */
  readonly keda: boolean;
  /** The integrations that add to the site's Ingress, and whose API is served. */
  readonly ingressExtensions: readonly string[];
  /** The queues that only the operator scales from zero. */
  readonly scaledToZero: readonly string[];
  /** The HorizontalPodAutoscalers of others that scale the site's workers. */
  readonly foreignScalers: ForeignScalers;
  /** The upgrade to the bench's image; undefined where the site's data is of it. */
  readonly upgrade: SiteUpgradeInputs | undefined;
  /** The restore that `restoreFrom` requests; undefined where it is not given. */
  readonly restore: SiteRestoreInputs | undefined;
  /** With another value the init Job runs again. */
  readonly runAgain: string | undefined;
  /** The keys of site_config.json that the spec declares; undefined where it never did. */
  readonly configuration: ConfigurationSync | undefined;
}

/** The way of a site from the image that its data is of to the one of its bench. */
export interface SiteUpgradeInputs {
  readonly from: string;
  readonly to: string;
  /** Whether its turn has come: until then the site's own tree stays on the image before. */
  readonly started: boolean;
  /** Whether the site is known to be closed. */
  readonly closed: boolean;
  /** Why the site cannot be opened again yet, after its migration. */
  readonly reopenBlockedReason: string | undefined;
}

/** The restore that `restoreFrom` requests. */
export interface SiteRestoreInputs {
  /** Hash of the request: each is restored once. */
  readonly id: string;
  /** Whether the data of a site that exists may be replaced. */
  readonly confirmed: boolean;
  /**
   * Where the backup is stored; undefined where it was restored, must not be, or cannot be found.
   */
  readonly store: BackupStore | undefined;
  /** Why it cannot be restored now. */
  readonly problem: { readonly reason: string; readonly message: string } | undefined;
}

/** The routes of a site that has no Ingress. */
export interface SiteRouteInputs {
  /** Name of the integration that provides them. */
  readonly provider: string;
  /** Whether the router serves HTTPS, with its own certificate. */
  readonly encrypted: boolean;
}
