/**
 * The package's public API: custom resources as constructs for a cdk8s app of one's own, previews
 * of manifests, and the operator's own manifests. `docs/preview.md` shows how they are used.
 */
export { Bench, type BenchProps, type Emit, type Metadata } from './preview/bench.js';
export { Site, type SiteProps } from './preview/site.js';
export { ManifestError, nameOf, problemLine } from './preview/manifest-error.js';
export {
  preview,
  type ClusterObjects,
  type Preview,
  type PreviewOptions,
} from './preview/preview.js';
export type { SkippedObject, ObjectProblem } from './preview/accept.js';

export { InstallChart, type InstallProps } from './install/chart.js';
export { CATEGORY, crdOf } from './install/crd.js';
export { CONTROL_PLANE, OPERATOR, PORTS } from './kit/operator-identity.js';
export { Monitoring, type MonitoringProps, monitoringObjects } from './monitoring/objects.js';
export type { OwnObject } from './monitoring/objects.js';

export { API_VERSION, DEFAULT_API_GROUP, type KindDefinition } from './kit/definition.js';
export type { Problem } from './kit/errors.js';
export type { KubeObject, Resource } from './kit/object.js';
export { kindId, type ObjectKind } from './kit/object-kind.js';
export { admit, type AdmitResult } from './kit/schema/admit.js';
export { DEFAULT_IDS, DEFAULT_SETTINGS, type Settings } from './kit/operator-settings.js';
export { synthesize } from './kit/synth.js';
export { type AnyKind, DEFINITIONS, KINDS } from './registry.js';

/** The kinds' objects as the API server stores them. */
export type * from './api.generated.js';

/**
 * The kinds as `cdk8s import` writes them: constructs of the custom resources, and types of what
 * users write.
 */
export * as resources from '../imports/app-operator.io.js';
