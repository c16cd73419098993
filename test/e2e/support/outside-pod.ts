import type { Manifest } from '../../cluster/support/objects.js';
import type { E2e } from '../harness.js';

/** A pod outside of benches: a Redis without a password. */
export function outsidePod(
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

/**
 * Whether a pod can connect to a port of a host, that of Redis by default, within 15 s: many calls
 * may run at once.
 */
export async function canConnect(
  cluster: E2e,
  { namespace, pod }: { readonly namespace: string; readonly pod: string },
  host: string,
  port = 6379,
): Promise<boolean> {
  // Every image of Debian has bash, which can connect.
  const connect =
    'timeout 15 bash -c "</dev/tcp/$1/$2" connect "$1" "$2" 2>/dev/null && echo connected || true';
  const command = ['sh', '-c', connect, 'sh', host, String(port)];
  return (await cluster.exec(namespace, pod, command)).includes('connected');
}
