import { ApiObject, type ApiObjectProps, Chart } from 'cdk8s';
import { Construct } from 'constructs';
import { type AppBenchSpec, toJson_AppBenchSpec } from '../../imports/app-operator.io.js';
import { bench as kind } from '../kinds/bench/index.js';
import { API_VERSION, DEFAULT_API_GROUP } from '../kit/definition.js';
import type { KubeObject, Resource } from '../kit/object.js';
import type { AnyKind } from '../registry.js';
import { admitObject } from './accept.js';
import { Children } from './children.js';
import { resolveProblems } from './resolve-problems.js';
import { refuse } from './manifest-error.js';
import { graphOf, type PreviewOptions, readerOf } from './preview.js';

/** Metadata of a custom resource. */
export interface Metadata {
  readonly name: string;
  /** @default the chart's, or `default` */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * What a construct puts into its chart:
 * - `children`: the complete graph, for clusters where no operator runs;
 * - `resource`: the custom resource as it was written, for clusters where one does.
 * Both at once would have two owners for one object, so there is no such choice.
 */
export type Emit = 'children' | 'resource';

export interface BenchProps extends PreviewOptions {
  readonly metadata: Metadata;
  readonly spec: AppBenchSpec;
  /** @default children */
  readonly emit?: Emit;
}

/**
 * A bench in a chart of the user's. Give it to its sites, which its proxy routes to.
 * @throws ManifestError with everything that admission or the operator would have against it
 */
export class Bench extends Construct {
  /** As it would be stored. */
  readonly resource: Resource;
  readonly emit: Emit;
  readonly options: PreviewOptions;
  readonly #sites: Resource[] = [];
  readonly #children: Children | undefined;
  #graph: { readonly sites: number; readonly objects: readonly KubeObject[] } | undefined;

  constructor(scope: Construct, id: string, props: BenchProps) {
    super(scope, id);
    const { metadata, spec, emit = 'children', ...options } = props;
    this.emit = emit;
    this.options = options;
    const manifest = manifestOf(this, kind.definition.kind, {
      metadata,
      spec: toJson_AppBenchSpec(spec),
      group: options.apiGroup,
    });
    this.resource = admitted(kind, manifest, options);
    const graph = (): readonly KubeObject[] => this.graph(manifest);
    graph();
    if (emit === 'children') this.#children = new Children(this, 'children', graph);
    else new ApiObject(this, 'resource', manifest as unknown as ApiObjectProps);
  }

  /**
   * One of the bench's children, for patches.
   * @throws Error where no object has this name, or where the resource is emitted
   */
  object(objectKind: string, name: string): ApiObject {
    return childOf(this.#children, objectKind, name);
  }

  /** The sites so far, in the order in which they were made. */
  get sites(): readonly Resource[] {
    return this.#sites;
  }

  /** Called by a site when it is made. */
  addSite(site: Resource): void {
    this.#sites.push(site);
  }

  /** @throws ManifestError */
  private graph(manifest: object): readonly KubeObject[] {
    if (this.#graph?.sites !== this.#sites.length) {
      const reader = readerOf([this.resource, ...this.#sites], this.options);
      const objects = checkedGraph(kind, manifest, this.resource, reader);
      this.#graph = { sites: this.#sites.length, objects };
    }
    return this.#graph.objects;
  }
}

export function childOf(children: Children | undefined, kindName: string, name: string): ApiObject {
  if (children) return children.object(kindName, name);
  throw new Error(
    `there is no ${kindName} ${name}: the custom resource is emitted, not its children`,
  );
}

/** A manifest as it is written; its namespace is the chart's where it names none. */
export function manifestOf(
  construct: Construct,
  kindName: string,
  props: {
    readonly metadata: Metadata;
    readonly spec: unknown;
    readonly group?: string | undefined;
  },
): Resource {
  const { namespace = Chart.of(construct).namespace ?? 'default' } = props.metadata;
  return {
    apiVersion: `${props.group ?? DEFAULT_API_GROUP}/${API_VERSION}`,
    kind: kindName,
    metadata: { ...props.metadata, namespace },
    spec: props.spec,
  };
}

/** @throws ManifestError */
export function admitted(
  { definition }: AnyKind,
  manifest: Resource,
  { apiGroup = DEFAULT_API_GROUP }: PreviewOptions,
): Resource {
  const { resource, problems } = admitObject(definition, manifest, apiGroup);
  refuse(manifest, problems);
  return resource;
}

/** @throws ManifestError where the inputs cannot be resolved */
export function checkedGraph(
  ofKind: AnyKind,
  manifest: object,
  resource: Resource,
  reader: ReturnType<typeof readerOf>,
): readonly KubeObject[] {
  try {
    return graphOf(ofKind, resource, reader);
  } catch (error) {
    refuse(manifest, resolveProblems(error, { kind: ofKind, resource, reader }));
    throw error;
  }
}
