import type { Integration } from '../../kit/integration.js';
import type { Resource } from '../../kit/object.js';
import { addCertificate } from './certificate.js';
import { Certificate, ClusterIssuer, Issuer } from './kinds.js';

/** Issues the certificates of sites. */
export const certManager: Integration = {
  name: 'cert-manager',
  title: 'cert-manager',
  uses: { AppSite: { owns: [Certificate], reads: [Issuer, ClusterIssuer] } },
  isNamedBy: namesIssuer,
  access: { kind: Certificate, add: addCertificate },
};

/** A site names an issuer, or has that of its bench. */
function namesIssuer({ spec }: Resource): boolean {
  const { ingress, domainConfig } = spec as {
    readonly ingress?: { readonly tls?: { readonly certManagerIssuer?: string } };
    readonly domainConfig?: { readonly issuer?: string };
  };
  return (ingress?.tls?.certManagerIssuer ?? domainConfig?.issuer) !== undefined;
}
