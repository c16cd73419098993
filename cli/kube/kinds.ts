import { objectKind } from '../../constructs/kit/definition.js';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../constructs/kit/labels.js';
import {
  ConfigMap,
  kindId,
  NetworkPolicy,
  readsContent,
  Secret,
  Service,
  type ObjectKind,
} from '../../constructs/kit/object-kind.js';
import { BATCHES, KINDS, type AnyKind } from '../../constructs/registry.js';
import { Pod } from '../../runner/health/owned-pods.js';

/** A kind to list, and the part of its objects that is requested. */
export interface Listing {
  readonly kind: ObjectKind;
  readonly labelSelector?: string;
  /** Requests metadata only: the content is large or secret, and does not affect the health. */
  readonly metadataOnly?: true;
  /** Without this API, app-operator is not installed. */
  readonly required?: true;
}

const MANAGED = `${MANAGED_BY_LABEL}=${MANAGED_BY}`;
const METADATA_ONLY = new Set([ConfigMap, Secret, Service, NetworkPolicy].map(kindId));

export const POD = Pod;

/** The custom resources. */
export function resourceKinds(apiGroup?: string, kinds = KINDS): readonly ObjectKind[] {
  return kinds.map(({ definition }) => objectKind(definition, apiGroup));
}

/** The kinds of children, each once. */
export function childKinds(kinds = KINDS): readonly ObjectKind[] {
  return distinct([...kinds, ...BATCHES].flatMap(({ owns }) => owns));
}

/** The kinds that trees depend on, besides children. */
function referenceKinds(kinds = KINDS): readonly ObjectKind[] {
  const children = new Set(childKinds(kinds).map(kindId));
  return distinct(kinds.flatMap(({ reads }) => reads)).filter(
    (kind) => !children.has(kindId(kind)),
  );
}

/** The optional APIs that change the trees. */
export function optionalKinds(kinds = KINDS): readonly ObjectKind[] {
  return distinct([
    ...[...childKinds(kinds), ...referenceKinds(kinds)].filter(({ optional }) => optional),
    ...kinds.flatMap(({ detects = [] }) => detects),
  ]);
}

/** The registered kind of a resource. */
export function kindNamed(name: string, kinds = KINDS): AnyKind | undefined {
  return kinds.find(({ definition }) => definition.kind === name);
}

/** Everything that a status needs. */
export function listings(apiGroup?: string, kinds = KINDS): readonly Listing[] {
  return [
    ...resourceKinds(apiGroup, kinds).map((kind) => ({ kind, required: true as const })),
    ...childKinds(kinds).map((kind) => ({
      kind,
      labelSelector: MANAGED,
      ...(METADATA_ONLY.has(kindId(kind)) ? { metadataOnly: true as const } : {}),
    })),
    { kind: POD, labelSelector: MANAGED },
  ];
}

/** Everything that trees are made of: of the kinds that they read, also what others made. */
export function treeListings(apiGroup?: string, kinds = KINDS): readonly Listing[] {
  const read = new Set(kinds.flatMap(({ reads }) => reads).map(kindId));
  return [
    ...listings(apiGroup, kinds).map(({ labelSelector: managed, ...listing }) =>
      managed === undefined || read.has(kindId(listing.kind))
        ? listing
        : { ...listing, labelSelector: managed },
    ),
    ...referenceKinds(kinds).map((kind) => ({
      kind,
      ...(readsContent(kind) ? {} : { metadataOnly: true as const }),
    })),
  ];
}

function distinct(kinds: readonly ObjectKind[]): readonly ObjectKind[] {
  return [...new Map(kinds.map((kind) => [kindId(kind), kind])).values()];
}
