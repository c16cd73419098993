import type { Resource } from './object.js';
import { metadataKeysOf } from './metadata-keys.js';

/** The value of `app.kubernetes.io/managed-by` on everything that the operator makes. */
export const MANAGED_BY = 'app-operator';
export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
/** On everything that the operator makes, pods included: which part of a bench or a site it is. */
export const COMPONENT_LABEL = 'app.kubernetes.io/component';
/**
 * On what a bench or a site owns. Argo CD takes an object with this label for one of its application of that
 * name, and prunes it unless it has an owner: data, which outlives its owner, never has it.
 */
export const INSTANCE_LABEL = 'app.kubernetes.io/instance';

/** Value of the owner label: kinds have no dots, so it is unambiguous; at most 63 characters. */
export function ownerValue(resource: Pick<Resource, 'kind' | 'metadata'>): string {
  return `${resource.kind}.${resource.metadata.name}`;
}

/** Labels of every child of a resource. */
export function childLabels(resource: Resource, component: string): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'frappe',
    [INSTANCE_LABEL]: resource.metadata.name,
    [COMPONENT_LABEL]: component,
    [MANAGED_BY_LABEL]: MANAGED_BY,
    [metadataKeysOf(resource).owner]: ownerValue(resource),
  };
}

/** The text of a selector of these labels: `a=b,c=d`. */
export function selectorText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}
