import type { ClusterReader } from '../../kit/kind.js';
import { uidOf } from '../../kit/object.js';
import { Certificate, ClusterIssuer, Issuer } from './kinds.js';

/** A cert-manager issuer. */
export interface CertificateIssuer {
  readonly kind: 'Issuer' | 'ClusterIssuer';
  readonly name: string;
  /** Which issuer does not exist; undefined where it does, or cannot be read. */
  readonly missing: string | undefined;
}

/** Whether the cluster serves Certificates. */
export function servesCertManager(reader: Pick<ClusterReader, 'serves'>): boolean {
  return reader.serves(Certificate);
}

/**
 * An issuer by its name. One of the namespace comes before one of the cluster. Both are watched:
 * one may be created later.
 * @param kind the kind that the spec names
 */
export function resolveIssuer(
  name: string,
  kind: CertificateIssuer['kind'] | undefined,
  namespace: string,
  reader: ClusterReader,
): CertificateIssuer {
  const inNamespace = reader.serves(Issuer) && reader.get('Issuer', namespace, name, uidOf);
  // Without the right to list cluster-scoped objects, ClusterIssuers are unknown.
  const known = reader.serves(ClusterIssuer);
  const inCluster = known && reader.get('ClusterIssuer', '', name, uidOf);
  const chosen = kind ?? (inNamespace ? 'Issuer' : 'ClusterIssuer');
  const found = chosen === 'Issuer' ? inNamespace : inCluster || !known;
  if (found || !reader.serves(Issuer)) return { kind: chosen, name, missing: undefined };
  const local = `Issuer "${name}" in namespace ${namespace}`;
  const missing = {
    Issuer: `there is no ${local}`,
    ClusterIssuer: kind
      ? `there is no ClusterIssuer "${name}"`
      : `there is neither an ${local} nor a ClusterIssuer of this name`,
  };
  return { kind: chosen, name, missing: missing[chosen] };
}
