import type { ObjectKind } from '../../../constructs/kit/object-kind.js';
import { DEFINITIONS } from '../../../constructs/registry.js';
import type { Arguments, GivenValues } from '../../../runner/config/flag-parser.js';
import type { CommandFlags } from '../../arguments/command.js';
import type { API_GROUP_FLAGS, CLUSTER_FLAGS } from '../../arguments/shared-flags.js';
import type { IOStreams } from '../../io/streams.js';
import { connected } from '../../kube/connect.js';
import { kindOf, shortNameOf } from '../../kube/kind-names.js';
import { resourceKinds } from '../../kube/kinds.js';
import { listOf } from '../../kube/snapshot.js';

const NAMESPACE: ObjectKind = {
  apiVersion: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  clusterScoped: true,
};

/** The flags that completion reads. A command may lack some of them: their values are undefined. */
export type CompletionArguments = Pick<Arguments<CommandFlags>, 'positionals'> & {
  readonly values: Partial<GivenValues<typeof CLUSTER_FLAGS & typeof API_GROUP_FLAGS>> & {
    readonly 'all-namespaces'?: boolean;
  };
};

/** Names from the cluster: of namespaces, or `kind/name` of resources. */
export async function clusterNames(
  what: 'namespace' | 'resource',
  args: CompletionArguments,
  word: string,
  env: IOStreams['env'],
): Promise<readonly string[]> {
  if (what === 'namespace') return namesOf(NAMESPACE, args, env);
  const [first] = args.positionals;
  const slash = word.indexOf('/');
  const kindName = first ?? (slash < 0 ? undefined : word.slice(0, slash));
  if (kindName === undefined) return DEFINITIONS.map(({ singular }) => `${shortNameOf(singular)}/`);
  const apiGroup = args.values['api-group'];
  const named = kindOf(kindName, { apiGroup });
  const kind = resourceKinds(apiGroup).find((one) => one.kind === named);
  if (!kind) return [];
  const found = await namesOf(kind, args, env);
  return first === undefined ? found.map((name) => `${kindName}/${name}`) : found;
}

function namesOf(
  kind: ObjectKind,
  { values }: CompletionArguments,
  env: IOStreams['env'],
): Promise<readonly string[]> {
  return connected(values, { env }, async ({ client, namespace }) => {
    const place = kind.clusterScoped || values['all-namespaces'] ? undefined : namespace;
    const objects = await listOf(client, { kind, metadataOnly: true }, place);
    return objects.map(({ metadata }) => metadata.name).toSorted();
  });
}
