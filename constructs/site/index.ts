import { sitesByHost, sitesOfBench } from '../frappe/indexes.js';
import type { Kind } from '../kit/kind.js';
import { normalHost } from '../kit/normal.js';
import {
  Certificate,
  ClusterIssuer,
  Deployment,
  ExternalMariaDb,
  HorizontalPodAutoscaler,
  Ingress,
  Issuer,
  Job,
  MariaDb,
  MariaDbDatabase,
  MariaDbGrant,
  MariaDbUser,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  PostgresCluster,
  PostgresDatabase,
  PostgresRole,
  Route,
  ScaledObject,
  Secret,
  Service,
  StatefulSet,
  TraefikMiddleware,
} from '../kit/object-kind.js';
import { siteWarnings } from './warnings.js';
import type { AppSite } from './api.js';
import { SiteChart } from './chart.js';
import { appSite } from './definition.js';
import { resolveSite, type SiteInputs } from './resolve.js';
import { evaluateSite, siteProbes } from './evaluate.js';
import { siteReasons } from './reasons.js';
import { siteCleanup } from './cleanup.js';
import { siteStatusView } from './status-view.js';

/** One site on a bench. */
export const site: Kind<AppSite, SiteInputs> = {
  definition: appSite,
  owns: [
    Secret,
    PersistentVolumeClaim,
    Service,
    StatefulSet,
    Job,
    Deployment,
    NetworkPolicy,
    PodDisruptionBudget,
    Ingress,
    Route,
    Certificate,
    TraefikMiddleware,
    ScaledObject,
    MariaDbDatabase,
    MariaDbUser,
    MariaDbGrant,
    PostgresRole,
    PostgresDatabase,
  ],
  reads: [
    HorizontalPodAutoscaler,
    Secret,
    Issuer,
    ClusterIssuer,
    MariaDb,
    ExternalMariaDb,
    PostgresCluster,
  ],
  readsChildren: [PersistentVolumeClaim],
  references: [{ field: 'benchRef', kind: 'AppBench', label: 'bench' }],
  reasons: siteReasons,
  durableStatus: ['upgrade', 'restored'],
  durableOnChange: ['image'],
  indexes: [sitesOfBench, sitesByHost],
  resolve: resolveSite,
  admissionWarnings: siteWarnings,
  normal: [
    { path: ['spec', 'siteName'], form: normalHost },
    { path: ['spec', 'domain'], form: normalHost },
    { path: ['spec', 'aliases', '*'], form: normalHost },
  ],
  chart: (scope, id, props) => new SiteChart(scope, id, props),
  // Of thousands of sites few are restored.
  readsRuns: ({ spec }) => spec.restoreFrom !== undefined,
  probes: siteProbes,
  evaluate: evaluateSite,
  cleanup: siteCleanup,
  statusView: siteStatusView,
};
