import { randomUUID } from 'node:crypto';
import { objectKind } from '../../../constructs/kit/definition.js';
import { metadataKeysFor } from '../../../constructs/kit/metadata-keys.js';
import type { KubeObject } from '../../../constructs/kit/object.js';
import {
  HorizontalPodAutoscaler,
  kindId,
  type ObjectKind,
} from '../../../constructs/kit/object-kind.js';
import { StaticReader } from '../../../constructs/kit/static-reader.js';
import { site as siteKind } from '../../../constructs/kinds/site/index.js';
import type { AppSite } from '../../../constructs/api/site.js';
import type { Client } from '../../../runner/api/client.js';
import { listAll } from '../../../runner/api/list.js';
import { resourcePath } from '../../../runner/api/resource-path.js';
import { childOf } from '../../../runner/cache/child.js';
import { digestOf } from '../../../runner/cache/child-cache.js';
import { plannedOf, planOf, type Plan } from '../../../runner/plan/plan.js';
import { fleetSite, pathOf, siteAt, type FleetShape, type FleetSite } from './objects.js';

const KEYS = metadataKeysFor('app-operator.io');
const OWNED = new Map(siteKind.owns.map((kind) => [kindId(kind), kind]));
/** Shorter texts could be part of others. */
const SHORTEST = 8;

/** An object as etcd holds it. */
export interface StoredObject {
  readonly key: string;
  readonly value: string;
}

interface Live {
  readonly kind: ObjectKind;
  readonly text: string;
}

/** What was read of a template. */
interface TemplateObjects {
  readonly live: AppSite;
  /** What the site's inputs are read from. */
  readonly objects: readonly KubeObject[];
  /** In the order of the plan. */
  readonly children: readonly Live[];
}

/** A site of a bench that the operator has made, with all that its children are computed from. */
export class SiteTemplate {
  readonly #leaves: ReadonlyMap<string, string>;

  private constructor(
    private readonly shape: FleetShape,
    private readonly site: FleetSite,
    private readonly template: TemplateObjects,
  ) {
    const { live, children } = template;
    const plan = this.#planOf(live);
    this.#leaves = leavesOf(plan);
    const digest = digestOfPlan(plan, children);
    if (digest !== live.status?.appliedHash) {
      throw new Error(`${site.name}: its children are not those of the operator`);
    }
  }

  /** @param index of the site */
  static async read(client: Client, index: number, shape: FleetShape): Promise<SiteTemplate> {
    const site = siteAt(index, shape);
    const live = await client.request<AppSite>('GET', pathOf(site));
    const { namespace } = site;
    const collections = [
      ['/api/v1', 'secrets'],
      ['/api/v1', 'persistentvolumeclaims'],
      ['/api/v1', 'services'],
      ['/apis/app-operator.io/v1alpha1', 'appbenchs'],
    ] as const;
    const lists = await Promise.all(
      collections.map(([api, plural]) =>
        listAll(client, `${api}/namespaces/${namespace}/${plural}`),
      ),
    );
    const objects = lists.flatMap(({ items }) => items);
    const children = await Promise.all(
      plannedOf(sitePlan(live, objects)).map(async ({ kind, name }) => {
        const object = await client.request('GET', resourcePath(kind, namespace, name));
        return { kind, text: JSON.stringify(object) };
      }),
    );
    return new SiteTemplate(shape, site, { live, objects, children });
  }

  /** The objects of another site of the bench, as the operator would leave them. */
  clone(index: number): readonly StoredObject[] {
    const { live, children: copied } = this.template;
    const { name } = siteAt(index, this.shape);
    const wanted = fleetSite(index, this.shape).object as AppSite;
    const uid = randomUUID();
    const resource: AppSite = {
      ...live,
      metadata: { ...live.metadata, name, uid },
      spec: { ...live.spec, siteName: wanted.spec.siteName },
    };
    const plan = this.#planOf(resource);
    const values = new Map([...this.#changed(plan, name), [live.metadata.uid ?? '', uid]]);
    const replace = replacer(values, this.site.name, name);
    const children = copied.map(({ kind, text }) => ({
      kind,
      text: replace(withOwnIdentity(text, index)),
    }));
    const appliedHash = digestOfPlan(plan, children);
    const own = JSON.parse(replace(JSON.stringify(live))) as AppSite;
    const stored: Live = {
      kind: SITE,
      text: JSON.stringify({ ...own, status: { ...own.status, appliedHash } }),
    };
    return [stored, ...children].flatMap(({ kind, text }) => [
      storedObject(kind, text),
      ...addressesOf(text),
    ]);
  }

  #planOf(resource: AppSite): Plan {
    const { objects } = this.template;
    const own = objects
      .filter(({ metadata }) => metadata.name.startsWith(`${this.site.name}-`))
      .map((object) => {
        const metadata = { ...object.metadata };
        metadata.name = metadata.name.replace(this.site.name, resource.metadata.name);
        return { ...object, metadata };
      });
    return sitePlan(resource, [...objects, ...own]);
  }

  /** The texts of the template's plan that are others in a plan of another site. */
  #changed(plan: Plan, to: string): readonly (readonly [string, string])[] {
    const leaves = leavesOf(plan);
    const from = this.site.name;
    return [...this.#leaves].flatMap(([path, before]) => {
      const after = leaves.get(path);
      if (after === undefined || after === before.replaceAll(from, to)) return [];
      if (before.length < SHORTEST) throw new Error(`${path}: ${before} is too short to replace`);
      return [[before, after] as const];
    });
  }
}

