import type { Manifest } from '../../cluster/support/objects.js';
import type { E2e } from '../harness.js';

/** A pod that belongs to no bench. It listens where Redis does, and asks nobody for a password. */
export function stranger(
  name: string,
  labels: Readonly<Record<string, string>> = { app: name },
): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: {
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name,
          image: 'redis:7.2-alpine',
          command: ['redis-server', '--save', '', '--protected-mode', 'no', '--dir', '/tmp'],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
}

/** Whether a pod gets a connection to a port of a host, Redis' by default, within fifteen seconds: many may ask at once. */
export async function isReached(
  cluster: E2e,
  namespace: string,
  pod: string,
  host: string,
  port = 6379,
): Promise<boolean> {
  // bash is in every image of Debian, and connects by itself.
  const connect =
    'timeout 15 bash -c "</dev/tcp/$1/$2" connect "$1" "$2" 2>/dev/null && echo reached || true';
  const command = ['sh', '-c', connect, 'sh', host, String(port)];
  return (await cluster.exec(namespace, pod, command)).includes('reached');
}
