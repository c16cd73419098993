import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import type { Outcome, Run } from '../../arguments/command.js';
import type { IOStreams } from '../../io/streams.js';
import { toYaml } from '../../io/yaml.js';
import { connected } from '../../kube/connect.js';
import { selectionOf, type Selection } from '../../kube/kind-names.js';
import type { STATUS_FLAGS } from './flags.js';
import { renderTrees } from './render-tree.js';
import { statusNow, type Form, type StatusReport } from './reporter.js';
import { summaryOf } from './summary.js';

export const runStatus: Run<typeof STATUS_FLAGS> = ({ values, positionals }, io) => {
  const { output: form = 'tree', all = false } = values;
  const apiGroup = values['api-group'] ?? DEFAULT_API_GROUP;
  const selection = selectionOf(positionals, { apiGroup });
  return connected(values, io, async (connection): Promise<Outcome> => {
    const { client } = connection;
    const namespace = values['all-namespaces'] ? undefined : connection.namespace;
    const report = await statusNow({ client, apiGroup, namespace, selection });
    // An interrupted report is incomplete.
    io.signal.throwIfAborted();
    return { out: textOf(report, form, { all, io, selection }), code: 0 };
  });
};

function textOf(
  report: StatusReport,
  form: Form,
  props: { readonly all: boolean; readonly io: IOStreams; readonly selection: Selection },
): string {
  const { all, io, selection } = props;
  if (form === 'json') return `${JSON.stringify(report, undefined, 2)}\n`;
  if (form === 'yaml') return toYaml([report]);
  const lines = renderTrees(report.resources, {
    colours: io.colours,
    columns: io.columns,
    now: Date.now(),
    all,
    namespaces: report.namespace === null,
  });
  return [...lines, ...summaryOf(report, selection.kind), ''].join('\n');
}
