import type { Problem } from '../kit/errors.js';
import type {
  EnvSource,
  TemplateContainer,
  TemplateEnvVar,
  TemplateMount,
  TemplatePort,
  TemplateProbe,
} from './pod-template-types.js';
import {
  isOwnContainer,
  isOwnVariable,
  OWN_PORT_NAMES,
  OWN_VOLUMES,
  SYSTEM_FOLDERS,
  type OwnPod,
  type PodComponent,
} from './pod-components.js';
import {
  type Place,
  onlyOne,
  ownName,
  problemIf,
  upwards,
  secretProblems,
} from './pod-template-problems.js';

export function containerProblems(
  container: TemplateContainer,
  path: string,
  place: Place,
): readonly Problem[] {
  const { own, component } = place;
  const isOwn = own.containers.includes(container.name);
  const common = commonProblems(container, path, place);
  if (isOwn) return [...ownContainerProblems(container, path, place), ...common];
  const forever = `Invalid value: "${container.name}": a Job ends when its containers have ended; put it into initContainers with restartPolicy Always`;
  return [
    ...problemIf(component === 'jobs', path, forever),
    ...addedProblems(container, path, place),
    ...common,
  ];
}

export function initContainerProblems(
  container: TemplateContainer,
  path: string,
  place: Place,
): readonly Problem[] {
  return [
    ...addedProblems(container, path, place),
    ...commonProblems(container, path, place),
    ...fieldProblems(
      container,
      container.restartPolicy === 'Always' ? [] : PROBES,
      path,
      () => 'only an init container with restartPolicy Always has probes',
    ),
  ];
}

type ContainerField = keyof TemplateContainer;

const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;

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
  ...(['command', 'args', 'ports', ...PROBES] as const),
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
    ...fieldProblems(
      container,
      component === 'jobs' ? [] : ['resources'],
      path,
      () => `set ${resourcesField(component)}; a template may set ${allowed}`,
    ),
    ...fieldProblems(
      container,
      takesEnvFrom(component) ? [] : ['envFrom'],
      path,
      () => 'a key could be a variable of the operator; name each variable in env',
    ),
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
  const isReserved = isOwnContainer(own, name);
  const merged = [...(all?.containers ?? []), ...(all?.initContainers ?? [])];
  const lacksImage = all && merged.find((other) => other.name === name)?.image === undefined;
  return [
    ...problemIf(
      isReserved,
      `${path}.name`,
      `Unsupported value: "${name}": the operator's containers of ${component} are: ${named}; give a further container another name`,
    ),
    ...problemIf(
      lacksImage === true && !isReserved,
      `${path}.image`,
      `Required value: a further container needs an image; the operator's containers of ${component} are: ${named}`,
    ),
    ...(ports ?? []).flatMap((port, i) => portProblems(port, `${path}.ports[${i}]`, own)),
  ];
}

function portProblems(
  { containerPort, name }: TemplatePort,
  path: string,
  { ports }: OwnPod,
): readonly Problem[] {
  return [
    ...problemIf(
      ports.includes(containerPort),
      `${path}.containerPort`,
      `Invalid value: ${containerPort}: the operator's container has this port; use another port`,
    ),
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
  return [
    ...env.flatMap((item, i) => envProblems(item, `${path}.env[${i}]`, { ...place, isOwn })),
    ...envFrom.flatMap((item, i) => envFromProblems(item, `${path}.envFrom[${i}]`, place)),
    ...volumeMounts.flatMap((item, i) =>
      mountProblems(item, `${path}.volumeMounts[${i}]`, { ...place, isOwn }),
    ),
    ...PROBES.flatMap((field) => probeProblems(container[field], `${path}.${field}`)),
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
  const isBoth = value !== undefined && Boolean(valueFrom);
  return [
    ...problemIf(
      place.isOwn && isOwnVariable(place.own, name),
      `${path}.name`,
      `Invalid value: "${name}": the operator's container reads this variable; use another name`,
    ),
    ...problemIf(isBoth, `${path}.valueFrom`, 'Invalid value: may not be given with value'),
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
    ...problemIf(
      isUnknown,
      `${path}.name`,
      `Not found: "${name}": the volumes that this container of ${component} may mount are: ${names}`,
    ),
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
  const message = `Invalid value: "${mountPath}": hides ${folder}, which the operator's container needs; mount it elsewhere`;
  return problemIf(folder !== undefined, path, message);
}
