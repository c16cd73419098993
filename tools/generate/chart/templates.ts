import { isDeepStrictEqual } from 'node:util';
import type { InstallProps } from '../../../constructs/install/chart.js';
import { LIMITS } from '../../../constructs/install/limit-rule.js';
import { isObject } from '../../../constructs/kit/json/is-object.js';
import { DEFAULT_SETTINGS } from '../../../constructs/kit/operator-settings.js';
import type { KubeObject } from '../../../constructs/kit/object.js';
import { type DeploymentObject, lift, withValues } from './deployment.js';
import { type Choice, joined, Merge } from './merge.js';
import type { Lifted } from './values.js';
import { Tokens } from './tokens.js';

/**
 * What makes the objects of an installation, and their YAML. Both import every kind, so they are
 * given.
 */
export interface Installer {
  readonly install: (props: InstallProps) => readonly KubeObject[];
  readonly yaml: (object: object) => string;
  /** Where the image comes from. */
  readonly repository: string;
}

/** The templates of the chart by their paths below `templates/`, and the defaults of its values. */
export interface Templates {
  readonly files: ReadonlyMap<string, string>;
  readonly lifted: Lifted;
}

/** Stands for the namespaces that are watched: for all of them, or for one after the other. */
const WATCHED = '__watched__';

type Dimension = readonly (Choice & { readonly props: Partial<InstallProps> })[];

/** The variants of an installation, by dimension; the default is the first of each. */
const DIMENSIONS: readonly Dimension[] = [
  [
    { when: 'not .Values.watchNamespaces', props: {} },
    {
      when: 'and .Values.watchNamespaces .Values.rbac.clusterRoles',
      props: { watchNamespaces: [WATCHED] },
    },
    {
      when: 'not .Values.rbac.clusterRoles',
      props: { watchNamespaces: [WATCHED], namespaced: true },
    },
  ],
  [
    { when: 'le (int .Values.replicas) 1', props: {} },
    { when: 'gt (int .Values.replicas) 1', props: { replicas: 2 } },
  ],
  [
    { when: 'not (include "app-operator.platformIds" .)', props: {} },
    { when: 'include "app-operator.platformIds" .', props: { platformIds: true } },
  ],
  [
    { when: 'not .Values.networkPolicy.egress', props: {} },
    { when: '.Values.networkPolicy.egress', props: { limitEgress: true } },
  ],
  [
    { when: '.Values.webhooks.enabled', props: {} },
    { when: 'not .Values.webhooks.enabled', props: { webhooks: false } },
  ],
  [
    { when: '.Values.policies.enabled', props: {} },
    { when: 'not .Values.policies.enabled', props: { policies: false } },
  ],
];

const NAMESPACE = '.Values.networkPolicy.metricsNamespace';
const PLAIN = '.Values.metrics.plain';

/** Variants in which a value is in the objects. */
function namedDimensions(tokens: Tokens): readonly Dimension[] {
  const metricsNamespace = tokens.text(NAMESPACE);
  const kedaNamespace = tokens.text('.Values.kedaNamespace');
  const webhookClientCa = tokens.text('.Values.webhooks.clientCA');
  const isKeda = `.Values.kedaNamespace "${DEFAULT_SETTINGS.kedaNamespace}"`;
  return [
    [
      { when: `and (not ${NAMESPACE}) (not ${PLAIN})`, props: {} },
      { when: `and ${NAMESPACE} (not ${PLAIN})`, props: { metricsNamespace } },
      { when: `and (not ${NAMESPACE}) ${PLAIN}`, props: { plainMetrics: true } },
      { when: `and ${NAMESPACE} ${PLAIN}`, props: { metricsNamespace, plainMetrics: true } },
    ],
    [
      { when: 'not .Values.webhooks.clientCA', props: {} },
      { when: '.Values.webhooks.clientCA', props: { webhookClientCa } },
    ],
    [
      { when: `eq ${isKeda}`, props: {} },
      { when: `ne ${isKeda}`, props: { kedaNamespace } },
    ],
  ];
}

/** Conditions for all objects of a kind. */
const WHEN: Readonly<Record<string, string>> = {
  PodDisruptionBudget: '.Values.podDisruptionBudget.enabled',
  NetworkPolicy: '.Values.networkPolicy.enabled',
};

/** Helm or the user creates the namespace of the release. `DEFINITIONS` of files.ts has the CRDs. */
const LEFT_OUT = new Set(['Namespace', 'CustomResourceDefinition']);

