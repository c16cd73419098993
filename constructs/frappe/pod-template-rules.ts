import type { Problem } from '../kit/errors.js';
import type { CheckedTemplate, TemplatePod, TemplateVolume } from './pod-template-types.js';
import {
  isOwnAnnotation,
  isOwnLabel,
  OWN_CLAIM_SUFFIXES,
  OWN_VOLUMES,
  POD_COMPONENTS,
  type PodComponent,
} from './pod-components.js';
import { strategicMerge, type RawTemplates } from './pod-template.js';
import { formProblems } from './pod-template-schema.js';
import {
  type TemplateRules,
  type Place,
  onlyOne,
  ownName,
  upwards,
  secretProblems,
  generatedName,
  problemIf,
} from './pod-template-problems.js';
import { containerProblems, initContainerProblems } from './pod-template-container-rules.js';

/** The most problems of one resource that are named. */
const MOST = 16;
export const PATH = 'spec.componentPodTemplates';

/**
 * Everything in pod templates that would break what the operator's own containers, volumes and labels
 * are for. The same for any policy of an administrator.
 */
export function templateProblems(
  templates: RawTemplates | undefined,
  rules: TemplateRules,
): readonly Problem[] {
  const malformed = Object.entries(templates ?? {}).flatMap(([component, template]) =>
    formProblems(template, `${PATH}.${component}`),
  );
  const broken = components(templates).flatMap(([component, template]) => {
    const below = rules.below && (rules.below[component] ?? {});
    const place: Place = {
      component,
      own: POD_COMPONENTS[component],
      path: `${PATH}.${component}`,
      rules,
      all: below && (strategicMerge(below, template) as CheckedTemplate).spec,
    };
    return [...metadataProblems(template, place), ...podProblems(template.spec ?? {}, place)];
  });
  return [...malformed, ...broken].slice(0, MOST);
}

/** The templates of components that exist and whose form is right: the schema refuses other names. */
export function components(
  templates: RawTemplates | undefined,
): readonly (readonly [PodComponent, CheckedTemplate])[] {
  return Object.entries(templates ?? {}).flatMap(([name, template]) =>
    isComponent(name) && formProblems(template, '').length === 0
      ? [[name, template as CheckedTemplate] as const]
      : [],
  );
}

function isComponent(name: string): name is PodComponent {
  return Object.hasOwn(POD_COMPONENTS, name);
}

function metadataProblems(
  { metadata }: CheckedTemplate,
  { path, rules }: Place,
): readonly Problem[] {
  const refused = (
    field: 'labels' | 'annotations',
    isOwn: (key: string, group: string) => boolean,
  ): readonly Problem[] =>
    Object.keys(metadata?.[field] ?? {})
      .filter((key) => isOwn(key, rules.group))
      .sort()
      .map((key) => ({
        path: `${path}.metadata.${field}[${key}]`,
        message: `Invalid value: "${key}": the operator sets it; use another key`,
      }));
  return [...refused('labels', isOwnLabel), ...refused('annotations', isOwnAnnotation)];
}

function podProblems(spec: TemplatePod, place: Place): readonly Problem[] {
  const path = `${place.path}.spec`;
  const each = <T>(
    field: string,
    items: readonly T[] | undefined,
    problems: (item: T, path: string, place: Place) => readonly Problem[],
  ): readonly Problem[] =>
    (items ?? []).flatMap((item, i) => problems(item, `${path}.${field}[${i}]`, place));
  return [
    ...each('volumes', spec.volumes, volumeProblems),
    ...each('containers', spec.containers, containerProblems),
    ...each('initContainers', spec.initContainers, initContainerProblems),
    ...each('initContainers', spec.initContainers, ({ name }, at, { all }) =>
      problemIf(
        (all?.containers ?? []).some((other) => other.name === name),
        `${at}.name`,
        `Duplicate value: "${name}"`,
      ),
    ),
    ...dnsProblems(spec, path, place),
    ...nameProblems(spec, path, place),
  ];
}

/** In Jobs of a site a container logs in to the database server of the bench, as its administrator. */
function nameProblems(
  spec: TemplatePod,
  path: string,
  { component, rules }: Place,
): readonly Problem[] {
  if (component !== 'jobs' || rules.ofSite !== true) return [];
  return (['hostAliases', 'dnsPolicy', 'dnsConfig'] as const)
    .filter((field) => spec[field] !== undefined)
    .map((field) => ({
      path: `${path}.${field}`,
      message:
        'Forbidden: Jobs of a site log in to the database server of the bench; set it on the AppBench',
    }));
}

function dnsProblems(spec: TemplatePod, path: string, { all }: Place): readonly Problem[] {
  if (all?.dnsPolicy !== 'None' || (all.dnsConfig?.nameservers ?? []).length > 0) return [];
  if (!spec.dnsPolicy && !spec.dnsConfig) return [];
  const message = 'Required value: dnsPolicy None needs at least one name server';
  return [{ path: `${path}.dnsConfig.nameservers`, message }];
}

const SOURCES = ['configMap', 'secret', 'emptyDir', 'persistentVolumeClaim'];

function volumeProblems(volume: TemplateVolume, path: string, place: Place): readonly Problem[] {
  const { name, secret, persistentVolumeClaim: claim, configMap } = volume;
  return [
    ...ownName(OWN_VOLUMES, name, `${path}.name`, 'volume'),
    ...onlyOne(path, volume, SOURCES),
    ...secretProblems(secret?.secretName, `${path}.secret.secretName`, place),
    ...claimProblems(claim?.claimName, `${path}.persistentVolumeClaim.claimName`),
    ...itemProblems(secret?.items, `${path}.secret`),
    ...itemProblems(configMap?.items, `${path}.configMap`),
  ];
}

function itemProblems(
  items: readonly { readonly path: string }[] | undefined,
  path: string,
): readonly Problem[] {
  return (items ?? []).flatMap((item, i) => upwards(item.path, `${path}.items[${i}].path`));
}

function claimProblems(name: string | undefined, path: string): readonly Problem[] {
  if (name === undefined) return [];
  return generatedName(name, path, { suffixes: OWN_CLAIM_SUFFIXES, what: 'claims' });
}
