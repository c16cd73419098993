import type { Manifest } from '../../cluster/support/objects.js';

/**
 * A MariaDB server that the operator knows nothing of: `name` is its Service, `<name>-root` its
 * login.
 */
export function outsideServer(name: string, password: string): readonly Manifest[] {
  const labels = { outside: name };
  const scratch = ['/run/mysqld', '/tmp'].map((mountPath) => ({
    name: 'scratch',
    mountPath,
    subPath: mountPath.slice(1).replaceAll('/', '-'),
  }));
  const data = { name: 'data', mountPath: '/var/lib/mysql' };
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${name}-root` },
      stringData: { username: 'root', password },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { selector: labels, ports: [{ port: 3306 }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name },
      spec: {
        serviceName: name,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            securityContext: {
              runAsNonRoot: true,
              runAsUser: 999,
              fsGroup: 0,
              seccompProfile: { type: 'RuntimeDefault' },
            },
            containers: [
              {
                name: 'mariadb',
                image: 'mariadb:10.11',
                env: [
                  { name: 'MARIADB_ROOT_HOST', value: '%' },
                  {
                    name: 'MARIADB_ROOT_PASSWORD',
                    valueFrom: { secretKeyRef: { name: `${name}-root`, key: 'password' } },
                  },
                ],
                securityContext: {
                  allowPrivilegeEscalation: false,
                  capabilities: { drop: ['ALL'] },
                },
                readinessProbe: {
                  exec: { command: ['healthcheck.sh', '--connect', '--innodb_initialized'] },
                  periodSeconds: 5,
                  timeoutSeconds: 5,
                },
                volumeMounts: [data, ...scratch],
              },
            ],
            volumes: [
              { name: 'data', persistentVolumeClaim: { claimName: name } },
              { name: 'scratch', emptyDir: {} },
            ],
          },
        },
      },
    },
  ];
}
