import {
  ingressesByHost,
  sitesByClaim,
  sitesByHost,
  sitesByPublicHost,
  sitesOfBench,
} from '../../frappe/indexes.js';
import { INTEGRATIONS } from '../../integrations/index.js';
import { usedKinds, type Integration } from '../../kit/integration.js';
import type { Kind } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import { normalHost } from '../../kit/normal-form.js';
import {
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Ingress,
  Job,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  Secret,
  Service,
  StatefulSet,
} from '../../kit/object-kind.js';
import { siteWarnings } from './warnings.js';
import type { AppSite } from '../../api/site.js';
import { SiteChart } from './chart.js';
import { appSite } from './definition.js';
import type { SiteInputs } from './inputs.js';
import { sitePodFields } from './pod-fields.js';
import { resolveSite } from './resolve.js';
import { evaluateSite, siteProbes } from './evaluate.js';
import { siteReasons } from './reasons.js';
import { siteCleanup } from './cleanup.js';
import { siteStatusView } from './status-view.js';

/** One site on a bench, with what integrations add to it. */
export const siteWith = (integrations: readonly Integration[]): Kind<AppSite, SiteInputs> => ({
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
    ...usedKinds(appSite.kind, integrations).owns,
  ],
  reads: [
    HorizontalPodAutoscaler,
    PersistentVolumeClaim,
    Secret,
    ConfigMap,
    Ingress,
    ...usedKinds(appSite.kind, integrations).reads,
  ],
  detects: usedKinds(appSite.kind, integrations).detects,
  references: [{ field: 'benchRef', kind: 'AppBench', label: 'bench' }],
  reasons: siteReasons,
  durableStatus: ['upgrade', 'restored', 'siteConfig', 'socialLogins'],
  durableOnChange: ['image'],
  // The database is encrypted with its key.
  recordedIn: ({ metadata }) => ({ kind: Secret, name: siteNames(metadata.name).encryptionKey }),
  indexes: [sitesOfBench, sitesByHost, sitesByPublicHost, sitesByClaim, ingressesByHost],
  resolve: (resource, reader) => resolveSite(resource, reader, integrations),
  admissionWarnings: siteWarnings,
  podFields: sitePodFields,
  normal: [
    { path: ['spec', 'siteName'], form: normalHost },
    { path: ['spec', 'domain'], form: normalHost },
    { path: ['spec', 'aliases', '*'], form: normalHost },
  ],
  chart: (scope, id, props) => new SiteChart(scope, id, { ...props, integrations }),
  // Of thousands of sites few are restored.
  readsRuns: ({ spec }) => spec.restoreFrom !== undefined,
  probes: siteProbes,
  evaluate: (observation) => evaluateSite(observation, integrations),
  cleanup: siteCleanup,
  previewStatus: ({ metadata: { generation = 0 } }) => ({
    observedGeneration: generation,
    conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }],
  }),
  statusView: siteStatusView,
});

export const site = siteWith(INTEGRATIONS);
