import { objectKind } from '../../constructs/kit/definition.js';
import * as kinds from '../../constructs/kit/object-kind.js';
import { kindId, type ObjectKind } from '../../constructs/kit/object-kind.js';
import { BATCHES, DEFINITIONS, KINDS } from '../../constructs/registry.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import { Pod } from '../../runner/health/pod-diagnostics.js';

/** A kind, and what is asked of it. */
export interface Listing {
  readonly kind: ObjectKind;
  readonly labelSelector?: string;
  /** Only metadata is asked for: what it holds is large or secret, and says nothing of its health. */
  readonly metadataOnly?: true;
  /** Whether a cluster without this API is one without ours. */
  readonly required?: true;
}

const MADE_BY_US = `${MANAGED_BY_LABEL}=${MANAGED_BY}`;
const QUIET = new Set(
  [kinds.ConfigMap, kinds.Secret, kinds.Service, kinds.NetworkPolicy].map(kindId),
);

/** Our kinds. */
export function resourceKinds(apiGroup?: string): readonly ObjectKind[] {
  return DEFINITIONS.map((definition) => objectKind(definition, apiGroup));
}

/** The kinds of children, each once. */
export const CHILD_KINDS = once([...KINDS, ...BATCHES].flatMap(({ owns }) => owns));

/** The kinds of others that trees depend on. */
export const REFERENCE_KINDS = once(KINDS.flatMap(({ reads }) => reads)).filter(
  (kind) => !CHILD_KINDS.some((owned) => kindId(owned) === kindId(kind)),
);

/** The APIs that trees are different without. */
export const OPTIONAL_KINDS = once([
  ...[...CHILD_KINDS, ...REFERENCE_KINDS].filter(({ optional }) => optional),
  ...KINDS.flatMap(({ detects = [] }) => detects),
]);

export const POD = Pod;

/** The annotation in which kubectl keeps a copy of what it was given. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Everything that a status is made from. */
export function listings(apiGroup?: string): readonly Listing[] {
  return [
    ...resourceKinds(apiGroup).map((kind) => ({ kind, required: true as const })),
    ...CHILD_KINDS.map((kind) => ({
      kind,
      labelSelector: MADE_BY_US,
      ...(QUIET.has(kindId(kind)) ? { metadataOnly: true as const } : {}),
    })),
    { kind: POD, labelSelector: MADE_BY_US },
  ];
}

/** What trees depend on and nobody here has made. */
export function references(): readonly Listing[] {
  return REFERENCE_KINDS.map((kind) => ({
    kind,
    ...(kind.content ? {} : { metadataOnly: true as const }),
  }));
}

function once(kinds: readonly ObjectKind[]): readonly ObjectKind[] {
  return [...new Map(kinds.map((kind) => [kindId(kind), kind])).values()];
}
