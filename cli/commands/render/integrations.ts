/** The operators and platforms that app-operator integrates with, by the API groups that they serve. */
export const INTEGRATIONS: Readonly<Record<string, readonly string[]>> = {
  keda: ['keda.sh'],
  'cert-manager': ['cert-manager.io'],
  'mariadb-operator': ['k8s.mariadb.com'],
  'cloudnative-pg': ['postgresql.cnpg.io'],
  traefik: ['traefik.io'],
  openshift: ['route.openshift.io', 'security.openshift.io'],
};

export const INTEGRATION_NAMES: readonly string[] = Object.keys(INTEGRATIONS);
