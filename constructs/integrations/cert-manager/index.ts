import type { Integration } from '../../kit/integration.js';
import { addCertificate } from './certificate.js';
import { Certificate, ClusterIssuer, Issuer } from './kinds.js';

/** Issues the certificates of sites. */
export const certManager: Integration = {
  name: 'cert-manager',
  title: 'cert-manager',
  uses: { AppSite: { owns: [Certificate], reads: [Issuer, ClusterIssuer] } },
  ingress: { kind: Certificate, after: addCertificate },
};
