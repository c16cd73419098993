import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../../constructs/registry.js';
import type { Outcome, Run } from '../../arguments/command.js';
import { UsageError } from '../../arguments/errors.js';
import type { IOStreams } from '../../io/streams.js';
import { toYaml } from '../../io/yaml.js';
import { connected } from '../../kube/connect.js';
import { kindOf, shortNameOf } from '../../kube/kind-names.js';
import type { STATUS_FLAGS } from './flags.js';
import { statusLive, statusNow } from './live.js';
import { renderTrees } from './render-tree.js';
import type { Form, StatusReport } from './reporter.js';
import { summaryOf } from './summary.js';
import type { Selection } from './tree.js';
import { Viewer } from './viewer.js';

export const runStatus: Run<typeof STATUS_FLAGS> = ({ values, positionals }, io) => {
  const { output: form = 'tree', all = false, watch = false } = values;
  const selection = selectionOf(positionals);
  const apiGroup = values['api-group'] ?? DEFAULT_API_GROUP;
  return connected(values, io, async (connection): Promise<Outcome> => {
    const { client } = connection;
    const namespace = values['all-namespaces'] ? undefined : connection.namespace;
    const props = { client, apiGroup, namespace, selection };
    if (!watch) {
      const report = await statusNow(props);
      // An interrupted report is incomplete.
      io.signal.throwIfAborted();
      return { out: textOf(report, form, { all, io, selection }), code: 0 };
    }
    const viewer = new Viewer(io, form, all);
    await statusLive(props, io.signal, (report) => {
      if (io.signal.aborted) return 'stop';
      viewer.show(report);
      return 'continue';
    });
    viewer.end();
    return { code: 0 };
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
    columns: io.terminal?.().columns,
    now: Date.now(),
    all,
    namespaces: report.namespace === null,
  });
  return [...lines, ...summaryOf(report, selection.kind), ''].join('\n');
}

/** `bench`, `site/shop` or `site shop`. @throws UsageError */
export function selectionOf(
  [first, second, ...rest]: readonly string[],
  definitions = DEFINITIONS,
): Selection {
  if (first === undefined) return {};
  const [kindName = '', inline, ...more] = first.split('/');
  const name = inline ?? second;
  const isTwice = inline !== undefined && second !== undefined;
  if (isTwice || rest.length + more.length > 0 || name === '')
    throw new UsageError(`${JSON.stringify(first)}: expected KIND or KIND/NAME, such as site/shop`);
  const kind = kindOf(kindName, definitions);
  if (kind !== undefined) return { kind, name };
  const known = definitions.map(({ singular }) => shortNameOf(singular)).join(', ');
  throw new UsageError(`unknown kind ${JSON.stringify(kindName)}, allowed: ${known}`);
}
