import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import type { GivenValues } from '../../../runner/config/flag-parser.js';
import type { Outcome, Run } from '../../arguments/command.js';
import { CliError, UsageError } from '../../arguments/errors.js';
import { connected } from '../../kube/connect.js';
import { selectionOf, type Selection } from '../../kube/kind-names.js';
import { POD } from '../../kube/kinds.js';
import type { RETAINED_FLAGS } from './flags.js';
import { Remover } from './removal.js';
import { jsonOf, removalLines, tableOf } from './output.js';
import { findRetained, OWNER_KINDS, type RetainedData } from './retained-data.js';

/** The owner whose data is deleted. */
interface Owner {
  readonly kind: string;
  readonly name: string;
}

type Values = GivenValues<typeof RETAINED_FLAGS>;

export const runRetained: Run<typeof RETAINED_FLAGS> = ({ values, positionals }, io) => {
  const apiGroup = values['api-group'] ?? DEFAULT_API_GROUP;
  const definitions = OWNER_KINDS.map(({ definition }) => definition);
  const selection = selectionOf(positionals, { definitions, apiGroup });
  const confirmed = confirmedOwner(values, selection);
  return connected(values, io, async ({ client, namespace: own }): Promise<Outcome> => {
    const namespace = values['all-namespaces'] ? undefined : own;
    const found = await findRetained(client, namespace, apiGroup);
    io.signal.throwIfAborted();
    const owners = found.owners.filter(
      ({ kind, name }) => kind === (selection.kind ?? kind) && name === (selection.name ?? name),
    );
    const data = { ...found, owners };
    if (confirmed) return deleted(new Remover(client, apiGroup), data, confirmed);
    const out = values.output === 'json' ? jsonOf(data) : tableOf(data, io.program, Date.now());
    return { out, code: 0 };
  });
};

async function deleted(
  remover: Remover,
  { owners: [owner], unknownUsers, omitted }: RetainedData,
  { kind, name }: Owner,
): Promise<Outcome> {
  const wanted = `${kind} ${name}`;
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
  // Of pods only the number is shown.
  const hidden = omitted.map(({ what }) => what).filter((what) => what !== POD.plural);
  const err =
    hidden.length > 0 ? [`not deleted, since you cannot list them: ${hidden.join(', ')}`] : [];
  return { out: removalLines(owner, removals), err, code: failed || err.length > 0 ? 1 : 0 };
}

/** The owner to delete; undefined without `--delete`. @throws UsageError unless the user has named it twice */
function confirmedOwner(values: Values, { kind, name }: Selection): Owner | undefined {
  const { confirm } = values;
  if (!values.delete) {
    if (confirm === undefined) return undefined;
    throw new UsageError('--confirm needs --delete');
  }
  if (kind === undefined || name === undefined || values['all-namespaces']) {
    throw new UsageError('--delete needs KIND/NAME of one owner, in one namespace');
  }
  if (confirm === name) return { kind, name };
  const got = confirm === undefined ? 'no value' : JSON.stringify(confirm);
  throw new UsageError(
    `--confirm: got ${got}; to delete all data of ${kind} ${name}, add --confirm ${name}`,
  );
}
