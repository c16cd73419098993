import {
  ingressesByHost,
  sitesByClaim,
  sitesByHost,
  sitesByPublicHost,
  sitesOfBench,
} from '../../frappe/indexes.js';
import { usedKinds } from '../../integrations/index.js';
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
import { previousAccess } from './access-move.js';
import { SiteChart } from './chart.js';
import { appSite } from './definition.js';
import { sitePodFields } from './pod-fields.js';
import { resolveSite, type SiteInputs } from './resolve.js';
import { evaluateSite } from './evaluate.js';
import { siteProbes } from './probes.js';
import { siteReasons } from './reasons.js';
import { siteCleanup } from './cleanup.js';
import { siteStatusView } from './status-view.js';

const used = usedKinds(appSite.kind);

/** One site on a bench, with what integrations add to it. */
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
    HorizontalPodAutoscaler,
    Ingress,
    ...used.owns,
  ],
  reads: [
    HorizontalPodAutoscaler,
    PersistentVolumeClaim,
    Secret,
    ConfigMap,
    Ingress,
    ...used.reads,
  ],
  detects: used.detects,
  references: [{ field: 'benchRef', kind: 'AppBench', label: 'bench' }],
  reasons: siteReasons,
  durableStatus: ['hosts', 'upgrade', 'restored', 'siteConfig', 'socialLogins'],
  durableOnChange: ['image'],
  // The database is encrypted with its key.
  recordedIn: ({ metadata }) => ({ kind: Secret, name: siteNames(metadata.name).encryptionKey }),
  fieldOf: ({ metadata }, { kind, name }) =>
    kind === 'Secret' && name === siteNames(metadata.name).adminPassword
      ? 'spec.adminPasswordSecretRef.name'
      : undefined,
  indexes: [sitesOfBench, sitesByHost, sitesByPublicHost, sitesByClaim, ingressesByHost],
  resolve: resolveSite,
  admissionWarnings: siteWarnings,
  podFields: sitePodFields,
  normal: [
    { path: ['spec', 'siteName'], form: normalHost },
    { path: ['spec', 'domain'], form: normalHost },
    { path: ['spec', 'aliases', '*'], form: normalHost },
  ],
  chart: (scope, id, props) => new SiteChart(scope, id, props),
  // Of thousands of sites few are restored, or configured now.
  readsRuns: ({ resource, inputs }) =>
    resource.spec.restoreFrom !== undefined || inputs.configuration?.taskHash !== undefined,
  probes: siteProbes,
  kept: previousAccess,
  evaluate: evaluateSite,
  cleanup: siteCleanup,
  previewStatus: ({ metadata: { generation = 0 } }) => ({
    observedGeneration: generation,
    conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }],
  }),
  statusView: siteStatusView,
};
