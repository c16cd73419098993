import type { Observation } from '../kit/kind.js';
import { selectorText } from '../kit/labels.js';
import type { Resource } from '../kit/object.js';
import { selectorLabels } from './pod.js';

/** The status fields of the scale subresource, for the web processes of a name. */
export function scaleStatus(
  { child }: Pick<Observation<Resource, unknown>, 'child'>,
  owner: Resource,
  name: string,
): { readonly replicas: number; readonly selector: string } {
  return {
    replicas: child('Deployment', name)?.replicas?.current ?? 0,
    selector: selectorText(selectorLabels({ owner, name })),
  };
}
