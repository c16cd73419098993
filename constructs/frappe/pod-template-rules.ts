import type { Problem } from '../kit/errors.js';
import type { ObjectReference } from '../kit/kind.js';
import type {
  CheckedTemplate,
  EnvSource,
  TemplateContainer,
  TemplateEnvVar,
  TemplateMount,
  TemplatePod,
  TemplatePort,
  TemplateProbe,
  TemplateVolume,
} from './pod-template-types.js';
import {
  isOwnAnnotation,
  isOwnContainer,
  isOwnLabel,
  isOwnVariable,
  OWN_CLAIM_SUFFIXES,
  OWN_PORT_NAMES,
  OWN_SECRET_SUFFIXES,
  OWN_VOLUMES,
  POD_COMPONENTS,
  SYSTEM_FOLDERS,
  type OwnPod,
  type PodComponent,
} from './pod-components.js';
import { strategicMerge, type ComponentPodTemplates, type RawTemplates } from './pod-template.js';
import { formProblems } from './pod-template-schema.js';

/** What the templates of a resource are checked against. */
export interface TemplateRules {
  /** The API group: prefix of the operator's labels and annotations. */
  readonly group: string;
  /** Whether they are a site's: its author may have no rights on the bench. */
  readonly ofSite?: boolean;
  /** Secrets that the operator generates, and that the author may use. */
  readonly secrets?: readonly string[];
  /**
   * The templates below, of the bench. Without them nothing is checked that may come from there.
   */
  readonly below?: ComponentPodTemplates;
}

/** The most problems of one resource that are named. */
const MOST = 16;
const PATH = 'spec.componentPodTemplates';

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

