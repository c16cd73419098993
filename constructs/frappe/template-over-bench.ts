/**
 * What a site's pod template may not do to its bench's, over which it is merged: the bench's gives its
 * containers Secrets, ConfigMaps and claims that the author of the site may have no right to.
 */

import type { Problem } from '../kit/errors.js';
import { POD_COMPONENTS } from './pod-components.js';
import type { ComponentPodTemplates, RawTemplates } from './pod-template.js';
import { components, PATH } from './pod-template-rules.js';
import type { TemplateContainer, TemplatePod } from './pod-template-schema.js';

/** What a site may change of a container with references: neither its program nor what that reads. */
const FREE_FIELDS = ['name', 'resources'];

/** What of the templates of a site would give its containers what is the bench's. */
export function overBenchProblems(
  site: RawTemplates | undefined,
  bench: ComponentPodTemplates,
): readonly Problem[] {
  return components(site).flatMap(([component, { spec = {} }]) => {
    const below = bench[component]?.spec;
    const own = POD_COMPONENTS[component].containers;
    return below ? podProblems(spec, below, { own, path: `${PATH}.${component}.spec` }) : [];
  });
}

interface Place {
  /** The operator's own containers. */
  readonly own: readonly string[];
  readonly path: string;
}

function podProblems(site: TemplatePod, bench: TemplatePod, place: Place): readonly Problem[] {
  const { path } = place;
  const { volumes = [] } = site;
  const containers = [
    ...listProblems('containers', site, bench, place),
    ...listProblems('initContainers', site, bench, place),
  ];
  const mounted = [...(bench.containers ?? []), ...(bench.initContainers ?? [])]
    .filter((container) => hasReferences(container, bench))
    .flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name));
  const replaced = volumes.flatMap(({ name }, i) => {
    const message = `Forbidden: a container of the bench's template mounts its volume "${name}" beside a Secret, a ConfigMap or a claim; give the site's volume another name`;
    return mounted.includes(name) ? [{ path: `${path}.volumes[${i}].name`, message }] : [];
  });
  return [...replaced, ...containers];
}

function listProblems(
  list: 'containers' | 'initContainers',
  site: TemplatePod,
  bench: TemplatePod,
  { own, path }: Place,
): readonly Problem[] {
  return (site[list] ?? []).flatMap((container, i) => {
    const at = `${path}.${list}[${i}]`;
    const below = bench[list]?.find(({ name }) => name === container.name);
    const isChanged = below && !own.includes(container.name) && hasReferences(below, bench);
    return [
      ...(isChanged ? changeProblems(container, at) : []),
      ...mountProblems(container, { site, bench, at }),
    ];
  });
}

function changeProblems(container: TemplateContainer, path: string): readonly Problem[] {
  return Object.keys(container)
    .filter((field) => !FREE_FIELDS.includes(field))
    .map((field) => ({
      path: `${path}.${field}`,
      message: `Forbidden: container "${container.name}" of the bench's template gets a Secret, a ConfigMap or a claim; a site may set: resources`,
    }));
}

function mountProblems(
  { volumeMounts = [] }: TemplateContainer,
  {
    site,
    bench,
    at,
  }: { readonly site: TemplatePod; readonly bench: TemplatePod; readonly at: string },
): readonly Problem[] {
  return volumeMounts.flatMap(({ name }, i) => {
    if (site.volumes?.some((volume) => volume.name === name)) return [];
    if (!bench.volumes?.some((volume) => volume.name === name)) return [];
    const message = `Forbidden: volume "${name}" is of the bench's template; a site may mount volumes of its own template`;
    return [{ path: `${at}.volumeMounts[${i}].name`, message }];
  });
}

/** Whether a container of a template gets the content of an object of the namespace. */
function hasReferences(
  { env = [], envFrom = [], volumeMounts = [] }: TemplateContainer,
  { volumes = [] }: TemplatePod,
): boolean {
  const named = volumes.filter(({ emptyDir }) => emptyDir === undefined).map(({ name }) => name);
  return (
    envFrom.length > 0 ||
    env.some(({ valueFrom }) => valueFrom !== undefined && valueFrom.fieldRef === undefined) ||
    volumeMounts.some(({ name }) => named.includes(name))
  );
}
