import { INTEGRATIONS } from '../integrations/index.js';
import { kindsOf } from '../kit/integration.js';
import { keyOf, type KubeObject, type Resource } from '../kit/object.js';
import { kindId, type ObjectKind } from '../kit/object-kind.js';
import { StaticReader } from '../kit/static-reader.js';

/** The objects that resources have on a cluster that serves an integration, which is not named. */
export interface OmittedObjects {
  /** The name of the integration in `--serves`. */
  readonly integration: string;
  readonly objects: readonly KubeObject[];
}

/** A reader that records which optional APIs it was asked for in vain. */
export class RecordingReader extends StaticReader {
  readonly missing = new Set<string>();

  override serves(kind: ObjectKind): boolean {
    const served = super.serves(kind);
    if (!served) this.missing.add(kindId(kind));
    return served;
  }
}

/** The objects of resources on a cluster that serves some optional APIs. */
export type Graph = (serves: readonly string[]) => ReadonlyMap<Resource, readonly KubeObject[]>;

/**
 * The objects that each integration would add. One that replaces objects, such as a Route in place of an
 * Ingress, is another way for another cluster: nothing of it is omitted.
 * @param missing APIs that resources asked for in vain: no others can matter
 */
export function omittedObjects(
  graph: Graph,
  serves: readonly string[],
  missing: ReadonlySet<string>,
): readonly OmittedObjects[] {
  const present = keysOf(graph(serves));
  return INTEGRATIONS.flatMap((integration) => {
    const kinds = kindsOf(integration).map(kindId);
    if (!kinds.some((kind) => missing.has(kind))) return [];
    const withIt = graph([...serves, ...kinds]);
    const after = keysOf(withIt);
    const objects = [...withIt.values()].flat().filter((one) => !present.has(idOf(one)));
    if (objects.length === 0 || [...present].some((id) => !after.has(id))) return [];
    return [{ integration: integration.name, objects }];
  });
}

function keysOf(graph: ReadonlyMap<Resource, readonly KubeObject[]>): ReadonlySet<string> {
  return new Set([...graph.values()].flat().map(idOf));
}

function idOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${keyOf(metadata.namespace, metadata.name)}`;
}
