/** The operators and platforms of others that ours works with, by the API groups that they bring. */
export const OPERATORS: Readonly<Record<string, string | readonly string[]>> = {
  keda: 'keda.sh',
  'cert-manager': 'cert-manager.io',
  'mariadb-operator': 'k8s.mariadb.com',
  'cloudnative-pg': 'postgresql.cnpg.io',
  traefik: 'traefik.io',
  openshift: ['route.openshift.io', 'security.openshift.io'],
};

export const OPERATOR_NAMES: readonly string[] = Object.keys(OPERATORS);
