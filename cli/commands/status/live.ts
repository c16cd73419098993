import type { Asker } from '../../kube/connect.js';
import { listings } from '../../kube/kinds.js';
import { takeSnapshot } from '../../kube/snapshot.js';
import { StatusReporter, type StatusReport } from './reporter.js';
import type { Wanted } from './tree.js';
import { follow } from './follow.js';

export interface LiveProps {
  readonly client: Asker;
  readonly apiGroup: string;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly wanted: Wanted;
}

/** The report of a moment. @throws CliError where what was named is not there */
export async function statusNow(props: LiveProps): Promise<StatusReport> {
  const reporter = reporterOf(props);
  const report = await reporter.report(
    await takeSnapshot(props.client, listings(props.apiGroup), props.namespace),
  );
  reporter.require(report);
  return report;
}

/**
 * Shows reports as things change.
 * @returns when the signal is aborted, or `show` says that it is enough
 */
export async function statusLive(
  props: LiveProps,
  signal: AbortSignal,
  show: (report: StatusReport) => 'more' | 'enough',
): Promise<void> {
  const { client, apiGroup, namespace } = props;
  const reporter = reporterOf(props);
  const all = listings(apiGroup);
  const snapshot = await takeSnapshot(client, all, namespace);
  await follow(client, snapshot, {
    listings: all,
    namespace,
    signal,
    show: async () => show(await reporter.report(snapshot)),
  });
}

function reporterOf(props: LiveProps): StatusReporter {
  return new StatusReporter({ ...props, now: () => performance.now() });
}
