import { ApiObject, type ApiObjectProps } from 'cdk8s';
import { Construct } from 'constructs';
import { type AppSiteSpec, toJson_AppSiteSpec } from '../../imports/app-operator.io.js';
import type { Resource } from '../kit/object.js';
import type { AnyKind } from '../registry.js';
import { site as kind } from '../kinds/site/index.js';
import { admitted, type Bench, checkedGraph, childOf, manifestOf, type Metadata } from './bench.js';
import { Children } from './children.js';
import { readerOf } from './preview.js';

/** An AppSite on a bench that is in the same chart. */
export interface SiteProps {
  /** The namespace is the bench's. */
  readonly metadata: Omit<Metadata, 'namespace'>;
  /** The spec, without the reference to the bench. */
  readonly spec: Omit<AppSiteSpec, 'benchRef'>;
  /** The bench. What it emits, and its options, are the site's too. */
  readonly bench: Bench;
}

/** Any time: with it a site counts as older than one that is only being made. */
const EARLIER = '0';

/**
 * A site in a chart of the user's.
 * @throws ManifestError with everything that admission or the operator would have against it
 */
export class Site extends Construct {
  /** As it would be stored. */
  readonly resource: Resource;
  readonly #children: Children | undefined;

  constructor(scope: Construct, id: string, { metadata, spec, bench }: SiteProps) {
    super(scope, id);
    const { name, namespace = 'default' } = bench.resource.metadata;
    const manifest = manifestOf(this, kind.definition.kind, {
      metadata: { ...metadata, namespace },
      spec: toJson_AppSiteSpec({ ...spec, benchRef: { name } }),
      group: bench.options.apiGroup,
    });
    const anyKind = kind as unknown as AnyKind;
    this.resource = admitted(anyKind, manifest, bench.options);
    const others = [bench.resource, ...bench.sites].map(earlier);
    const reader = readerOf([...others, this.resource], bench.options);
    const objects = checkedGraph(anyKind, manifest, this.resource, reader);
    bench.addSite(this.resource);
    if (bench.emit === 'children') this.#children = new Children(this, 'children', () => objects);
    else new ApiObject(this, 'resource', manifest as unknown as ApiObjectProps);
  }

  /**
   * One of the site's children, for patches.
   * @throws Error where no object has this name, or where the resource is emitted
   */
  object(objectKind: string, name: string): ApiObject {
    return childOf(this.#children, objectKind, name);
  }
}

function earlier(resource: Resource): Resource {
  const { metadata } = resource;
  return { ...resource, metadata: { ...metadata, creationTimestamp: EARLIER } };
}
