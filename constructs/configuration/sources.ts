import type { SiteConfig } from '../kit/api.js';
import type { ClusterReader } from '../kit/kind.js';
import type { ObjectReference } from '../kit/reference.js';
import { loginReferences, type FirstLogin } from './first-login.js';
import { uidOf, versionOf, type KubeObject } from '../kit/object.js';

type SourceReference = ObjectReference & {
  readonly kind: 'Secret' | 'ConfigMap';
  /** The value that is read from it: the key of an entry, or `loginValue`. */
  readonly value: string;
};

/** A Secret or a ConfigMap that an entry or an identity provider names. */
export interface ConfigurationSource {
  /** The field that names it. */
  readonly path: string;
  readonly kind: SourceReference['kind'];
  readonly value: string;
  /** Changes with each write; undefined where it does not exist. */
  readonly version: string | undefined;
  /** Why it cannot be read. */
  readonly problem: string | undefined;
}

/**
 * The Secrets and ConfigMaps that the entries name.
 * @param all the entries of the spec, where some of them are left out
 */
export function configurationReferences(
  entries: SiteConfig = [],
  all: SiteConfig = entries,
): readonly SourceReference[] {
  return entries.flatMap(({ key, valueFrom }) => {
    const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
    const name = (secretKeyRef ?? configMapKeyRef)?.name;
    if (name === undefined) return [];
    const path = `${pathOfEntry(key, all)}.valueFrom.${secretKeyRef ? 'secretKeyRef' : 'configMapKeyRef'}.name`;
    return [{ kind: secretKeyRef ? 'Secret' : 'ConfigMap', name, path, value: key }];
  });
}

/** Where an entry stands in the spec. */
export function pathOfEntry(key: string, all: SiteConfig): string {
  return `spec.siteConfig[${all.findIndex((entry) => entry.key === key)}]`;
}

interface Declared {
  readonly siteConfig?: SiteConfig | undefined;
  readonly sso?: FirstLogin['sso'] | undefined;
}

/**
 * The Secrets and ConfigMaps that a site or a bench declares, with what the cluster has.
 * @param spec where some of what is declared is left out
 */
export function sourcesOf(
  declared: Declared,
  namespace: string,
  reader: ClusterReader,
  spec: Declared = declared,
): readonly ConfigurationSource[] {
  const references = [
    ...configurationReferences(declared.siteConfig, spec.siteConfig),
    ...loginReferences(declared.sso, spec.sso),
  ];
  return references.map(({ kind, name, path, value }) => {
    const version = reader.get(kind, namespace, name, identityOf);
    const problem =
      version === undefined ? `there is no ${kind} "${name}" in namespace ${namespace}` : undefined;
    return { path, kind, value, version, problem };
  });
}

/** Why a value cannot be read, and what helps. */
export function missingText({ path, problem = '' }: ConfigurationSource): string {
  return `${path}: ${problem}; create it`;
}

function identityOf(object: KubeObject): string {
  return `${uidOf(object)}/${versionOf(object)}`;
}
