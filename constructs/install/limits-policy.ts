import type { ImageField, PodFields } from '../kit/pod-fields.js';
import {
  BEFORE,
  isChanged,
  isNew,
  keysWith,
  optional,
  repetition,
  SPEC,
  SPECS,
  texts,
  variableName,
} from './cel.js';
import { DEFAULT_INGRESS_ANNOTATIONS } from './ingress-annotations.js';
import { limitList, limitRule, type LimitRule, NO_RULES } from './limit-rule.js';
import { podSecurityRules } from './pod-security-rules.js';
import type { PolicyRules } from './policy.js';

/** Stands for `DEFAULT_INGRESS_ANNOTATIONS` in the list of annotations. */
const DEFAULT_LIST = 'default';

/**
 * What no author may set unless the administrator of the cluster allows it, in the ConfigMap with the limits:
 * images of any registry, service accounts, annotations of an Ingress, and more than Pod Security `restricted`.
 * Only what a change sets is checked.
 */
export function limitRules(fields: PodFields): PolicyRules {
  const parts = [
    imageRules(fields),
    serviceAccountRules(fields),
    annotationRules(fields),
    podSecurityRules(fields),
  ];
  return {
    variables: [...SPECS, ...parts.flatMap(({ variables }) => variables)],
    validations: parts.flatMap(({ validations }) => validations),
  };
}

/** Whether a text matches a pattern, in which `*` stands for any text. */
function matches(value: string, pattern: string): string {
  return `${value}.matches('^\\\\Q' + ${pattern}.replace('*', '\\\\E.*\\\\Q') + '\\\\E$')`;
}

function imageRules({ images, templateImages = [] }: PodFields): PolicyRules {
  if (!images) return NO_RULES;
  const rules = images.map((field) => imageRule(field));
  const templates = templateImages.map((path) => templateImageRule(path));
  const all = [...rules, ...templates];
  return {
    variables: [
      { name: 'imagePrefixes', expression: `${limitList('images')}.map(i, ${fullReference('i')})` },
      ...all.map(({ variable }) => variable),
    ],
    validations: all.map(({ validation }) => validation),
  };
}

const IMAGE = 'images must begin with what the key "images" lists';

function imageRule({ path, references }: ImageField): LimitRule {
  const before = `(oldObject == null ? [] : ${references(BEFORE)})`;
  return limitRule(
    variableName(path),
    `(${references(SPEC)}).filter(i, !(i in ${before}) && ${isDenied('i')})`,
    {
      path: `spec.${path}`,
      what: IMAGE,
    },
  );
}

/** Of a map of templates with lists of containers. */
function templateImageRule(path: string): LimitRule {
  const { head = '', tail = '' } = repetition(path) ?? {};
  const { head: list = '', tail: field = '' } = repetition(tail) ?? {};
  const containers = (root: string): string =>
    `${optional(`${optional(root, head)}[?k]`, list)}.orValue([])`;
  const image = optional('c', field);
  const had = `${containers(BEFORE)}.exists(o, ${optional('o', field)} == ${image})`;
  const denied = `${image}.hasValue() && !${had} && ${isDenied(`${image}.value()`)}`;
  return limitRule(variableName(path), keysWith(head, containers, 'c', denied), {
    path: `spec.${head}`,
    what: `${list.replace('spec.', '')}: ${IMAGE}`,
  });
}

/** A reference with its registry, as container runtimes complete it: `redis` is on Docker Hub. */
function fullReference(reference: string): string {
  const isPath = `${reference}.contains('/')`;
  const first = `(${isPath} ? ${reference}.split('/')[0] : ${reference}.split(':')[0])`;
  return `(${first}.matches('[.:]|^localhost$') ? ${reference} : (${isPath} ? 'docker.io/' : 'docker.io/library/') + ${reference})`;
}

/**
 * Whether an image begins with no prefix, at the border of a part of its name: `ghcr.io/acme` allows
 * `ghcr.io/acme/erp:1`, but not `ghcr.io/acme-copy/erp:1`. A registry allows no other port of its host.
 */
function isDenied(image: string): string {
  const full = fullReference(image);
  const borders = `p.contains('/') && (${full}.startsWith(p + ':') || ${full}.startsWith(p + '@'))`;
  const begins = `${full} == p || ${full}.startsWith(p.endsWith('/') || p.endsWith(':') || p.endsWith('@') ? p : p + '/')`;
  return `(variables.imagePrefixes.size() > 0 && !variables.imagePrefixes.exists(p, ${begins} || (${borders})))`;
}

function serviceAccountRules({ serviceAccounts }: PodFields): PolicyRules {
  if (!serviceAccounts) return NO_RULES;
  const pattern = `(p.contains('/') ? ${matches(`(request.namespace + '/' + a)`, 'p')} : ${matches('a', 'p')})`;
  const isAllowed = `a == 'default' || variables.accountPatterns.exists(p, ${pattern})`;
  const rules = serviceAccounts.map((path) =>
    limitRule(variableName(path), `${newValues(path)}.filter(a, !(${isAllowed}))`, {
      path: `spec.${path.replace('{}', '.*')}`,
      what: 'the key "serviceAccounts" does not list this service account',
    }),
  );
  return {
    variables: [
      { name: 'accountPatterns', expression: limitList('serviceAccounts') },
      ...rules.map(({ variable }) => variable),
    ],
    validations: rules.map(({ validation }) => validation),
  };
}

/** The new values of a path with one repetition of a map at most. */
function newValues(path: string): string {
  const found = repetition(path);
  if (!found) return `(${isNew(path)} ? [${optional(SPEC, path)}.value()] : [])`;
  const { head, tail } = found;
  const at = (root: string): string => optional(`${optional(root, head)}[?k]`, tail);
  return `${optional(SPEC, head)}.orValue({}).filter(k, ${at(SPEC)}.hasValue() && ${at(SPEC)} != ${at(BEFORE)}).map(k, ${at(SPEC)}.value())`;
}

/** Annotations without an Ingress have no effect: they are checked when it is enabled. */
function annotationRules({ ingressAnnotations }: PodFields): PolicyRules {
  if (!ingressAnnotations) return NO_RULES;
  const { path, enabled } = ingressAnnotations;
  const isEnabled = `${optional(SPEC, enabled)}.orValue(false)`;
  const at = (root: string): string => `${optional(root, path)}[?k]`;
  const checked = `(${isChanged(enabled)} || ${at(SPEC)} != ${at(BEFORE)})`;
  const isAllowed = `k in variables.annotations || variables.annotationPatterns.exists(p, ${matches('k', 'p')})`;
  const keys = `!${isEnabled} ? [] : ${optional(SPEC, path)}.orValue({}).filter(k, ${checked} && !(${isAllowed}))`;
  const rule = limitRule('deniedAnnotations', keys, {
    path: `spec.${path}`,
    what: 'the key "ingressAnnotations" does not list this annotation',
  });
  const words = limitList('ingressAnnotations', DEFAULT_LIST);
  return {
    variables: [
      { name: 'annotationWords', expression: words },
      {
        name: 'annotations',
        expression: `variables.annotationWords.filter(w, w != '${DEFAULT_LIST}') + ('${DEFAULT_LIST}' in variables.annotationWords ? ${texts(DEFAULT_INGRESS_ANNOTATIONS)} : [])`,
      },
      {
        name: 'annotationPatterns',
        expression: `variables.annotations.filter(p, p.contains('*'))`,
      },
      rule.variable,
    ],
    validations: [rule.validation],
  };
}
