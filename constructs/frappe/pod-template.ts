import { isObject } from '../kit/json/is-object.js';
import type { PodTemplate } from '../kit/api.js';
import type { CheckedTemplate, TemplateMetadata, TemplatePod } from './pod-template-types.js';
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

/** Some templates over others, by component. */
export function mergedTemplates(
  base: ComponentPodTemplates,
  patch: RawTemplates | undefined,
): ComponentPodTemplates {
  return mergedFields(base, patch ?? {}) as ComponentPodTemplates;
}

/** The fields that both kinds of template have, and that the later one replaces. */
const SHARED_FIELDS = [
  'nodeSelector',
  'tolerations',
  'affinity',
  'priorityClassName',
  'serviceAccountName',
] as const satisfies readonly (keyof PodTemplate & keyof TemplatePod)[];

/**
 * The templates of a bench below the `podTemplate` of a site: without the fields, labels and
 * annotations that this one has.
 */
export function belowPodTemplate(
  templates: ComponentPodTemplates,
  over: PodTemplate | undefined,
): ComponentPodTemplates {
  if (!over) return templates;
  const below = ({ metadata, spec }: CheckedTemplate): CheckedTemplate => ({
    ...(metadata ? { metadata: belowMetadata(metadata, over) } : {}),
    ...(spec
      ? {
          spec: without(
            spec,
            SHARED_FIELDS.filter((name) => name in over),
          ),
        }
      : {}),
  });
  return Object.fromEntries(
    Object.entries(templates).map(([component, template]) => [component, below(template)]),
  );
}

function belowMetadata(
  { labels = {}, annotations = {} }: TemplateMetadata,
  over: PodTemplate,
): TemplateMetadata {
  return {
    labels: without(labels, Object.keys(over.labels ?? {})),
    annotations: without(annotations, Object.keys(over.annotations ?? {})),
  };
}

function without<T extends object>(fields: T, names: readonly string[]): T {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name))) as T;
}

/** What the operator says about further containers, and about the pods of a workload. */
export interface TemplateDefaults {
  /** Labels that select the pods of the workload. */
  readonly selector: Readonly<Record<string, string>>;
}

/** Of a further container: what Pod Security `restricted` wants of it. */
const SIDECAR_SECURITY = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };

/**
 * The pods of a component with their template. Without a template they are as they were. The operator's
 * own labels, annotations and containers are known to be untouched, see `templateProblems`.
 */
export function withComponentTemplate(
  pod: PodJson,
  component: PodComponent,
  template: CheckedTemplate | undefined,
  defaults: TemplateDefaults,
): PodJson {
  if (!template) return pod;
  const { metadata = {}, spec = {} } = template;
  const own = (pod.spec['containers'] ?? []) as readonly { readonly name: string }[];
  const patch = completed(spec, aliases(component, own), defaults);
  return strategicMerge(pod, {
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    spec: patch,
  }) as PodJson;
}

/** What users call the containers, and how the pods call them. */
function aliases(
  component: PodComponent,
  own: readonly { readonly name: string }[],
): ReadonlyMap<string, string> {
  const { containers } = POD_COMPONENTS[component];
  const [first] = own;
  const [alias = ''] = containers;
  return new Map(
    first && own.length === 1 && containers.length === 1
      ? [[alias, first.name]]
      : containers.map((name) => [name, name]),
  );
}

/** The template as a patch: with the names that the pods have, and with the defaults of what it adds. */
function completed(
  spec: TemplatePod,
  names: ReadonlyMap<string, string>,
  { selector }: TemplateDefaults,
): Json {
  const { containers, initContainers, topologySpreadConstraints, ...rest } = spec;
  return {
    ...rest,
    ...(containers
      ? {
          containers: containers.map((container) => {
            const name = names.get(container.name);
            return name === undefined ? sidecar(container) : { ...container, name };
          }),
        }
      : {}),
    ...(initContainers ? { initContainers: initContainers.map(sidecar) } : {}),
    ...(topologySpreadConstraints
      ? {
          topologySpreadConstraints: topologySpreadConstraints.map((spread) => ({
            labelSelector: { matchLabels: selector },
            ...spread,
          })),
        }
      : {}),
  };
}

function sidecar(container: NonNullable<TemplatePod['containers']>[number]): Json {
  return {
    ...container,
    securityContext: strategicMerge(SIDECAR_SECURITY, container.securityContext),
  };
}
