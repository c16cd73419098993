import { ApiObject, type ApiObjectProps, Lazy } from 'cdk8s';
import { Construct } from 'constructs';
import { canonicalJson } from '../kit/json/hash.js';
import type { KubeObject } from '../kit/object.js';

/**
 * A graph of children in a chart of the user's. The objects are read when the chart is
 * synthesized, so that later constructs may still change it, and patches on an object stay.
 */
export class Children extends Construct {
  readonly #heads = new Map<string, string>();

  constructor(
    scope: Construct,
    id: string,
    /** The current graph. It is called often, so it should be cached. */
    private readonly graph: () => readonly KubeObject[],
  ) {
    super(scope, id);
    this.refresh();
    this.node.addValidation({
      validate: () => {
        this.refresh();
        return [];
      },
    });
  }

  /**
   * An object of the graph, for patches.
   * @throws Error with the names of the existing ones
   */
  object(kind: string, name: string): ApiObject {
    const found = this.node.tryFindChild(`${kind}-${name}`);
    if (found instanceof ApiObject) return found;
    throw new Error(`there is no ${kind} ${name}; there are ${[...this.#heads.keys()].join(', ')}`);
  }

  /** Brings the objects in the tree to those of the graph. */
  refresh(): void {
    const graph = this.graph();
    const wanted = new Map(graph.map((object) => [idOf(object), headOf(object)]));
    for (const [id, head] of this.#heads) {
      if (wanted.get(id) === head) continue;
      this.node.tryRemoveChild(id);
      this.#heads.delete(id);
    }
    for (const object of graph) {
      const id = idOf(object);
      if (this.#heads.has(id)) continue;
      new ApiObject(this, id, this.lazily(object));
      this.#heads.set(id, headOf(object));
    }
  }

  private lazily(object: KubeObject): ApiObjectProps {
    const { apiVersion, kind, metadata, ...rest } = object;
    const fields = Object.keys(rest).map((field): [string, unknown] => {
      const produce = (): unknown => this.field(idOf(object), field);
      return [field, Lazy.any({ produce })];
    });
    const props = { apiVersion, kind, metadata, ...Object.fromEntries(fields) };
    return props as unknown as ApiObjectProps;
  }

  private field(id: string, field: string): unknown {
    const object = this.graph().find((one) => idOf(one) === id);
    return (object as Readonly<Record<string, unknown>> | undefined)?.[field];
  }
}

/** Id of an object in the tree. It is public API: users find objects by it to patch them. */
function idOf({ kind, metadata }: KubeObject): string {
  return `${kind}-${metadata.name}`;
}

/** What of an object is fixed when it is made. */
function headOf(object: KubeObject): string {
  return canonicalJson([object.apiVersion, object.metadata, Object.keys(object)]);
}
