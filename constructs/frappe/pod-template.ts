import { defined } from '../kit/json/defined.js';
import { isObject } from '../kit/json/is-object.js';
import type { PodTemplate } from '../kit/api.js';
import type { CheckedTemplate, TemplateContainer, TemplatePod } from './pod-template-schema.js';
import { POD_COMPONENTS, type PodComponent } from './pod-components.js';

/** Pod templates by component, as a user has written them. */
export type RawTemplates = Readonly<Record<string, unknown>>;

/** Pod templates by component, in which `templateProblems` finds nothing. */
export type ComponentPodTemplates = Readonly<Record<string, CheckedTemplate>>;

type Json = Readonly<Record<string, unknown>>;

/** A pod template as it is applied. */
export interface PodJson {
  readonly metadata?: Json;
  readonly spec: Json;
}

/**
 * The keys by which items of a list are merged, as in Kubernetes' strategic merge patch. Any other list
 * is replaced.
 */
const MERGE_KEYS: Readonly<Record<string, readonly string[]>> = {
  containers: ['name'],
  initContainers: ['name'],
  env: ['name'],
  volumes: ['name'],
  volumeMounts: ['mountPath'],
  ports: ['containerPort'],
  hostAliases: ['ip'],
  topologySpreadConstraints: ['topologyKey', 'whenUnsatisfiable'],
};

/** Lists whose items are merged field by field. Items of others have alternatives: they are replaced. */
const MERGED_ITEMS = new Set(['containers', 'initContainers']);

/** Objects with alternatives, which are replaced as a whole. */
const REPLACED = new Set(['livenessProbe', 'readinessProbe', 'startupProbe']);

/**
 * One value over another, as a strategic merge patch: objects field by field, lists with a merge key item
 * by item, where new items follow the others; everything else is replaced.
 * @param field the name of the field that has both values
 */
export function strategicMerge(base: unknown, patch: unknown, field = ''): unknown {
  if (patch === undefined) return base;
  if (isObject(base) && isObject(patch) && !REPLACED.has(field)) return mergedFields(base, patch);
  const keys = MERGE_KEYS[field];
  if (!keys || !Array.isArray(base) || !Array.isArray(patch)) return patch;
  return mergedItems(base, patch, { keys, merged: MERGED_ITEMS.has(field) });
}

function mergedFields(base: Json, patch: Json): Json {
  const entries = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(patch)) {
    if (value !== undefined) entries.set(name, strategicMerge(entries.get(name), value, name));
  }
  // A name such as `__proto__` stays data.
  return Object.fromEntries(entries);
}

function mergedItems(
  base: readonly unknown[],
  patch: readonly unknown[],
  { keys, merged }: { readonly keys: readonly string[]; readonly merged: boolean },
): readonly unknown[] {
  const idOf = (item: unknown): string =>
    JSON.stringify(keys.map((key) => (isObject(item) ? item[key] : undefined)));
  const items = new Map(base.map((item) => [idOf(item), item]));
  for (const item of patch) {
    const id = idOf(item);
    items.set(id, merged ? strategicMerge(items.get(id), item) : item);
  }
  return [...items.values()];
}

/** The templates of the pods of a bench, or of a site. */
export interface PodTemplates {
  /** Of all pods. */
  readonly podTemplate: PodTemplate;
  /** Over `podTemplate`, by component. */
  readonly componentPodTemplates: ComponentPodTemplates;
}

/** The templates of a site over those of its bench: each of the four overrides the one before. */
export function withTemplatesOf(
  bench: PodTemplates,
  site: {
    readonly podTemplate?: PodTemplate | undefined;
    readonly componentPodTemplates?: RawTemplates | undefined;
  },
): PodTemplates {
  const { podTemplate = {}, componentPodTemplates = {} } = site;
  const { labels, annotations, ...fields } = podTemplate;
  const below = Object.entries(bench.componentPodTemplates).map(
    ([component, { metadata, spec }]) => [
      component,
      defined({
        metadata: metadata && {
          labels: without(metadata.labels, labels),
          annotations: without(metadata.annotations, annotations),
        },
        // The further fields of `podTemplate` are those of a pod.
        spec: spec && without(spec, fields),
      }),
    ],
  );
  return {
    podTemplate: defined({
      ...bench.podTemplate,
      ...fields,
      labels: labels ? { ...bench.podTemplate.labels, ...labels } : bench.podTemplate.labels,
      annotations: annotations
        ? { ...bench.podTemplate.annotations, ...annotations }
        : bench.podTemplate.annotations,
    }),
    componentPodTemplates: mergedFields(
      Object.fromEntries(below) as Json,
      componentPodTemplates,
    ) as ComponentPodTemplates,
  };
}

/** The fields that another object does not have. */
function without(fields: Json = {}, others: object = {}): Json {
  return Object.fromEntries(
    Object.entries(fields).filter(([name]) => !Object.hasOwn(others, name)),
  );
}

/** Of a further container: what Pod Security `restricted` wants of it. */
const SIDECAR_SECURITY = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

/**
 * The pods of a component with their template. Without a template they are as they were. The operator's
 * own labels, annotations and containers are known to be untouched, see `templateProblems`.
 * @param selector the labels that select the pods
 */
export function withComponentTemplate(
  pod: PodJson,
  component: PodComponent,
  template: CheckedTemplate | undefined,
  selector: Readonly<Record<string, string>>,
): PodJson {
  if (!template) return pod;
  const { metadata = {}, spec = {} } = template;
  const patch = {
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    spec: completed(spec, podNames(pod, component), selector),
  };
  return strategicMerge(pod, patch) as PodJson;
}

/** The name of each of the operator's containers in the pod, by the name that users call it. */
function podNames(pod: PodJson, component: PodComponent): ReadonlyMap<string, string> {
  const { containers } = POD_COMPONENTS[component];
  const own = (pod.spec['containers'] ?? []) as readonly { readonly name: string }[];
  const isRenamed = own.length === 1 && containers.length === 1;
  return new Map(containers.map((name) => [name, isRenamed ? (own[0]?.name ?? name) : name]));
}

/** The template as a patch: with the names that the pods have, and with the defaults of what it adds. */
function completed(
  spec: TemplatePod,
  names: ReadonlyMap<string, string>,
  selector: Readonly<Record<string, string>>,
): Json {
  const { containers, initContainers, topologySpreadConstraints } = spec;
  return defined({
    ...spec,
    containers: containers?.map((container) => {
      const name = names.get(container.name);
      return name === undefined ? sidecar(container) : { ...container, name };
    }),
    initContainers: initContainers?.map(sidecar),
    topologySpreadConstraints: topologySpreadConstraints?.map((spread) => ({
      labelSelector: { matchLabels: selector },
      ...spread,
    })),
  });
}

function sidecar(container: TemplateContainer): Json {
  return {
    ...container,
    securityContext: strategicMerge(SIDECAR_SECURITY, container.securityContext),
  };
}
