/** What the rules of pod templates share. */

import type { Problem } from '../kit/errors.js';
import type { TemplatePod } from './pod-template-types.js';
import { OWN_SECRET_SUFFIXES, type OwnPod, type PodComponent } from './pod-components.js';
import type { ComponentPodTemplates } from './pod-template.js';

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

export interface Place {
  readonly component: PodComponent;
  readonly own: OwnPod;
  readonly path: string;
  readonly rules: TemplateRules;
  /** The template together with those below it; undefined where these are not known. */
  readonly all: TemplatePod | undefined;
}

export function problemIf(isWrong: boolean, path: string, message: string): readonly Problem[] {
  return isWrong ? [{ path, message }] : [];
}

/** The one alternative of an object, or what is wrong. */
export function onlyOne(
  path: string,
  value: object,
  alternatives: readonly string[],
): readonly Problem[] {
  const given = alternatives.filter((name) => Object.hasOwn(value, name));
  const message =
    given.length === 0
      ? `Required value: give one of ${alternatives.join(', ')}`
      : `Invalid value: ${given.join(', ')}: give one of ${alternatives.join(', ')}`;
  return problemIf(given.length !== 1, path, message);
}

export function ownName(
  own: readonly string[],
  name: string,
  path: string,
  what: string,
): readonly Problem[] {
  const message = `Invalid value: "${name}": a ${what} of the operator has this name; use another name`;
  return problemIf(own.includes(name), path, message);
}

export function upwards(text: string | undefined, path: string): readonly Problem[] {
  const isUpwards = text?.split('/').includes('..') === true;
  return problemIf(isUpwards, path, `Invalid value: "${text}": must not contain ".."`);
}

export function secretProblems(
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

export function generatedName(
  name: string,
  path: string,
  { suffixes, what }: { readonly suffixes: readonly string[]; readonly what: string },
): readonly Problem[] {
  const suffix = suffixes.find((end) => name.endsWith(end));
  const message = `Invalid value: "${name}": names that end with ${suffix} are of ${what} of the operator, for its own containers; use another name`;
  return problemIf(suffix !== undefined, path, message);
}