/** The templates: what the constructs make, and under which values they make something else. */
export function templatesOf({ install, yaml, repository }: Installer): Templates {
  const tokens = new Tokens();
  const base = {
    image: tokens.text('include "app-operator.image" .'),
    namespace: tokens.text('.Release.Namespace'),
  };
  const suffix = tokens.value('include "app-operator.suffix" .');
  const variants = [...DIMENSIONS, ...namedDimensions(tokens)].map((choices) =>
    choices.map((choice) => {
      const objects = install({ ...base, ...choice.props });
      const adapted = objects
        .filter(({ kind }) => !LEFT_OUT.has(kind))
        .map((object) => withSuffix(object, base.namespace, suffix))
        .map((object) => [idOf(object), adapt(object, tokens)] as const);
      return [choice, new Map(adapted)] as const;
    }),
  );
  const ids = new Set(variants.flat().flatMap(([, objects]) => [...objects.keys()]));
  const merge = new Merge(tokens);
  const files = new Map<string, string>();
  for (const id of ids) {
    const { when, value } = merge.object(
      variants.map((choices) =>
        choices.map(([choice, objects]) => [choice, objects.get(id)] as const),
      ),
    );
    const object = value as KubeObject;
    const { kind, metadata } = object;
    const conditions = [WHEN[kind], when].filter((part) => part !== undefined);
    const text = tokens.render(yaml(object));
    const body = metadata.namespace === WATCHED ? eachNamespace(text) : allNamespaces(text);
    const one = metadata.namespace === WATCHED ? '-watched' : '';
    files.set(
      `${kind.toLowerCase()}-${metadata.name.replace(suffix, '')}${one}.yaml`,
      conditions.length === 0
        ? body
        : `{{- if ${joined('and', conditions)} }}\n${body}{{- end }}\n`,
    );
  }
  return { files, lifted: { ...lift(deploymentOf(install({ image: repository }))), repository } };
}

/** Names outside of the release's namespace do not end with it where it is the default one. */
function withSuffix(object: KubeObject, namespace: string, suffix: string): KubeObject {
  const text = JSON.stringify(object).replaceAll(`-${namespace}"`, `${suffix}"`);
  return JSON.parse(text) as KubeObject;
}

function adapt(object: KubeObject, tokens: Tokens): KubeObject {
  const labels = tokens.lines((indent) => [
    `{{- include "app-operator.labels" . | nindent ${indent} }}`,
  ]);
  const labelled = {
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, [labels]: null } },
  } as unknown as KubeObject;
  switch (object.kind) {
    case 'Deployment':
      return withValues(labelled as DeploymentObject, tokens);
    case 'ConfigMap':
      return { ...labelled, [tokens.lines(() => LIMIT_DATA)]: null };
    case 'ValidatingAdmissionPolicyBinding':
      return withNamespaces(labelled, tokens) as KubeObject;
    default:
      return labelled;
  }
}

/** What an administrator allows. Without values the ConfigMap has no data that an upgrade overwrites. */
const LIMIT_DATA = [
  '{{- with .Values.policies }}',
  `{{- if or ${Object.values(LIMITS)
    .map((key) => `.${key}`)
    .join(' ')} }}`,
  'data:',
  ...Object.values(LIMITS).flatMap((key) => [
    `  {{- with .${key} }}`,
    `  ${key}: {{ join "," . | quote }}`,
    '  {{- end }}',
  ]),
  '{{- end }}',
  '{{- end }}',
];

/** The list of the watched namespaces, where an object has it. */
function withNamespaces(value: unknown, tokens: Tokens): unknown {
  if (isDeepStrictEqual(value, [WATCHED])) return tokens.block('.Values.watchNamespaces');
  if (Array.isArray(value)) return value.map((item: unknown) => withNamespaces(item, tokens));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, withNamespaces(item, tokens)]);
  return Object.fromEntries(entries) as unknown;
}

/** One document for each namespace; within, the dot is that namespace. */
function eachNamespace(text: string): string {
  const rooted = text.replaceAll(/\{\{.*?\}\}/g, (action) =>
    action
      .replaceAll(/(?<=[ (])\.(?=Values|Release|Chart)/g, '$.')
      .replaceAll(/(?<=[ (])\.(?=[ )])/g, '$'),
  );
  const document = rooted
    .replaceAll(`: ${WATCHED}\n`, ': {{ . | quote }}\n')
    .replaceAll(WATCHED, '{{ . }}');
  return `{{- range .Values.watchNamespaces }}\n---\n${document}{{- end }}\n`;
}

function allNamespaces(text: string): string {
  return text.replaceAll(WATCHED, '{{ join "," .Values.watchNamespaces }}');
}

function deploymentOf(objects: readonly KubeObject[]): DeploymentObject {
  const found = objects.find(({ kind }) => kind === 'Deployment');
  if (!found) throw new Error('nothing that is installed is a Deployment');
  return found as DeploymentObject;
}

function idOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name}`;
}
