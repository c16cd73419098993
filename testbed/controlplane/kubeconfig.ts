import { stringify } from 'yaml';

import type { Credential } from './certificate.js';

/** A kubeconfig for one user, with the certificates inside it, so that it can be copied alone. */
export function kubeconfigFor(
  server: string,
  authorityPem: string,
  user: string,
  credential: Credential,
): string {
  const cluster = 'app-operator';
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: cluster, cluster: { server, 'certificate-authority-data': base64(authorityPem) } },
    ],
    users: [
      {
        name: user,
        user: {
          'client-certificate-data': base64(credential.certificatePem),
          'client-key-data': base64(credential.keyPem),
        },
      },
    ],
    contexts: [{ name: cluster, context: { cluster, user } }],
    'current-context': cluster,
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
