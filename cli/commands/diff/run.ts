import { DEFAULT_API_GROUP } from '../../../constructs/kit/definition.js';
import { groupOf, type KubeObject } from '../../../constructs/kit/object.js';
import { Secret } from '../../../constructs/kit/object-kind.js';
import { ApiError } from '../../../runner/api/api-error.js';
import { oneOf } from '../../../runner/config/parsers.js';
import type { Outcome, Run } from '../../arguments/command.js';
import { connected, type Connection } from '../../kube/connect.js';
import { ServedKinds } from '../../kube/discovery.js';
import { listings, OPTIONAL_KINDS, references } from '../../kube/kinds.js';
import { listOf, takeSnapshot, type ClusterSnapshot } from '../../kube/snapshot.js';
import { apiGroupOf, settingsOf } from '../render/run.js';
import { readSources, type Source } from '../../io/manifest-files.js';
import { UsageError } from '../../arguments/help.js';
import { changeOf, Differ, type ObjectDiff, type Differences } from './differ.js';
import { DryRun } from './dry-run.js';
import { painted } from './patch.js';

type Form = 'patch' | 'json';

/** Under which `kubectl apply --server-side` writes. */
const KUBECTL = 'kubectl';
const CLIENT_SIDE = 'kubectl-client-side-apply';

export const diffCommand: Run = (args, io) => {
  const files = args.list('filename');
  if (files.length === 0) throw new UsageError('diff needs -f FILE, -f FOLDER or -f -');
  const form = args.value('output', oneOf<Form>({ patch: 'patch', json: 'json' })) ?? 'patch';
  const apiGroup = apiGroupOf(args) ?? DEFAULT_API_GROUP;
  const settings = settingsOf(args);
  const { sources, problems } = readSources(files, args.has('recursive'));
  if (problems.length > 0) return { err: problems, code: 2 };
  if (sources.length === 0) return { err: ['nothing to compare: the input is empty'], code: 2 };
  return connected(args, io, async (connection): Promise<Outcome> => {
    const { client } = connection;
    const kinds = new ServedKinds(client);
    const given = new Given(connection, kinds, args.text('field-manager') ?? KUBECTL);
    for (const source of sources) await given.take(source);
    const serves = await kinds.among(OPTIONAL_KINDS);
    const found: Differences[] = [given];
    for (const [namespace, instead] of given.byNamespace(apiGroup)) {
      const snapshot = await takeSnapshot(client, listings(apiGroup), namespace);
      await seeSecrets(connection, snapshot, namespace);
      const others = await takeSnapshot(client, references(), namespace);
      const reader = { snapshot, others, apiGroup, settings, serves, instead };
      found.push(await new Differ(new DryRun(client), reader, io.progress).differences());
      found.push({
        changes: [],
        problems: [],
        notes: snapshot.omitted.map(({ what, why }) => `${what}: not compared: ${why}`),
      });
    }
    return outcomeOf(
      {
        changes: found.flatMap(({ changes }) => changes),
        problems: found.flatMap((one) => one.problems),
        notes: found.flatMap(({ notes }) => notes),
      },
      form,
      io.colours,
    );
  });
};

/** All Secrets count, not only ours: trees depend on whether one is there. */
async function seeSecrets(
  { client }: Connection,
  snapshot: ClusterSnapshot,
  namespace: string,
): Promise<void> {
  if (!snapshot.sees(Secret)) return;
  snapshot.replace(Secret, await listOf(client, { kind: Secret, metadataOnly: true }, namespace));
}

function outcomeOf(
  { changes, problems, notes }: Differences,
  form: Form,
  colours: boolean,
): Outcome {
  const patches = changes.map(({ patch }) => (colours ? painted(patch) : patch)).join('');
  return {
    out:
      form === 'json'
        ? `${JSON.stringify({ version: 1, changes, problems, notes }, undefined, 2)}\n`
        : patches,
    err: form === 'json' ? [] : [...notes, ...problems],
    code: problems.length > 0 ? 2 : changes.length > 0 ? 1 : 0,
  };
}

/** What the files hold, as the API server would store it. */
class Given implements Differences {
  readonly changes: ObjectDiff[] = [];
  readonly problems: string[] = [];
  readonly notes: string[] = [];
  readonly #answers: KubeObject[] = [];
  readonly #dryRun: DryRun;

  constructor(
    private readonly connection: Connection,
    private readonly kinds: ServedKinds,
    private readonly fieldManager: string,
  ) {
    this.#dryRun = new DryRun(connection.client);
  }

  /** Asks what would become of an object, and remembers it. */
  async take(source: Source): Promise<void> {
    const object = source.object as KubeObject;
    const { apiVersion, kind: kindName, metadata } = object as Partial<KubeObject>;
    const kind = await this.kinds.of(apiVersion ?? '', kindName ?? '');
    if (!kind || !metadata?.name) {
      const what = kind
        ? 'metadata.name is missing'
        : `the cluster does not serve ${apiVersion ?? ''}/${kindName ?? ''}`;
      this.problems.push(`${source.at()}: ${what}`);
      return;
    }
    const { namespace: ofContext } = this.connection;
    const namespace = kind.namespaced ? (metadata.namespace ?? ofContext) : undefined;
    const placed = {
      ...object,
      metadata: { ...metadata, ...(namespace === undefined ? {} : { namespace }) },
    };
    try {
      const live = await this.#dryRun.live(kind, namespace, metadata.name);
      const after = await this.#dryRun.apply(kind, placed, this.fieldManager);
      if (live?.metadata.managedFields?.some(({ manager }) => manager === CLIENT_SIDE))
        this.notes.push(
          `${kindName ?? ''}/${metadata.name}: was applied without --server-side: fields that the file no longer has are not told`,
        );
      const change = changeOf(live ? 'change' : 'create', null, live, after);
      if (change) this.changes.push(change);
      this.#answers.push(settled(after, live));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.problems.push(`${source.at()}: ${kindName ?? ''}/${metadata.name}: ${error.message}`);
    }
  }

  /** The answers by their namespaces, of those namespaces that have one of our kinds among them. */
  byNamespace(apiGroup: string): ReadonlyMap<string, readonly KubeObject[]> {
    const all = Map.groupBy(this.#answers, ({ metadata }) => metadata.namespace ?? '');
    const ours = ({ apiVersion }: KubeObject): boolean => groupOf(apiVersion) === apiGroup;
    return new Map([...all].filter(([, objects]) => objects.some(ours)));
  }
}

/** What is asked is what becomes of it in the end: that the operator has not seen the change yet is passed over. */
function settled(after: KubeObject, live: KubeObject | undefined): KubeObject {
  const { generation } = live?.metadata ?? {};
  return generation === undefined
    ? after
    : { ...after, metadata: { ...after.metadata, generation } };
}
