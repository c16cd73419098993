import type { SiteConfig } from '../kit/api.js';
import type { ClusterReader } from '../kit/kind.js';
import type { ObjectReference } from '../kit/reference.js';
import { loginReferences, type FirstLogin } from './first-login.js';
import { uidOf, versionOf, type KubeObject } from '../kit/object.js';

type SourceReference = ObjectReference & { readonly kind: 'Secret' | 'ConfigMap' };

/** A Secret or a ConfigMap that an entry or an identity provider names. */
export interface ConfigurationSource {
  /** The field that names it. */
  readonly path: string;
  readonly kind: SourceReference['kind'];
  /** Changes with each write; undefined where it does not exist. */
  readonly version: string | undefined;
  /** Why it cannot be read. */
  readonly problem: string | undefined;
}

/** The Secrets and ConfigMaps that the entries name. */
export function configurationReferences(entries: SiteConfig = []): readonly SourceReference[] {
  return entries.flatMap(({ valueFrom }, index) => {
    const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
    const name = (secretKeyRef ?? configMapKeyRef)?.name;
    if (name === undefined) return [];
    const path = `spec.siteConfig[${index}].valueFrom.${secretKeyRef ? 'secretKeyRef' : 'configMapKeyRef'}.name`;
    return [{ kind: secretKeyRef ? 'Secret' : 'ConfigMap', name, path }];
  });
}

/** The Secrets and ConfigMaps that a site or a bench declares, with what the cluster has. */
export function sourcesOf(
  { siteConfig, sso }: { readonly siteConfig: SiteConfig; readonly sso?: FirstLogin['sso'] },
  namespace: string,
  reader: ClusterReader,
): readonly ConfigurationSource[] {
  const references = [...configurationReferences(siteConfig), ...loginReferences(sso)];
  return references.map(({ kind, name, path }) => {
    const version = reader.get(kind, namespace, name, identityOf);
    const problem =
      version === undefined ? `there is no ${kind} "${name}" in namespace ${namespace}` : undefined;
    return { path, kind, version, problem };
  });
}

function identityOf(object: KubeObject): string {
  return `${uidOf(object)}/${versionOf(object)}`;
}
