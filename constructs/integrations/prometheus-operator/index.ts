import type { Integration } from '../../kit/integration.js';

/** Scrapes the operator and its benches, and evaluates the alerts: see `constructs/monitoring`. */
export const prometheusOperator: Integration = {
  name: 'prometheus-operator',
  title: 'the Prometheus operator',
};
