import type { SiteConfig } from '../kit/api.js';
import type { ClusterReader } from '../kit/kind.js';
import { uidOf, versionOf, type KubeObject } from '../kit/object.js';

/** A Secret or a ConfigMap that an entry names. */
export interface ConfigurationSource {
  /** The field that names it. */
  readonly path: string;
  readonly kind: 'Secret' | 'ConfigMap';
  /** Changes with each write; undefined where it does not exist. */
  readonly version: string | undefined;
  /** Why it cannot be read. */
  readonly problem: string | undefined;
}

/** The Secrets and ConfigMaps of the entries, one for each entry that names one. */
export function sourcesOf(
  entries: SiteConfig,
  namespace: string,
  reader: ClusterReader,
): readonly ConfigurationSource[] {
  return entries.flatMap(({ valueFrom }, index) => {
    const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
    const kind = secretKeyRef ? 'Secret' : 'ConfigMap';
    const name = (secretKeyRef ?? configMapKeyRef)?.name;
    if (name === undefined) return [];
    const field = secretKeyRef ? 'secretKeyRef' : 'configMapKeyRef';
    const version = reader.get(kind, namespace, name, identityOf);
    return [
      {
        path: `spec.siteConfig[${index}].valueFrom.${field}.name`,
        kind,
        version,
        problem:
          version === undefined
            ? `there is no ${kind} "${name}" in namespace ${namespace}`
            : undefined,
      } as const,
    ];
  });
}

function identityOf(object: KubeObject): string {
  return `${uidOf(object)}/${versionOf(object)}`;
}
