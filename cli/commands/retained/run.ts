import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import type { GivenValues } from '../../../runner/config/flag-parser.js';
import type { Outcome, Run } from '../../arguments/command.js';
import { CliError, UsageError } from '../../arguments/errors.js';
import { connected } from '../../kube/connect.js';
import { kindOf, shortNameOf } from '../../kube/kind-names.js';
import type { RETAINED_FLAGS } from './flags.js';
import { Remover } from './removal.js';
import { jsonOf, removalLines, tableOf } from './report.js';
import { findRetained, OWNER_KINDS, type RetainedData } from './retained-data.js';

/** The owner that the command line names. */
interface Selection {
  readonly kind: string;
  readonly name: string;
}

type Values = GivenValues<typeof RETAINED_FLAGS>;

export const runRetained: Run<typeof RETAINED_FLAGS> = ({ values, positionals }, io) => {
  const selection = selectionOf(positionals[0]);
  requireConfirmation(values, selection);
  const apiGroup = values['api-group'] ?? DEFAULT_API_GROUP;
  return connected(values, io, async ({ client, namespace: own }): Promise<Outcome> => {
    const namespace = values['all-namespaces'] ? undefined : own;
    const found = await findRetained(client, namespace, apiGroup);
    io.signal.throwIfAborted();
    const owners = found.owners.filter(
      ({ kind, name }) => !selection || (kind === selection.kind && name === selection.name),
    );
    const data = { ...found, owners };
    if (values.delete) return deleted(new Remover(client, apiGroup), data, selection);
    const out = values.output === 'json' ? jsonOf(data) : tableOf(data, io.program, Date.now());
    return { out, code: 0 };
  });
};

async function deleted(
  remover: Remover,
  { owners: [owner], unknownUsers }: RetainedData,
  selection: Selection | undefined,
): Promise<Outcome> {
  const wanted = `${selection?.kind ?? ''} ${selection?.name ?? ''}`;
  if (unknownUsers.length > 0) {
    const kinds = unknownUsers.join(', ');
    throw new CliError(`forbidden: cannot list ${kinds}, which may use the data of ${wanted}`);
  }
  if (!owner) throw new CliError(`${wanted}: no retained objects found; see without --delete`);
  const { usedBy } = owner;
  if (usedBy.length > 0) {
    throw new CliError(`${wanted}: its data is used by ${usedBy.join(', ')}; delete these first`);
  }
  const removals = await remover.remove(owner);
  const failed = removals.some(
    ({ skipped }) => skipped !== undefined && skipped !== 'already deleted',
  );
  return { out: removalLines(owner, removals), code: failed ? 1 : 0 };
}

/** @throws UsageError where data would be deleted that the user has not named twice */
function requireConfirmation(values: Values, selection: Selection | undefined): void {
  const { confirm } = values;
  if (!values.delete) {
    if (confirm === undefined) return;
    throw new UsageError('--confirm needs --delete');
  }
  if (!selection || values['all-namespaces']) {
    throw new UsageError('--delete needs KIND/NAME of one owner, in one namespace');
  }
  if (confirm === selection.name) return;
  const got = confirm === undefined ? 'no value' : JSON.stringify(confirm);
  throw new UsageError(
    `--confirm: got ${got}; to delete all data of ${selection.kind} ${selection.name}, add --confirm ${selection.name}`,
  );
}

/** `bench/demo`. @throws UsageError */
function selectionOf(text: string | undefined): Selection | undefined {
  if (text === undefined) return undefined;
  const definitions = OWNER_KINDS.map(({ definition }) => definition);
  const [kindName = '', name = '', ...more] = text.split('/');
  const kind = kindOf(kindName, definitions);
  const known = definitions.map(({ singular }) => shortNameOf(singular)).join(', ');
  if (kind === undefined)
    throw new UsageError(`unknown kind ${JSON.stringify(kindName)}, allowed: ${known}`);
  if (name === '' || more.length > 0)
    throw new UsageError(`${JSON.stringify(text)}: expected KIND/NAME, such as bench/demo`);
  return { kind, name };
}
