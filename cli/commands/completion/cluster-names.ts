import type { ObjectKind } from '../../../constructs/kit/object-kind.js';
import { DEFINITIONS } from '../../../constructs/registry.js';
import type { IOStreams } from '../../io/streams.js';
import { connected } from '../../kube/connect.js';
import { kindOf, shortNameOf } from '../../kube/kind-names.js';
import { resourceKinds } from '../../kube/kinds.js';
import { listOf } from '../../kube/snapshot.js';
import type { CompletionArguments } from './complete.js';

const NAMESPACE: ObjectKind = {
  apiVersion: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  clusterScoped: true,
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
  const kinds = resourceKinds(args.values['api-group']);
  const kind = kinds.find((one) => one.kind === kindOf(kindName));
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
