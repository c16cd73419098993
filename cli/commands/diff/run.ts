import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import { Secret } from '../../../constructs/kit/object-kind.js';
import type { GivenValues } from '../../../runner/config/flag-parser.js';
import type { Outcome, Run } from '../../arguments/command.js';
import { UsageError } from '../../arguments/errors.js';
import { settingsOf } from '../../arguments/shared-flags.js';
import { readInput, type ManifestObject } from '../../io/manifest-files.js';
import type { IOStreams } from '../../io/streams.js';
import { connected, type ApiClient, type Connection } from '../../kube/connect.js';
import { ServedKinds } from '../../kube/discovery.js';
import { listings, optionalKinds, referenceListings } from '../../kube/kinds.js';
import { listOf, takeSnapshot, type ClusterSnapshot } from '../../kube/snapshot.js';
import { ChildrenDiff } from './children-diff.js';
import type { DIFF_FLAGS } from './flags.js';
import { DryRun } from './dry-run.js';
import { FileDiff } from './file-diff.js';
import { joinDifferences, type Differences } from './object-diff.js';
import { painted } from './patch.js';

/** The field manager of `kubectl apply --server-side`. */
const KUBECTL = 'kubectl';

export const runDiff: Run<typeof DIFF_FLAGS> = async ({ values }, io) => {
  const { filename: files, recursive = false, output = 'patch' } = values;
  if (files.length === 0) throw new UsageError('diff needs -f FILE, -f FOLDER or -f -');
  const { objects, problems } = await readInput(files, recursive, io);
  if (problems.length > 0) return { err: problems, code: 2 };
  if (objects.length === 0) return { err: ['nothing to compare: the input is empty'], code: 2 };
  return connected(values, io, async (connection): Promise<Outcome> => {
    const differences = await differencesOf(objects, { connection, values, io });
    return outcomeOf(differences, output, io.colours);
  });
};

interface DiffProps {
  readonly connection: Connection;
  readonly values: GivenValues<typeof DIFF_FLAGS>;
  readonly io: IOStreams;
}

async function differencesOf(
  objects: readonly ManifestObject[],
  { connection, values, io }: DiffProps,
): Promise<Differences> {
  const { client } = connection;
  const apiGroup = values['api-group'] ?? DEFAULT_API_GROUP;
  const settings = settingsOf(values, io.env);
  const kinds = new ServedKinds(client);
  const files = new FileDiff(connection, kinds, values['field-manager'] ?? KUBECTL);
  for (const object of objects) await files.add(object);
  const serves = await kinds.among(optionalKinds());
  const found: Differences[] = [files];
  for (const [namespace, replacements] of files.byNamespace(apiGroup)) {
    const snapshot = await takeSnapshot(client, listings(apiGroup), namespace);
    await listAllSecrets(client, snapshot, namespace);
    const references = await takeSnapshot(client, referenceListings(), namespace);
    const reader = { snapshot, references, apiGroup, settings, serves, replacements };
    found.push(await new ChildrenDiff(new DryRun(client), reader, io.progress).differences());
    found.push({
      changes: [],
      problems: [],
      notes: snapshot.omitted.map(({ what, why }) => `${what}: not compared: ${why}`),
    });
  }
  return joinDifferences(found);
}

/** Trees depend on Secrets of users too, not only on managed ones. */
async function listAllSecrets(
  client: ApiClient,
  snapshot: ClusterSnapshot,
  namespace: string,
): Promise<void> {
  if (!snapshot.lists(Secret)) return;
  snapshot.replace(Secret, await listOf(client, { kind: Secret, metadataOnly: true }, namespace));
}

function outcomeOf(
  { changes, problems, notes }: Differences,
  output: 'patch' | 'json',
  colours: boolean,
): Outcome {
  const code = problems.length > 0 ? 2 : changes.length > 0 ? 1 : 0;
  if (output === 'json') {
    const json = { version: 1, changes, problems, notes };
    return { out: `${JSON.stringify(json, undefined, 2)}\n`, code };
  }
  const patches = changes.map(({ patch }) => (colours ? painted(patch) : patch));
  return { out: patches.join(''), err: [...notes, ...problems], code };
}
