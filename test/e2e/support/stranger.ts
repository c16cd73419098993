import type { Manifest } from '../../cluster/support/objects.js';
import type { E2e } from '../harness.js';

/** A pod that belongs to no bench. It listens where Redis does, and asks nobody for a password. */
export function stranger(name: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
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

/** Whether a pod gets a connection to Redis' port of a host within three seconds. */
export async function isReached(
  cluster: E2e,
  namespace: string,
  pod: string,
  host: string,
): Promise<boolean> {
  // bash is in every image of Debian, and connects by itself.
  const connect =
    'timeout 3 bash -c "</dev/tcp/$1/6379" connect "$1" 2>/dev/null && echo reached || true';
  return (await cluster.exec(namespace, pod, ['sh', '-c', connect, 'sh', host])).includes(
    'reached',
  );
}
