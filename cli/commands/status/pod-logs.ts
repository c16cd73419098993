import { isForbidden } from '../../../runner/api/api-error.js';
import type { Client } from '../../../runner/api/client.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import type { PodObject } from '../../../runner/health/pod-diagnostics.js';
import { redactText } from '../../../runner/telemetry/redact.js';
import { POD } from '../../kube/kinds.js';
import type { Omission } from '../../kube/snapshot.js';
import type { LastLog } from './tree-node.js';
import { wantedLog, type WantedLog } from './pod-status.js';

/** The pods whose logs are read at a time: when hundreds fail, the cause is the same. */
const MAX_PODS = 10;
const LINES = 5;
/** A line may be endless. */
const BYTES = 64 * 1024;

/** The logs of failing pods, by `WantedLog.key`, and what could not be read. */
export async function lastLogs(
  client: Pick<Client, 'request'>,
  pods: readonly PodObject[],
): Promise<{
  readonly logs: ReadonlyMap<string, LastLog>;
  readonly omitted: readonly Omission[];
}> {
  const logs = new Map<string, LastLog>();
  const forbidden = new Set<string>();
  const wanted = pods.flatMap((pod) => wantedLog(pod) ?? []).slice(0, MAX_PODS);
  const read = async (one: WantedLog): Promise<void> => {
    try {
      logs.set(one.key, await readLog(client, one));
    } catch (error) {
      // The pod or its log may be deleted. The status of the pod is shown anyway.
      if (isForbidden(error)) forbidden.add(one.namespace);
    }
  };
  await Promise.all(wanted.map(read));
  const why = 'forbidden: get pods/log';
  const omitted = [...forbidden].map((namespace) => ({ what: 'logs of pods', namespace, why }));
  return { logs, omitted };
}

async function readLog(
  client: Pick<Client, 'request'>,
  { namespace, pod, container, previous }: WantedLog,
): Promise<LastLog> {
  const text = await client.request<string>('GET', resourcePath(POD, namespace, pod, 'log'), {
    query: {
      container,
      previous: String(previous),
      tailLines: String(LINES),
      limitBytes: String(BYTES),
    },
    answer: 'text',
    timeoutMs: 10_000,
  });
  return { container, previous, lines: redactText(text).trimEnd().split('\n').slice(-LINES) };
}
