import type { DatabaseOperator } from '../kit/database-operator.js';
import type { AccessHook, Integration, UsedKinds } from '../kit/integration.js';
import { distinctKinds } from '../kit/object-kind.js';
import { certManager } from './cert-manager/index.js';
import { cloudNativePg } from './cloudnative-pg/index.js';
import { gatewayApi } from './gateway-api/index.js';
import { keda } from './keda/index.js';
import { mariaDbOperator } from './mariadb-operator/index.js';
import { openShift } from './openshift/index.js';
import { prometheusOperator } from './prometheus-operator/index.js';
import { traefik } from './traefik/index.js';

/** The optional APIs that the operator works with. A new one is one folder, and one line here. */
export const INTEGRATIONS: readonly Integration[] = [
  keda,
  certManager,
  mariaDbOperator,
  cloudNativePg,
  traefik,
  openShift,
  gatewayApi,
  prometheusOperator,
];

/** All that a kind of ours uses of them. */
export function usedKinds(kind: string): Required<UsedKinds> {
  const used = INTEGRATIONS.flatMap(({ uses }) => uses?.[kind] ?? []);
  return {
    owns: distinctKinds(used.flatMap(({ owns = [] }) => owns)),
    reads: distinctKinds(used.flatMap(({ reads = [] }) => reads)),
    detects: distinctKinds(used.flatMap(({ detects = [] }) => detects)),
  };
}

/** The parts of some integrations in the access to a site, by their names. */
export function accessHooks(names: readonly string[]): readonly AccessHook[] {
  return INTEGRATIONS.flatMap(({ name, access }) =>
    access && names.includes(name) ? [access] : [],
  );
}

/** The database operator that makes databases on a kind of server. */
export function databaseOperator(provider: DatabaseOperator['provider']): DatabaseOperator {
  const found = INTEGRATIONS.find(({ database }) => database?.provider === provider)?.database;
  if (!found) throw new Error(`no integration has a database operator for ${provider}`);
  return found;
}
