import type { KubeObject, Resource } from '../../constructs/kit/object.js';
import { keyOf } from '../../constructs/kit/object.js';
import { Secret } from '../../constructs/kit/object-kind.js';
import type { Settings } from '../../constructs/kit/settings.js';
import { StaticWorld } from '../../constructs/kit/static-world.js';
import { resourceKinds } from '../kube/kinds.js';
import type { Sight } from '../kube/sight.js';

/** A world of what is seen, with a clock. */
class SeenWorld extends StaticWorld {
  override passed(since?: string, delayMs = 0): boolean {
    return since !== undefined && Date.parse(since) + delayMs <= Date.now();
  }
}

export interface WorldProps {
  readonly sight: Sight;
  readonly apiGroup: string;
  readonly settings: Settings;
  readonly serves: readonly string[];
  /** Objects that would be there instead. */
  readonly instead: readonly KubeObject[];
}

/** What the operator would read, with other objects in the place of some. */
export function worldWith({ sight, apiGroup, settings, serves, instead }: WorldProps): StaticWorld {
  const objects = new Map<string, KubeObject>();
  const kinds = [...resourceKinds(apiGroup), Secret];
  const seen = kinds.flatMap((kind) => sight.of(kind));
  for (const object of [...seen, ...instead]) objects.set(idOf(object), object);
  return new SeenWorld({
    objects: [...objects.values()],
    settings,
    serves,
    // Who may not list Secrets cannot know whether one is there.
    ...(sight.sees(Secret) ? {} : { assume: assumeSecret }),
  });
}

function assumeSecret(kind: string, namespace: string, name: string): KubeObject | undefined {
  return kind === 'Secret' ? { apiVersion: 'v1', kind, metadata: { namespace, name } } : undefined;
}

/** The resources of ours that would be there. */
export function resourcesWith({ sight, apiGroup, instead }: WorldProps): readonly Resource[] {
  const kinds = resourceKinds(apiGroup);
  const objects = new Map<string, KubeObject>();
  for (const kind of kinds) for (const object of sight.of(kind)) objects.set(idOf(object), object);
  for (const object of instead) {
    if (
      kinds.some(({ kind, apiVersion }) => object.kind === kind && object.apiVersion === apiVersion)
    )
      objects.set(idOf(object), object);
  }
  return [...objects.values()] as unknown as readonly Resource[];
}

export function idOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${keyOf(metadata.namespace, metadata.name)}`;
}
