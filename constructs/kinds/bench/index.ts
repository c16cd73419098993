import {
  benchesByClaim,
  benchesByTurn,
  scalersOfDeployment,
  sitesOfBench,
} from '../../frappe/indexes.js';
import { usedKinds } from '../../integrations/index.js';
import { Waiting } from '../../kit/errors.js';
import type { Kind } from '../../kit/kind.js';
import { retainsData } from '../../kit/deletion-policy.js';
import { normalHost } from '../../kit/normal-form.js';
import { benchNames } from '../../kit/names.js';
import { keyOf } from '../../kit/object.js';
import {
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Job,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  Secret,
  Service,
  StatefulSet,
} from '../../kit/object-kind.js';
import { benchWarnings } from './warnings.js';
import type { AppBench } from '../../api/bench.js';
import { knowsAssets } from './assets.js';
import { BenchChart } from './chart.js';
import { appBench } from './definition.js';
import { benchPodFields } from './pod-fields.js';
import { resolveBench, type BenchInputs } from './resolve.js';
import { evaluateBench } from './evaluate.js';
import { benchStatusView } from './status-view.js';
import { benchReasons } from './reasons.js';

const used = usedKinds(appBench.kind);

/** Shared infrastructure for a set of sites, with what integrations add to it. */
export const bench: Kind<AppBench, BenchInputs> = {
  definition: appBench,
  owns: [
    ConfigMap,
    Secret,
    PersistentVolumeClaim,
    Service,
    StatefulSet,
    Job,
    Deployment,
    NetworkPolicy,
    PodDisruptionBudget,
    HorizontalPodAutoscaler,
    ...used.owns,
  ],
  reads: [HorizontalPodAutoscaler, PersistentVolumeClaim, Secret, ConfigMap, ...used.reads],
  detects: used.detects,
  references: [],
  reasons: benchReasons,
  durableStatus: ['upgrade', 'ids', 'imageDigest', 'assets', 'siteConfig'],
  durableOnChange: ['image'],
  // A claim of the user's own is not written to.
  recordedIn: ({ metadata, spec }) =>
    spec.storage.existingClaim === undefined
      ? { kind: PersistentVolumeClaim, name: benchNames(metadata.name).sites }
      : undefined,
  indexes: [benchesByClaim, benchesByTurn, scalersOfDeployment],
  resolve: resolveBench,
  admissionWarnings: benchWarnings,
  podFields: benchPodFields,
  normal: [{ path: ['spec', 'domainConfig', 'suffix'], form: normalHost }],
  chart: (scope, id, props) => new BenchChart(scope, id, props),
  // Only until the image's digest and assets are known, or that the keys are set.
  readsRuns: ({ resource, inputs }) =>
    inputs.awaitsDigest || !knowsAssets(resource) || inputs.configuration?.taskHash !== undefined,
  probes: () => [],
  evaluate: evaluateBench,
  cleanup: {
    // A bench outlives its sites.
    needed: () => true,
    retainsData,
    blockers({ metadata }, reader) {
      const sites = reader.names(sitesOfBench, keyOf(metadata.namespace, metadata.name));
      if (sites.length === 0) return;
      const shown = sites.slice(0, 5).join(', ');
      const more = sites.length > 5 ? ` and ${sites.length - 5} more` : '';
      throw new Waiting('SitesExist', `waiting for its sites to be deleted: ${shown}${more}`);
    },
    listsLive: [sitesOfBench],
    keepsChildren: true,
    chart: () => undefined,
  },
  statusView: benchStatusView,
};
