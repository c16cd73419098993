import { Stalled } from '../../constructs/kit/errors.js';
import { ownerValue } from '../../constructs/kit/labels.js';
import type { MetadataKeys } from '../../constructs/kit/metadata-keys.js';
import {
  groupOf,
  joined,
  keyOfObject,
  type KubeObject,
  type Resource,
} from '../../constructs/kit/object.js';
import { childOf, FIELD_MANAGER, type Child } from '../cache/child.js';
import type { PlannedChild } from '../plan/plan.js';

export const NOT_OURS = 'was not made by the operator';

/** Why an object is not the resource's own child; undefined if it is. */
export function foreignOwner(
  found: KubeObject,
  { resource, planned }: { readonly resource: Resource; readonly planned: PlannedChild },
  metadataKeys: MetadataKeys,
): string | undefined {
  const controller = found.metadata.ownerReferences?.find((reference) => reference.controller);
  if (controller) {
    const isSameName =
      controller.kind === resource.kind &&
      controller.name === resource.metadata.name &&
      groupOf(controller.apiVersion) === metadataKeys.group;
    return controller.uid === resource.metadata.uid || isSameName
      ? undefined
      : `is controlled by ${controller.kind} ${controller.name}`;
  }
  const labelled = found.metadata.labels?.[metadataKeys.owner] === ownerValue(resource);
  const applied = found.metadata.managedFields?.some(({ manager }) => manager === FIELD_MANAGER);
  if (!labelled && !applied) return NOT_OURS;
  const child = childOf(planned.kind, found, metadataKeys);
  return isOfAnother(child, resource) ? `was made for ${child.owner}` : undefined;
}

/** As `Child.owner` names a resource. */
export function ownerKey(resource: Resource): string {
  return joined(resource.kind, keyOfObject(resource));
}

/** Whether an object is labelled as the child of another resource. */
export function isOfAnother(
  child: Child | undefined,
  resource: Resource,
): child is Child & { readonly owner: string } {
  return child?.owner !== undefined && child.owner !== ownerKey(resource);
}

export function hasOtherController(child: Child | undefined, resource: Resource): boolean {
  return child?.controller !== undefined && child.controller !== resource.metadata.uid;
}

/** @param field of the spec that names a user's object in its place */
export function nameTaken(planned: PlannedChild, why: string, field?: string): Stalled {
  const use = field === undefined ? '' : `to use it, name it in ${field}; else `;
  return new Stalled(
    'NameTaken',
    `${planned.kind.kind} ${planned.name} exists and ${why}; the operator will not modify it; ${use}rename either object`,
    60_000,
  );
}
