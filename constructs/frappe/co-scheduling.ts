import { JsonPatch, type ApiObject } from 'cdk8s';
import { canonicalJson } from '../kit/json/hash.js';
import { isObject } from '../kit/json/is-object.js';
import type { BenchModel } from './bench-model.js';
import { benchPodsBut } from './network-rule.js';

/** Components whose pods do not mount the volume of the sites. */
const WITHOUT_SITES = ['redis', 'database'];
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';

/**
 * Keeps pods that mount the volume of the sites on one node, where only one node can mount it. It is
 * added to what templates say, and after them. The first pod goes anywhere: Kubernetes lets a pod match
 * itself where no other one does.
 * @param at where the pod's template is
 */
export function keepTogether(
  podMaker: ApiObject,
  { bench, withoutSites = false }: { readonly bench: BenchModel; readonly withoutSites?: boolean },
  at = '/spec/template',
): void {
  if (withoutSites || !bench.sitesVolume.onOneNode) return;
  const before = podMaker.toJson.bind(podMaker);
  podMaker.toJson = () => {
    const object = before() as object;
    const path = `${at}/spec/affinity`;
    const affinity = path.split('/').slice(1).reduce<unknown>(fieldOf, object);
    const value: unknown = JSON.parse(canonicalJson(withTerm(affinity, bench)));
    return JsonPatch.apply(object, JsonPatch.add(path, value)) as unknown;
  };
}

function withTerm(affinity: unknown, bench: BenchModel): object {
  const given = isObject(affinity) ? affinity : {};
  const podAffinity = isObject(given['podAffinity']) ? given['podAffinity'] : {};
  const required = podAffinity[REQUIRED];
  const term = {
    topologyKey: 'kubernetes.io/hostname',
    labelSelector: benchPodsBut(bench, WITHOUT_SITES),
  };
  return {
    ...given,
    podAffinity: {
      ...podAffinity,
      [REQUIRED]: [...(Array.isArray(required) ? (required as unknown[]) : []), term],
    },
  };
}

function fieldOf(value: unknown, name: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[name];
}
