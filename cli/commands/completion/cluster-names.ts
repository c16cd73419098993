import { DEFINITIONS } from '../../../constructs/registry.js';
import type { ObjectKind } from '../../../constructs/kit/object-kind.js';
import type { Arguments } from '../../arguments/arguments.js';
import type { IOStreams } from '../../arguments/command.js';
import { connected } from '../../kube/connect.js';
import { resourceKinds } from '../../kube/kinds.js';
import { listOf } from '../../kube/snapshot.js';
import { apiGroupOf } from '../render/run.js';
import { kindOf, shortOf } from '../../kube/kind-names.js';

const NAMESPACE: ObjectKind = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces' };

/** Names that the cluster knows: of namespaces, or `kind/name` of resources. */
export async function names(
  what: 'namespace' | 'resource',
  args: Arguments,
  word: string,
  env: IOStreams['env'],
): Promise<readonly string[]> {
  if (what === 'namespace') return namesOf(NAMESPACE, undefined, args, env);
  const [first] = args.positionals;
  const slash = word.indexOf('/');
  const spoken = first ?? (slash < 0 ? undefined : word.slice(0, slash));
  if (spoken === undefined) return DEFINITIONS.map(({ singular }) => `${shortOf(singular)}/`);
  const kind = resourceKinds(apiGroupOf(args)).find((one) => one.kind === kindOf(spoken));
  if (!kind) return [];
  const found = await namesOf(kind, 'namespaced', args, env);
  return first === undefined ? found.map((name) => `${spoken}/${name}`) : found;
}

function namesOf(
  kind: ObjectKind,
  scope: 'namespaced' | undefined,
  args: Arguments,
  env: IOStreams['env'],
): Promise<readonly string[]> {
  return connected(args, { env }, async ({ client, namespace }) => {
    const place = scope === undefined || args.has('all-namespaces') ? undefined : namespace;
    const objects = await listOf(client, { kind, metadataOnly: true }, place);
    return objects.map(({ metadata }) => metadata.name).toSorted();
  });
}
