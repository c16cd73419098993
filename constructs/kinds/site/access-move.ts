import type { IngressLike } from '../../frappe/indexes.js';
import { HttpRoute } from '../../integrations/gateway-api/kinds.js';
import { isAccepted } from '../../integrations/gateway-api/status.js';
import { INTEGRATIONS } from '../../integrations/index.js';
import type { AccessGateway } from '../../kit/integration.js';
import type { ClusterReader, Observation } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import { Ingress, kindId, type ObjectKind } from '../../kit/object-kind.js';
import type { AppSite } from '../../api/site.js';

interface Inputs {
  readonly access: {
    readonly gateway: AccessGateway | undefined;
    readonly ingressTaken: boolean;
  };
}

/** Many ingress controllers never write the status of an Ingress: then a new one has this long. */
const TAKEN_AFTER_MS = 60_000;

/**
 * The kinds of the previous way to a site, until the new one works: a site that moves from an Ingress to
 * a Gateway, or back, loses no request.
 */
export function previousAccess({
  inputs,
  child,
}: Pick<Observation<AppSite, Inputs>, 'inputs' | 'child'>): readonly ObjectKind[] {
  const { gateway, ingressTaken } = inputs.access;
  if (!gateway) return ingressTaken ? [] : [HttpRoute];
  return isAccepted(gateway, child) ? [] : WITHOUT_GATEWAY;
}

const WITHOUT_GATEWAY: readonly ObjectKind[] = [
  Ingress,
  ...INTEGRATIONS.flatMap(({ access }) => access?.kind ?? []),
].filter((kind) => kindId(kind) !== kindId(HttpRoute));

/** Whether a controller serves the Ingress of a site, as far as it can be known. */
export function isTaken({ metadata }: AppSite, reader: ClusterReader): boolean {
  const { namespace = 'default' } = metadata;
  const { ingress: name } = siteNames(metadata.name);
  const seen = reader.get('Ingress', namespace, name, seenOf);
  if (!seen) return false;
  return seen.hasAddress || reader.isDue(seen.created, TAKEN_AFTER_MS);
}

function seenOf({ metadata, status }: IngressLike) {
  const hasAddress = (status?.loadBalancer.ingress.length ?? 0) > 0;
  return { hasAddress, created: metadata.creationTimestamp ?? '' };
}
