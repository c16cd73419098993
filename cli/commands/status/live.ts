import type { AnyKind } from '../../../constructs/registry.js';
import type { ApiClient } from '../../kube/connect.js';
import { listings } from '../../kube/kinds.js';
import { takeSnapshot } from '../../kube/snapshot.js';
import { follow, type Continuation } from './follow.js';
import { StatusReporter, type StatusReport } from './reporter.js';
import type { Selection } from '../../kube/kind-names.js';

export interface LiveProps {
  readonly client: ApiClient;
  readonly apiGroup: string;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly selection: Selection;
  /** @default KINDS */
  readonly kinds?: readonly AnyKind[];
}

/** One report. @throws CliError when the selected resource is not found */
export async function statusNow(props: LiveProps): Promise<StatusReport> {
  const { client, apiGroup, namespace, kinds } = props;
  const reporter = reporterOf(props);
  const report = await reporter.report(
    await takeSnapshot(client, listings(apiGroup, kinds), namespace),
  );
  reporter.require(report);
  return report;
}

/**
 * Shows a report after each change.
 * @returns when the signal is aborted, or `show` returns `stop`
 * @throws CliError when the selected resource is not in the first report
 */
export async function statusLive(
  props: LiveProps,
  signal: AbortSignal,
  show: (report: StatusReport) => Continuation,
): Promise<void> {
  const { client, apiGroup, namespace, kinds } = props;
  const reporter = reporterOf(props);
  const all = listings(apiGroup, kinds);
  const snapshot = await takeSnapshot(client, all, namespace);
  let isFirst = true;
  await follow(client, snapshot, {
    listings: all,
    namespace,
    signal,
    show: async () => {
      const report = await reporter.report(snapshot);
      // Later the resource may be deleted, and created again.
      if (isFirst) reporter.require(report);
      isFirst = false;
      return show(report);
    },
  });
}

function reporterOf(props: LiveProps): StatusReporter {
  return new StatusReporter({ ...props, now: () => performance.now() });
}
