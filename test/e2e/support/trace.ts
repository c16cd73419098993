import { at, type Live } from '../../cluster/support/objects.js';
import { seconds } from '../../support/figures.js';
import { describeTrace, type LogLine, logLines, podTraces } from '../../support/trace.js';
import type { E2e } from '../harness.js';

/** What the scripts of the operator print about their own steps. */
const STEP = /^(creating|installing|waiting for|set the|enabled the) /;

/** Adds when each pod of a namespace was created, started and ready, since a time. */
export async function addTrace(cluster: E2e, namespace: string, from: number): Promise<void> {
  const pods = await cluster.pods(namespace);
  for (const trace of podTraces(pods)) {
    cluster.figures.add(`  ${trace.name}`, describeTrace(trace, from));
  }
}

/** Adds when the steps of a Job began, since a time, by the times of its log. */
export async function addSteps(
  cluster: E2e,
  { namespace, job }: { readonly namespace: string; readonly job: string },
  from: number,
): Promise<void> {
  const pods = await cluster.pods(namespace, `job-name=${job}`);
  const lines = (await Promise.all(pods.flatMap((pod) => logsOf(cluster, pod)))).flat();
  for (const { time, text } of lines.filter(({ text: line }) => STEP.test(line))) {
    cluster.figures.add(`  ${job}: ${text}`, `+${seconds(time - from)}`);
  }
}

function logsOf(cluster: E2e, pod: Live): readonly Promise<readonly LogLine[]>[] {
  const { name, namespace = '' } = pod.metadata;
  const containers = (at(pod, 'spec.containers') ?? []) as readonly { readonly name: string }[];
  return containers.map(async (container) =>
    logLines(await cluster.logs(namespace, name, `--container=${container.name}`, '--timestamps')),
  );
}
