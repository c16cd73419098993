import type { KubeObject } from '../../../constructs/kit/object.js';
import type { Lifted } from './values.js';
import type { Tokens } from './tokens.js';

type Tree = Readonly<Record<string, unknown>>;

interface Container extends Tree {
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string }[];
  readonly resources: unknown;
}

interface PodSpec extends Tree {
  readonly containers: readonly Container[];
  readonly nodeSelector: unknown;
  readonly topologySpreadConstraints: unknown;
}

/** The operator's Deployment, as far as the chart looks into it. */
export interface DeploymentObject extends KubeObject {
  readonly spec: Tree & {
    readonly template: {
      readonly metadata: { readonly labels: Tree; readonly annotations: Tree };
      readonly spec: PodSpec;
    };
  };
}

const LOG_LEVEL = '--zap-log-level=';
/** Variables of the container whose values are those of the chart. */
const IDS: Readonly<Record<string, string>> = {
  APP_DEFAULT_UID: '.Values.podDefaults.uid',
  APP_DEFAULT_GID: '.Values.podDefaults.gid',
  APP_DEFAULT_FSGROUP: '.Values.podDefaults.fsGroup',
};

/** Fields of the Deployment that become defaults of values. */
export function lift({ spec }: DeploymentObject): Omit<Lifted, 'repository'> {
  const pod = spec.template.spec;
  const container = containerOf(pod);
  const level = container.args.find((argument) => argument.startsWith(LOG_LEVEL));
  if (level === undefined)
    throw new Error(`Deployment of the operator: argument ${LOG_LEVEL} is missing`);
  return {
    pullPolicy: container.imagePullPolicy,
    resources: container.resources,
    nodeSelector: pod.nodeSelector,
    topologySpreadConstraints: pod.topologySpreadConstraints,
    logLevel: level.slice(LOG_LEVEL.length),
  };
}

/** The Deployment with values where the chart has some. */
export function withValues(deployment: DeploymentObject, tokens: Tokens): KubeObject {
  const { spec } = deployment;
  const { template } = spec;
  const { containers: _, nodeSelector: __, topologySpreadConstraints: ___, ...pod } = template.spec;
  const more = (name: string): Tree => ({
    [tokens.lines((indent) => [
      `{{- with .Values.${name} }}`,
      `{{- toYaml . | nindent ${indent} }}`,
      '{{- end }}',
    ])]: null,
  });
  const optional = (key: string): Tree => ({
    [tokens.lines((indent) => [
      `{{- with .Values.${key} }}`,
      `${key}: {{- toYaml . | nindent ${indent + 2} }}`,
      '{{- end }}',
    ])]: null,
  });
  const { labels, annotations } = template.metadata;
  const adapted = {
    ...deployment,
    spec: {
      ...spec,
      replicas: tokens.value('.Values.replicas'),
      template: {
        metadata: {
          labels: { ...labels, ...more('podLabels') },
          annotations: { ...annotations, ...more('podAnnotations') },
        },
        spec: {
          ...pod,
          [tokens.lines(() => PULL_SECRETS)]: null,
          nodeSelector: tokens.block('(.Values.nodeSelector | default dict)'),
          ...optional('tolerations'),
          ...optional('affinity'),
          topologySpreadConstraints: tokens.block(
            '(.Values.topologySpreadConstraints | default list)',
          ),
          [tokens.lines(() => PRIORITY)]: null,
          containers: [adaptContainer(containerOf(template.spec), tokens)],
        },
      },
    },
  };
  return adapted;
}

function adaptContainer({ env = [], ...container }: Container, tokens: Tokens): object {
  const other = env.find(({ name }) => !(name in IDS));
  if (other) throw new Error(`Deployment of the operator: ${other.name}: no value of the chart`);
  return {
    ...container,
    imagePullPolicy: tokens.value('.Values.image.pullPolicy'),
    args: [
      ...container.args.map((argument) =>
        argument.startsWith(LOG_LEVEL) ? LOG_LEVEL + tokens.value('.Values.logLevel') : argument,
      ),
      tokens.lines(() => EXTRA_ARGS),
    ],
    [tokens.lines((indent) => [
      '{{- with include "app-operator.env" . }}',
      'env:',
      `  {{- . | nindent ${indent + 2} }}`,
      '{{- end }}',
    ])]: null,
    resources: tokens.block('(.Values.resources | default dict)'),
  };
}

const PULL_SECRETS = [
  '{{- with .Values.image.pullSecrets }}',
  'imagePullSecrets:',
  '  {{- range . }}',
  '  - name: {{ . | quote }}',
  '  {{- end }}',
  '{{- end }}',
];
const PRIORITY = [
  '{{- with .Values.priorityClassName }}',
  'priorityClassName: {{ . | quote }}',
  '{{- end }}',
];
const EXTRA_ARGS = ['{{- range .Values.extraArgs }}', '- {{ . | quote }}', '{{- end }}'];

/**
 * A template with the container's variables. It is empty if there is no variable; the Deployment then
 * leaves the field out.
 */
export function envTemplate(): string {
  return [
    '{{- define "app-operator.env" -}}',
    '{{- if not (include "app-operator.platformIds" .) -}}',
    ...Object.entries(IDS).flatMap(([name, value]) => idLines(name, value)),
    '{{- end }}',
    '{{- with .Values.extraEnv }}',
    '{{ toYaml . }}',
    '{{- end }}',
    '{{- end -}}',
  ].join('\n');
}

/** Numbers of a chart are floating point ones, and large ones would be printed so. */
function idLines(name: string, value: string): readonly string[] {
  return [
    `{{- if not (kindIs "invalid" ${value}) }}`,
    `- name: ${name}`,
    `  value: {{ int64 ${value} | quote }}`,
    '{{- end }}',
  ];
}

function containerOf({ containers }: PodSpec): Container {
  const [container] = containers;
  if (!container || containers.length > 1) throw new Error('the operator has one container');
  return container;
}
