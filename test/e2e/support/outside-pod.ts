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

/** How long a connection may take: many are tried at once. */
const CONNECT_SECONDS = 15;

/** Those of several targets, `host:port`, that a pod can connect to. */
export async function reachable(
  cluster: E2e,
  { namespace, pod }: { readonly namespace: string; readonly pod: string },
  targets: readonly string[],
): Promise<readonly string[]> {
  // Every image of Debian has bash, which can connect.
  const connect = `for target; do
    timeout ${CONNECT_SECONDS} bash -c '</dev/tcp/"\${1%:*}"/"\${1##*:}"' connect "$target" \
      2>/dev/null && echo "$target" &
  done
  wait`;
  const output = await cluster.exec(namespace, pod, ['bash', '-c', connect, 'bash', ...targets]);
  const reached = output.split('\n');
  return targets.filter((target) => reached.includes(target));
}
