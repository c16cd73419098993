import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import { DEFINITIONS } from '../../../constructs/registry.js';
import { oneOf } from '../../../runner/config/parsers.js';
import type { Arguments } from '../../arguments/arguments.js';
import type { Outcome, Run, IOStreams } from '../../arguments/command.js';
import { connected } from '../../kube/connect.js';
import { apiGroupOf } from '../render/run.js';
import { UsageError } from '../../arguments/help.js';
import { toYaml } from '../../io/yaml.js';
import { footerOf } from './summary.js';
import { renderTrees } from './render-tree.js';
import { statusLive, statusNow } from './live.js';
import type { Form, StatusReport } from './reporter.js';
import type { Wanted } from './tree.js';
import { Viewer } from './viewer.js';
import { kindOf, shortOf } from '../../kube/kind-names.js';

export const statusCommand: Run = (args, io) => {
  const form = args.value<Form>('output', oneOf({ tree: 'tree', json: 'json', yaml: 'yaml' }));
  const wanted = wantedOf(args.positionals);
  const apiGroup = apiGroupOf(args) ?? DEFAULT_API_GROUP;
  return connected(args, io, async (connection): Promise<Outcome> => {
    const { client } = connection;
    const namespace = args.has('all-namespaces') ? undefined : connection.namespace;
    const props = { client, apiGroup, namespace, wanted };
    if (!args.has('watch')) {
      const report = await statusNow(props);
      // What was cut off is not shown as if it were not there.
      io.signal.throwIfAborted();
      return { out: textOf(report, form ?? 'tree', { args, io, wanted }), code: 0 };
    }
    const viewer = new Viewer(io, form ?? 'tree', args.has('all'));
    await statusLive(props, io.signal, (report) => {
      if (io.signal.aborted) return 'enough';
      viewer.show(report);
      return 'more';
    });
    viewer.end();
    return { code: 0 };
  });
};

function textOf(
  report: StatusReport,
  form: Form,
  props: { readonly args: Arguments; readonly io: IOStreams; readonly wanted: Wanted },
): string {
  const { args, io, wanted } = props;
  if (form === 'json') return `${JSON.stringify(report, undefined, 2)}\n`;
  if (form === 'yaml') return toYaml([report]);
  const lines = renderTrees(report.resources, {
    colours: io.colours,
    columns: io.terminal?.().columns,
    now: Date.now(),
    all: args.has('all'),
    namespaces: report.namespace === null,
  });
  return [...lines, ...footerOf(report, wanted.kind), ''].join('\n');
}

/** `bench`, `site/shop` or `site shop`. @throws UsageError */
export function wantedOf([first, second, ...rest]: readonly string[]): Wanted {
  if (first === undefined) return {};
  const [word = '', inline, ...more] = first.split('/');
  const name = inline ?? second;
  if (
    rest.length + more.length > 0 ||
    (inline !== undefined && second !== undefined) ||
    name === ''
  )
    throw new UsageError(`${JSON.stringify(first)}: expected KIND or KIND/NAME, such as site/shop`);
  const kind = kindOf(word);
  if (kind !== undefined) return { kind, name };
  const known = DEFINITIONS.map(({ singular }) => shortOf(singular)).join(', ');
  throw new UsageError(`${JSON.stringify(word)} is no kind: there are ${known}`);
}
