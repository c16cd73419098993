import { INTEGRATIONS } from '../integrations/index.js';
import { kindsOf } from '../kit/integration.js';
import { keyOf, type KubeObject } from '../kit/object.js';
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
export type Graph = (serves: readonly string[]) => readonly KubeObject[];

export interface OmittedProps {
  readonly graph: Graph;
  /** The optional APIs that the cluster serves, and the objects there. */
  readonly serves: readonly string[];
  readonly objects: readonly KubeObject[];
  /** APIs that resources asked for in vain: no others can matter. */
  readonly missing: ReadonlySet<string>;
}

/**
 * The objects that each integration would add. One that replaces objects, such as a Route in place of an
 * Ingress, is another way for another cluster: nothing of it is omitted.
 */
export function omittedObjects(props: OmittedProps): readonly OmittedObjects[] {
  const { graph, serves, missing } = props;
  const present = new Set(props.objects.map(idOf));
  return INTEGRATIONS.flatMap((integration) => {
    const kinds = kindsOf(integration).map(kindId);
    if (!kinds.some((kind) => missing.has(kind))) return [];
    const all = graph([...serves, ...kinds]);
    const after = new Set(all.map(idOf));
    const objects = all.filter((one) => !present.has(idOf(one)));
    if (objects.length === 0 || [...present].some((id) => !after.has(id))) return [];
    return [{ integration: integration.name, objects }];
  });
}

function idOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${keyOf(metadata.namespace, metadata.name)}`;
}