interface Place {
  readonly component: PodComponent;
  readonly own: OwnPod;
  readonly path: string;
  readonly rules: TemplateRules;
  /** The template together with those below it; undefined where these are not known. */
  readonly all: TemplatePod | undefined;
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
      (all?.containers ?? []).some((other) => other.name === name)
        ? [{ path: `${at}.name`, message: `Duplicate value: "${name}"` }]
        : [],
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

/** The one alternative of an object, or what is wrong. */
function onlyOne(path: string, value: object, alternatives: readonly string[]): readonly Problem[] {
  const given = alternatives.filter((name) => Object.hasOwn(value, name));
  if (given.length === 1) return [];
  const message =
    given.length === 0
      ? `Required value: give one of ${alternatives.join(', ')}`
      : `Invalid value: ${given.join(', ')}: give one of ${alternatives.join(', ')}`;
  return [{ path, message }];
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

function ownName(
  own: readonly string[],
  name: string,
  path: string,
  what: string,
): readonly Problem[] {
  if (!own.includes(name)) return [];
  const message = `Invalid value: "${name}": a ${what} of the operator has this name; use another name`;
  return [{ path, message }];
}

function itemProblems(
  items: readonly { readonly path: string }[] | undefined,
  path: string,
): readonly Problem[] {
  return (items ?? []).flatMap((item, i) => upwards(item.path, `${path}.items[${i}].path`));
}

function upwards(text: string | undefined, path: string): readonly Problem[] {
  if (!text?.split('/').includes('..')) return [];
  return [{ path, message: `Invalid value: "${text}": must not contain ".."` }];
}

function secretProblems(
  name: string | undefined,
  path: string,
  { rules }: Place,
): readonly Problem[] {
  return name === undefined || (rules.secrets ?? []).includes(name)
    ? []
    : generatedSecretProblems(name, path);
}

/** A Secret that the operator generates is given to its own containers only. */
export function generatedSecretProblems(name: string, path: string): readonly Problem[] {
  return generatedName(name, path, { suffixes: OWN_SECRET_SUFFIXES, what: 'Secrets' });
}

function claimProblems(name: string | undefined, path: string): readonly Problem[] {
  if (name === undefined) return [];
  return generatedName(name, path, { suffixes: OWN_CLAIM_SUFFIXES, what: 'claims' });
}

function generatedName(
  name: string,
  path: string,
  { suffixes, what }: { readonly suffixes: readonly string[]; readonly what: string },
): readonly Problem[] {
  const suffix = suffixes.find((end) => name.endsWith(end));
  if (suffix === undefined) return [];
  const message = `Invalid value: "${name}": names that end with ${suffix} are of ${what} of the operator, for its own containers; use another name`;
  return [{ path, message }];
}

function containerProblems(
  container: TemplateContainer,
  path: string,
  place: Place,
): readonly Problem[] {
  const { own, component } = place;
  const isOwn = own.containers.includes(container.name);
  const common = commonProblems(container, path, place);
  if (isOwn) return [...ownContainerProblems(container, path, place), ...common];
  const forever: Problem[] =
    component === 'jobs'
      ? [
          {
            path,
            message: `Invalid value: "${container.name}": a Job ends when its containers have ended; put it into initContainers with restartPolicy Always`,
          },
        ]
      : [];
  return [...forever, ...addedProblems(container, path, place), ...common];
}

function initContainerProblems(
  container: TemplateContainer,
  path: string,
  place: Place,
): readonly Problem[] {
  return [
    ...addedProblems(container, path, place),
    ...commonProblems(container, path, place),
    ...(container.restartPolicy === 'Always'
      ? []
      : fieldProblems(container, ['livenessProbe', 'readinessProbe', 'startupProbe'], path, () => {
          return 'only an init container with restartPolicy Always has probes';
        })),
  ];
}

type ContainerField = keyof TemplateContainer;

function fieldProblems(
  container: TemplateContainer,
  fields: readonly ContainerField[],
  path: string,
  why: (field: ContainerField) => string,
): readonly Problem[] {
  return fields
    .filter((field) => container[field] !== undefined)
    .map((field) => ({
      path: `${path}.${field}`,
      message: `Forbidden: container "${container.name}": ${why(field)}`,
    }));
}

/** What the operator decides about its own containers. */
const OPERATORS: readonly ContainerField[] = [
  ...(['command', 'args', 'ports', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const),
  ...(['securityContext', 'restartPolicy', 'imagePullPolicy', 'image'] as const),
];

const ELSEWHERE: Partial<Record<ContainerField, (component: PodComponent) => string>> = {
  image: (component) => imageField(component),
  imagePullPolicy: (component) =>
    ['redis', 'database'].includes(component) ? '' : 'spec.image.pullPolicy of the AppBench',
  securityContext: () => 'spec.security of the AppBench',
};

function imageField(component: PodComponent): string {
  if (component === 'redis') return 'spec.redisConfig.image';
  return component === 'database' ? 'spec.dbConfig.image' : 'spec.image of the AppBench';
}

function ownContainerProblems(
  container: TemplateContainer,
  path: string,
  { component, own }: Place,
): readonly Problem[] {
  const takes =
    component === 'jobs' ? 'env, volumeMounts, resources' : 'env, envFrom, volumeMounts';
  const allowed = own.label === undefined || takesEnvFrom(component) ? takes : 'env, volumeMounts';
  const why = (field: ContainerField): string => {
    const elsewhere = ELSEWHERE[field]?.(component) ?? '';
    const hint = elsewhere === '' ? '' : `; set ${elsewhere}`;
    return `the operator sets ${field}${hint}; a template may set ${allowed}`;
  };
  return [
    ...fieldProblems(container, OPERATORS, path, why),
    ...(component === 'jobs'
      ? []
      : fieldProblems(
          container,
          ['resources'],
          path,
          () => `set ${resourcesField(component)}; a template may set ${allowed}`,
        )),
    ...(takesEnvFrom(component)
      ? []
      : fieldProblems(
          container,
          ['envFrom'],
          path,
          () => `a key could be a variable of the operator; name each variable in env`,
        )),
  ];
}

/** Programs that take any variable for a setting, or Jobs, whose scripts read many. */
function takesEnvFrom(component: PodComponent): boolean {
  return !['jobs', 'redis', 'database'].includes(component);
}

function resourcesField(component: PodComponent): string {
  if (component === 'redis') return 'spec.redisConfig.resources';
  if (component === 'database') return 'spec.dbConfig.resources';
  if (component === 'workers') return 'spec.workers[].resources';
  return `spec.componentResources.${component}`;
}

/** What a container lacks that is not one of the operator's in this component. */
function addedProblems(
  container: TemplateContainer,
  path: string,
  { component, own, all }: Place,
): readonly Problem[] {
  const { name, ports } = container;
  const named = own.containers.join(', ');
  const reserved: Problem[] = isOwnContainer(own, name)
    ? [
        {
          path: `${path}.name`,
          message: `Unsupported value: "${name}": the operator's containers of ${component} are: ${named}; give a further container another name`,
        },
      ]
    : [];
  const merged = [...(all?.containers ?? []), ...(all?.initContainers ?? [])];
  const lacksImage = all && merged.find((other) => other.name === name)?.image === undefined;
  return [
    ...reserved,
    ...(lacksImage && reserved.length === 0
      ? [
          {
            path: `${path}.image`,
            message: `Required value: a further container needs an image; the operator's containers of ${component} are: ${named}`,
          },
        ]
      : []),
    ...(ports ?? []).flatMap((port, i) => portProblems(port, `${path}.ports[${i}]`, own)),
  ];
}

function portProblems(
  { containerPort, name }: TemplatePort,
  path: string,
  { ports }: OwnPod,
): readonly Problem[] {
  return [
    ...(ports.includes(containerPort)
      ? [
          {
            path: `${path}.containerPort`,
            message: `Invalid value: ${containerPort}: the operator's container has this port; use another port`,
          },
        ]
      : []),
    ...(name === undefined ? [] : ownName(OWN_PORT_NAMES, name, `${path}.name`, 'port')),
  ];
}

function commonProblems(
  container: TemplateContainer,
  path: string,
  place: Place,
): readonly Problem[] {
  const { env = [], envFrom = [], volumeMounts = [], name } = container;
  const isOwn = place.own.containers.includes(name);
  const probes = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;
  return [
    ...env.flatMap((item, i) => envProblems(item, `${path}.env[${i}]`, { ...place, isOwn })),
    ...envFrom.flatMap((item, i) => envFromProblems(item, `${path}.envFrom[${i}]`, place)),
    ...volumeMounts.flatMap((item, i) =>
      mountProblems(item, `${path}.volumeMounts[${i}]`, { ...place, isOwn }),
    ),
    ...probes.flatMap((field) => probeProblems(container[field], `${path}.${field}`)),
  ];
}

function probeProblems(probe: TemplateProbe | undefined, path: string): readonly Problem[] {
  return probe ? onlyOne(path, probe, ['exec', 'httpGet', 'tcpSocket']) : [];
}

interface ContainerPlace extends Place {
  /** Whether the container is the operator's. */
  readonly isOwn: boolean;
}

function envProblems(
  { name, value, valueFrom }: TemplateEnvVar,
  path: string,
  place: ContainerPlace,
): readonly Problem[] {
  const both: Problem[] =
    value !== undefined && valueFrom
      ? [{ path: `${path}.valueFrom`, message: 'Invalid value: may not be given with value' }]
      : [];
  return [
    ...(place.isOwn && isOwnVariable(place.own, name)
      ? [
          {
            path: `${path}.name`,
            message: `Invalid value: "${name}": the operator's container reads this variable; use another name`,
          },
        ]
      : []),
    ...both,
    ...(valueFrom
      ? onlyOne(`${path}.valueFrom`, valueFrom, ['secretKeyRef', 'configMapKeyRef', 'fieldRef'])
      : []),
    ...secretProblems(valueFrom?.secretKeyRef?.name, `${path}.valueFrom.secretKeyRef.name`, place),
  ];
}

function envFromProblems(source: EnvSource, path: string, place: Place): readonly Problem[] {
  return [
    ...onlyOne(path, source, ['secretRef', 'configMapRef']),
    ...secretProblems(source.secretRef?.name, `${path}.secretRef.name`, place),
  ];
}

function mountProblems(
  { name, mountPath, subPath }: TemplateMount,
  path: string,
  { own, isOwn, all, component }: ContainerPlace,
): readonly Problem[] {
  const added = all && (all.volumes ?? []).map((volume) => volume.name);
  const shared = isOwn ? [] : own.shared;
  const known = added && [...added, ...shared];
  // Without the templates below, only a name of the operator's is known to be wrong.
  const isUnknown = known
    ? !known.includes(name)
    : OWN_VOLUMES.includes(name) && !shared.includes(name);
  const names = [...(added ?? []), ...shared].join(', ') || 'none';
  return [
    ...(isUnknown
      ? [
          {
            path: `${path}.name`,
            message: `Not found: "${name}": the volumes that this container of ${component} may mount are: ${names}`,
          },
        ]
      : []),
    ...upwards(mountPath, `${path}.mountPath`),
    ...upwards(subPath, `${path}.subPath`),
    ...(isOwn ? folderProblems(mountPath, `${path}.mountPath`, own) : []),
  ];
}

function folderProblems(mountPath: string, path: string, own: OwnPod): readonly Problem[] {
  const wanted = `${mountPath.replaceAll(/[/]+/g, '/').replace(/[/]$/, '')}/`;
  const folder =
    own.folders.find((one) => `${one}/`.startsWith(wanted) || wanted.startsWith(`${one}/`)) ??
    SYSTEM_FOLDERS.find((one) => `${one}/` === wanted);
  if (folder === undefined) return [];
  const message = `Invalid value: "${mountPath}": hides ${folder}, which the operator's container needs; mount it elsewhere`;
  return [{ path, message }];
}

/** Every object of the namespace whose content a template gives to pods. */
export function templateReferences(
  templates: RawTemplates | undefined,
): readonly ObjectReference[] {
  return components(templates).flatMap(([component, { spec = {} }]) => {
    const path = `${PATH}.${component}.spec`;
    return [
      ...(spec.volumes ?? []).flatMap((volume, i) =>
        volumeReferences(volume, `${path}.volumes[${i}]`),
      ),
      ...(['containers', 'initContainers'] as const).flatMap((field) =>
        (spec[field] ?? []).flatMap((container, i) =>
          containerReferences(container, `${path}.${field}[${i}]`),
        ),
      ),
    ];
  });
}

function volumeReferences(
  { secret, configMap, persistentVolumeClaim: claim }: TemplateVolume,
  path: string,
): readonly ObjectReference[] {
  return [
    ...reference('Secret', secret?.secretName, `${path}.secret.secretName`),
    ...reference('ConfigMap', configMap?.name, `${path}.configMap.name`),
    ...reference(
      'PersistentVolumeClaim',
      claim?.claimName,
      `${path}.persistentVolumeClaim.claimName`,
    ),
  ];
}

function containerReferences(
  { env = [], envFrom = [] }: TemplateContainer,
  path: string,
): readonly ObjectReference[] {
  return [
    ...env.flatMap(({ valueFrom }, i) => {
      const at = `${path}.env[${i}].valueFrom`;
      return [
        ...reference('Secret', valueFrom?.secretKeyRef?.name, `${at}.secretKeyRef.name`),
        ...reference('ConfigMap', valueFrom?.configMapKeyRef?.name, `${at}.configMapKeyRef.name`),
      ];
    }),
    ...envFrom.flatMap(({ secretRef, configMapRef }, i) => {
      const at = `${path}.envFrom[${i}]`;
      return [
        ...reference('Secret', secretRef?.name, `${at}.secretRef.name`),
        ...reference('ConfigMap', configMapRef?.name, `${at}.configMapRef.name`),
      ];
    }),
  ];
}

function reference(
  kind: string,
  name: string | undefined,
  path: string,
): readonly ObjectReference[] {
  return name === undefined ? [] : [{ kind, name, path }];
}
