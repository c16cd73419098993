import { isObject } from '../../constructs/kit/json/is-object.js';
import type { KubeObject } from '../../constructs/kit/object.js';

/** Labels that a selector requires, and the object that has the selector. */
export interface FoundSelector {
  readonly of: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** All selectors of pods and Services in the objects of an installation, without a Deployment's own. */
export function selectorsIn(objects: readonly KubeObject[]): readonly FoundSelector[] {
  return objects.flatMap((object) => {
    const { kind, metadata } = object;
    // A schema has fields with the names of selectors.
    if (kind === 'CustomResourceDefinition') return [];
    const { spec } = object as { readonly spec?: Readonly<Record<string, unknown>> };
    const { selector, ...rest } = spec ?? {};
    const own = kind === 'Deployment' ? {} : { selector };
    return labelsIn({ ...rest, ...own }).map((labels) => ({
      of: `${kind}/${metadata.name}`,
      labels,
    }));
  });
}

function labelsIn(value: unknown): readonly Readonly<Record<string, string>>[] {
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'namespaceSelector') return [];
    const isService = key === 'selector' && isObject(inner) && !('matchLabels' in inner);
    return key === 'matchLabels' || isService
      ? [inner as Readonly<Record<string, string>>]
      : labelsIn(inner);
  });
}

/** The labels that kubebuilder gives to the pods of every operator. */
export const ANOTHER_OPERATOR = { 'control-plane': 'controller-manager' };

/** Whether a selector of labels selects an object with labels. */
export function selects(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}
