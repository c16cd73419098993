/**
 * What a pod template may not do to the operator's own containers, volumes, labels and identity. The API
 * server refuses what no pod can have, and the condition `Ready` shows that as `ApplyRefused`.
 */

import type { Problem } from '../kit/errors.js';
import { isObject } from '../kit/json/is-object.js';
import type { RawTemplates } from './pod-template.js';
import {
  generatedName,
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
import {
  formProblems,
  type CheckedTemplate,
  type TemplateContainer,
  type TemplatePod,
  type TemplateVolume,
} from './pod-template-schema.js';

/** What the templates of a resource are checked against. */
export interface TemplateRules {
  /** The API group: prefix of the operator's labels and annotations. */
  readonly group: string;
  /** Whether they are a site's: its author may have no rights on the bench. */
  readonly ofSite?: boolean;
  /** Secrets that the operator generates, and that the author may use. */
  readonly secrets?: readonly string[];
}

/** Where a template is. */
interface Place {
  readonly component: PodComponent;
  readonly own: OwnPod;
  readonly path: string;
  readonly rules: TemplateRules;
}

/** The most problems of one resource that are named. */
const MAX_PROBLEMS = 16;
export const PATH = 'spec.componentPodTemplates';

/** Everything in pod templates that the operator refuses. */
export function templateProblems(
  templates: RawTemplates | undefined,
  rules: TemplateRules,
): readonly Problem[] {
  const invalid = Object.entries(templates ?? {}).flatMap(([component, template]) =>
    hasForm(template) ? [] : formProblems(template, `${PATH}.${component}`),
  );
  const broken = components(templates).flatMap(([component, { metadata, spec = {} }]) => {
    const path = `${PATH}.${component}`;
    const place = { component, own: POD_COMPONENTS[component], path: `${path}.spec`, rules };
    return [
      ...keyProblems(metadata?.labels, `${path}.metadata.labels`, isOwnLabel, rules),
      ...keyProblems(metadata?.annotations, `${path}.metadata.annotations`, isOwnAnnotation, rules),
      ...podProblems(spec, place),
    ];
  });
  return [...invalid, ...broken].slice(0, MAX_PROBLEMS);
}

/** The templates of components that exist and whose form is right: the schema refuses other names. */
export function components(
  templates: RawTemplates | undefined,
): readonly (readonly [PodComponent, CheckedTemplate])[] {
  return Object.entries(templates ?? {}).flatMap(([name, template]) =>
    isComponent(name) && hasForm(template) ? [[name, template as CheckedTemplate] as const] : [],
  );
}

/** A template may have 0.4 MB, and each site of a bench asks several times: an object never changes. */
const FORMS = new WeakMap<object, boolean>();

function hasForm(template: unknown): boolean {
  const known = isObject(template) ? FORMS.get(template) : undefined;
  if (known !== undefined) return known;
  const found = formProblems(template, '').length === 0;
  if (isObject(template)) FORMS.set(template, found);
  return found;
}

function isComponent(name: string): name is PodComponent {
  return Object.hasOwn(POD_COMPONENTS, name);
}

/** Labels and annotations that the operator sets. */
function keyProblems(
  map: Readonly<Record<string, string>> = {},
  path: string,
  isOwn: (key: string, group: string) => boolean,
  { group }: TemplateRules,
): readonly Problem[] {
  return Object.keys(map)
    .filter((key) => isOwn(key, group))
    .sort()
    .map((key) => ({
      path: `${path}[${key}]`,
      message: `Invalid value: "${key}": the operator sets it; use another key`,
    }));
}

function podProblems(spec: TemplatePod, place: Place): readonly Problem[] {
  const { path } = place;
  const { volumes = [], containers = [], initContainers = [] } = spec;
  return [
    ...volumes.flatMap((volume, i) =>
      volumeProblems(volume, { ...place, path: `${path}.volumes[${i}]` }),
    ),
    ...containers.flatMap((container, i) =>
      containerProblems(container, { ...place, path: `${path}.containers[${i}]` }),
    ),
    ...initContainers.flatMap((container, i) =>
      furtherProblems(container, { ...place, path: `${path}.initContainers[${i}]` }),
    ),
    ...nameServiceProblems(spec, place),
  ];
}

/** In Jobs of a site a container logs in to the database server of the bench, as its administrator. */
function nameServiceProblems(
  spec: TemplatePod,
  { path, component, rules }: Place,
): readonly Problem[] {
  if (component !== 'jobs' || rules.ofSite !== true) return [];
  const message =
    'Forbidden: Jobs of a site log in to the database server of the bench; set it on the AppBench';
  return (['hostAliases', 'dnsPolicy', 'dnsConfig'] as const)
    .filter((field) => spec[field] !== undefined)
    .map((field) => ({ path: `${path}.${field}`, message }));
}

function volumeProblems(volume: TemplateVolume, place: Place): readonly Problem[] {
  const { path } = place;
  const { name, secret, persistentVolumeClaim: claim } = volume;
  // The API server would make it an `emptyDir`, which stays beside the source of a later apply.
  const empty = 'Required value: give configMap, secret, emptyDir or persistentVolumeClaim';
  return [
    ...(Object.keys(volume).length === 1 ? [{ path, message: empty }] : []),
    ...ownName(OWN_VOLUMES, name, `${path}.name`, 'volume'),
    ...secretProblems(secret?.secretName, `${path}.secret.secretName`, place),
    ...generatedName(claim?.claimName, `${path}.persistentVolumeClaim.claimName`, {
      suffixes: OWN_CLAIM_SUFFIXES,
      what: 'claims',
    }),
  ];
}

function containerProblems(container: TemplateContainer, place: Place): readonly Problem[] {
  const { name } = container;
  const { own, component, path } = place;
  if (own.containers.includes(name)) return ownContainerProblems(container, place);
  if (component !== 'jobs') return furtherProblems(container, place);
  const message = `Invalid value: "${name}": a Job ends when its containers have ended; put it into initContainers with restartPolicy Always`;
  return [{ path, message }, ...furtherProblems(container, place)];
}

/** Of a container that runs the operator's program: it takes what does not change the program. */
function ownContainerProblems(container: TemplateContainer, place: Place): readonly Problem[] {
  const { path, component, own } = place;
  const fields = ownFields(component);
  const refused = Object.keys(container)
    .filter((field) => field !== 'name' && !fields.includes(field))
    .map((field) => ({
      path: `${path}.${field}`,
      message: `Forbidden: container "${container.name}": ${whyOwn(field, component)}`,
    }));
  const variables = (container.env ?? []).flatMap(({ name }, i) => {
    const message = `Invalid value: "${name}": the operator's container reads this variable; use another name`;
    return isOwnVariable(own, name) ? [{ path: `${path}.env[${i}].name`, message }] : [];
  });
  const folders = (container.volumeMounts ?? []).flatMap(({ mountPath }, i) =>
    folderProblems(mountPath, `${path}.volumeMounts[${i}].mountPath`, own),
  );
  return [
    ...refused,
    ...variables,
    ...referenceProblems(container, place),
    ...mountProblems(container, place, []),
    ...folders,
  ];
}

/** The fields of the operator's own containers that a template may set. */
function ownFields(component: PodComponent): readonly string[] {
  if (component === 'jobs') return ['env', 'volumeMounts', 'resources'];
  if (component === 'redis' || component === 'database') return ['env', 'volumeMounts'];
  return ['env', 'envFrom', 'volumeMounts'];
}

function whyOwn(field: string, component: PodComponent): string {
  if (field === 'envFrom') {
    return 'a key could be a variable of the operator; name each variable in env';
  }
  const elsewhere = elsewhereOf(field, component);
  const hint = elsewhere === undefined ? '' : `; set ${elsewhere}`;
  return `the operator sets ${field}${hint}; a template may set ${ownFields(component).join(', ')}`;
}

/** The field of the spec that is in place of a container's. */
function elsewhereOf(field: string, component: PodComponent): string | undefined {
  const settings = { redis: 'spec.redisConfig', database: 'spec.dbConfig' };
  const config =
    component === 'redis' || component === 'database' ? settings[component] : undefined;
  switch (field) {
    case 'image':
      return config === undefined ? 'spec.image of the AppBench' : `${config}.image`;
    case 'imagePullPolicy':
      return config === undefined ? 'spec.image.pullPolicy of the AppBench' : undefined;
    case 'securityContext':
      return 'spec.security of the AppBench';
    case 'resources':
      if (config !== undefined) return `${config}.resources`;
      return component === 'workers'
        ? 'spec.workers[].resources'
        : `spec.componentResources.${component}`;
    default:
      return undefined;
  }
}

/** Of a container that is not one of the operator's. */
function furtherProblems(container: TemplateContainer, place: Place): readonly Problem[] {
  const { path, component, own } = place;
  const { name, ports = [] } = container;
  const reserved = `Unsupported value: "${name}": the operator's containers of ${component} are: ${own.containers.join(', ')}; give a further container another name`;
  return [
    ...(isOwnContainer(own, name) ? [{ path: `${path}.name`, message: reserved }] : []),
    ...ports.flatMap(({ containerPort, name: port }, i) => {
      const at = `${path}.ports[${i}]`;
      const message = `Invalid value: ${containerPort}: the operator's container has this port; use another port`;
      return [
        ...(own.ports.includes(containerPort) ? [{ path: `${at}.containerPort`, message }] : []),
        ...ownName(OWN_PORT_NAMES, port, `${at}.name`, 'port'),
      ];
    }),
    ...referenceProblems(container, place),
    ...mountProblems(container, place, own.shared),
  ];
}

function referenceProblems(
  { env = [], envFrom = [] }: TemplateContainer,
  place: Place,
): readonly Problem[] {
  const { path } = place;
  return [
    ...env.flatMap(({ valueFrom }, i) =>
      secretProblems(
        valueFrom?.secretKeyRef?.name,
        `${path}.env[${i}].valueFrom.secretKeyRef.name`,
        place,
      ),
    ),
    ...envFrom.flatMap(({ secretRef }, i) =>
      secretProblems(secretRef?.name, `${path}.envFrom[${i}].secretRef.name`, place),
    ),
  ];
}

/** @param shared the operator's volumes that the container may mount */
function mountProblems(
  { volumeMounts = [] }: TemplateContainer,
  { path, component }: Place,
  shared: readonly string[],
): readonly Problem[] {
  const allowed = ['volumes of its templates', ...shared].join(', ');
  return volumeMounts.flatMap(({ name }, i) => {
    if (!OWN_VOLUMES.includes(name) || shared.includes(name)) return [];
    const message = `Invalid value: "${name}": this volume is for the operator's own mounts; this container of ${component} may mount: ${allowed}`;
    return [{ path: `${path}.volumeMounts[${i}].name`, message }];
  });
}

/** What hides a folder of the operator's own container. */
function folderProblems(mountPath: string, path: string, own: OwnPod): readonly Problem[] {
  // A link in the path may lead anywhere, and from there up.
  if (mountPath.split('/').includes('..')) {
    return [{ path, message: `Invalid value: "${mountPath}": must not contain ".."` }];
  }
  const wanted = normalPath(mountPath);
  const folder =
    own.folders.find((one) => `${one}/`.startsWith(wanted) || wanted.startsWith(`${one}/`)) ??
    SYSTEM_FOLDERS.find((one) => `${one}/` === wanted);
  if (folder === undefined) return [];
  const message = `Invalid value: "${mountPath}": hides ${folder}, which the operator's container needs; mount it elsewhere`;
  return [{ path, message }];
}

/** A path as the kubelet mounts it, with a slash at both ends: `/a/` for `a`, `/a/.` and `//a`. */
function normalPath(path: string): string {
  const steps = path.split('/').filter((step) => step !== '' && step !== '.');
  return ['', ...steps, ''].join('/');
}

function ownName(
  own: readonly string[],
  name: string | undefined,
  path: string,
  what: string,
): readonly Problem[] {
  if (name === undefined || !own.includes(name)) return [];
  const message = `Invalid value: "${name}": a ${what} of the operator has this name; use another name`;
  return [{ path, message }];
}

function secretProblems(
  name: string | undefined,
  path: string,
  { rules }: Place,
): readonly Problem[] {
  if (name === undefined || rules.secrets?.includes(name)) return [];
  return generatedSecretProblems(name, path);
}

/** A Secret that the operator generates is given to its own containers only. */
export function generatedSecretProblems(name: string, path: string): readonly Problem[] {
  return generatedName(name, path, { suffixes: OWN_SECRET_SUFFIXES, what: 'Secrets' });
}
