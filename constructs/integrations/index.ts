import type { Integration } from '../kit/integration.js';
import { certManager } from './cert-manager/index.js';
import { cloudNativePg } from './cloudnative-pg/index.js';
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
  prometheusOperator,
];
