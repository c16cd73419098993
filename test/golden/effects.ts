import { DEFAULT_API_GROUP } from '../../constructs/kit/definition.js';
import { metadataKeysFor } from '../../constructs/kit/metadata-keys.js';
import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { memoize } from '../support/memoize.js';
import { aReader } from './builders.js';
import { graphOf, kindOf } from './outcome.js';

/** What a change makes of the children, each by what its name has behind the resource's. */
export interface Effect {
  readonly made: readonly string[];
  readonly deleted: readonly string[];
  /** Data that is no longer used: it is deleted with its resource, or never. */
  readonly left: readonly string[];
  /** Workloads whose pods are replaced. */
  readonly restarted: readonly string[];
  /** Jobs that run again. */
  readonly rerun: readonly string[];
  /** What changes in place. */
  readonly changed: readonly string[];
}

/** A resource with all that there is around it. */
export interface Moment {
  readonly resource: Resource;
  readonly others?: readonly KubeObject[];
  readonly serves?: readonly ObjectKind[];
}

/** What the step from one moment to another does to the children. */
export function effectOf(before: Moment, after: Moment): Effect {
  const [a, b] = [childrenOf(before), childrenOf(after)];
  const owner = after.resource.metadata.name;
  const names = (objects: readonly KubeObject[]) =>
    objects.map((object) => shortName(object, owner));
  const both = [...b].flatMap(([id, object]) => {
    const old = a.get(id);
    return old && JSON.stringify(old) !== JSON.stringify(object) ? [{ old, object }] : [];
  });
  const rerun = both.filter(
    ({ old, object }) => object.kind === 'Job' && runOf(old) !== runOf(object),
  );
  const restarted = both.filter(
    ({ old, object }) => object.kind !== 'Job' && templateOf(old) !== templateOf(object),
  );
  const rest = both.filter(
    (pair) => pair.object.kind !== 'Job' && !rerun.includes(pair) && !restarted.includes(pair),
  );
  const surplus = [...a].filter(([id]) => !b.has(id)).map(([, object]) => object);
  return {
    made: names([...b].filter(([id]) => !a.has(id)).map(([, object]) => object)),
    deleted: names(surplus.filter((object) => !isData(object))),
    left: names(surplus.filter(isData)),
    restarted: names(restarted.map(({ object }) => object)),
    rerun: names(rerun.map(({ object }) => object)),
    changed: names(rest.map(({ object }) => object)),
  };
}

/** An effect in words. */
export function describeEffect({ made, deleted, left, restarted, rerun, changed }: Effect): string {
  const parts = [
    ['runs again', rerun],
    ['pods replaced', restarted],
    ['changed in place', changed],
    ['made', made],
    ['no longer wanted', deleted],
    ['no longer used, and left as data', left],
  ] as const;
  const nonEmpty = parts.filter(([, names]) => names.length > 0);
  return nonEmpty.length > 0
    ? nonEmpty.map(([what, names]) => `${what}: ${byKind(names)}`).join('; ')
    : 'nothing';
}

/** `Job -init`, `Deployment -nginx`, `Deployment -gunicorn` become `Job -init, Deployment -nginx -gunicorn`. */
function byKind(names: readonly string[]): string {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const [kind = '', suffix = ''] = name.split(' ');
    groups.set(kind, [...(groups.get(kind) ?? []), suffix]);
  }
  return [...groups].map(([kind, suffixes]) => `${kind} ${suffixes.join(' ')}`).join(', ');
}

/** Computed once for each moment: most changes are from the same one. */
const childrenOf = memoize(({ resource, others = [], serves = [] }: Moment) => {
  const kind = kindOf(resource);
  const reader = aReader([resource, ...others], { serves });
  const inputs = kind.resolve(resource, reader);
  const stages = graphOf(kind, resource, (scope, id) =>
    kind.chart(scope, id, { resource, inputs }),
  );
  const objects = stages.flatMap((stage) => stage.objects);
  return new Map(objects.map((object) => [`${object.kind}/${object.metadata.name}`, object]));
});

function isData({ metadata }: KubeObject): boolean {
  return metadata.labels?.[metadataKeysFor(DEFAULT_API_GROUP).retain] !== undefined;
}

function shortName({ kind, metadata }: KubeObject, owner: string): string {
  return `${kind} \`${metadata.name.replace(owner, '')}\``;
}

function runOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.['app-operator.io/run'];
}

function templateOf(object: KubeObject): string {
  const { spec } = object as KubeObject & { readonly spec?: { readonly template?: unknown } };
  return JSON.stringify(spec?.template ?? null);
}