const SITE = objectKind(siteKind.definition);

/** The plan of a site, as the operator makes it. */
function sitePlan(resource: AppSite, objects: readonly KubeObject[]): Plan {
  const serves = [kindId(HorizontalPodAutoscaler)];
  const reader = new StaticReader({ objects: [...objects, resource], serves });
  const inputs = siteKind.resolve(resource, reader);
  return planOf(resource, { kinds: OWNED, metadataKeys: KEYS }, (scope, id) =>
    siteKind.chart(scope, id, { resource, inputs }),
  );
}

/** What the operator records of a plan and its children. */
function digestOfPlan(plan: Plan, children: readonly Live[]): string {
  return digestOf(
    plannedOf(plan).map(({ id, hash }, index) => {
      const { kind, text } = children[index] ?? { kind: SITE, text: '{}' };
      const child = childOf(kind, JSON.parse(text) as KubeObject, KEYS);
      return [id, hash, child.createOnly ?? child.owned];
    }),
  );
}

/** The texts of all planned objects, by the position of the object and the path in it. */
function leavesOf(plan: Plan): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>();
  plannedOf(plan).forEach(({ id }, index) => {
    collect(plan.object(id), String(index), leaves);
  });
  return leaves;
}

function collect(value: unknown, path: string, leaves: Map<string, string>): void {
  if (typeof value === 'string') leaves.set(path, value);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) collect(inner, `${path}.${key}`, leaves);
}

/** Replaces texts in JSON, the longest first; then the name of the site. */
function replacer(
  values: ReadonlyMap<string, string>,
  before: string,
  after: string,
): (json: string) => string {
  const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
  const pairs = new Map([...values].map(([from, to]) => [inJson(from), inJson(to)]));
  pairs.set(before, after);
  const texts = [...pairs.keys()].sort((a, b) => b.length - a.length);
  const escaped = texts.map((text) => text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
  const all = new RegExp(escaped.join('|'), 'g');
  return (json) => json.replace(all, (found) => pairs.get(found) ?? found);
}

/** With another uid and, of a Service, another address. */
function withOwnIdentity(text: string, index: number): string {
  const { metadata, spec } = JSON.parse(text) as KubeObject & {
    readonly spec?: { readonly clusterIP?: string };
  };
  const renewed = text.replaceAll(metadata.uid ?? '', randomUUID());
  const address = spec?.clusterIP;
  if (!address || address === 'None') return renewed;
  // The API server gives the addresses of the upper half by chance.
  return renewed.replaceAll(address, `10.32.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`);
}

/** Where the API server stores the objects of a kind. */
function storedObject({ apiVersion, plural }: ObjectKind, text: string): StoredObject {
  const live = JSON.parse(text) as KubeObject;
  const { resourceVersion: _version, ...metadata } = live.metadata;
  const object = { ...live, metadata };
  const folder =
    apiVersion === SITE.apiVersion ? `app-operator.io/${plural}` : (FOLDERS[plural] ?? plural);
  const key = `/registry/${folder}/${metadata.namespace ?? ''}/${metadata.name}`;
  return { key, value: JSON.stringify(object) };
}

const FOLDERS: Readonly<Record<string, string>> = { services: 'services/specs' };

/** The record of a Service's address: the API server allocates what has none at its next start. */
function addressesOf(text: string): readonly StoredObject[] {
  const { kind, metadata, spec } = JSON.parse(text) as KubeObject & {
    readonly spec?: { readonly clusterIP?: string };
  };
  const name = spec?.clusterIP;
  if (kind !== 'Service' || !name || name === 'None') return [];
  const labels = {
    'ipaddress.kubernetes.io/ip-family': 'IPv4',
    'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
  };
  const value = {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress' },
    metadata: { name, uid: randomUUID(), labels, creationTimestamp: metadata.creationTimestamp },
    spec: {
      parentRef: { resource: 'services', namespace: metadata.namespace, name: metadata.name },
    },
  };
  return [{ key: `/registry/ipaddresses/${name}`, value: JSON.stringify(value) }];
}
