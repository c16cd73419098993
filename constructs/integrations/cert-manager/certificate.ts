import type { Construct } from 'constructs';
import { Certificate } from '../../../imports/cert-manager.io.js';
import type { AccessProps } from '../../kit/integration.js';

/** Adds the Certificate of an Ingress whose site names an issuer. */
export function addCertificate(
  scope: Construct,
  { tls, namespace, labels, hosts }: AccessProps,
): Readonly<Record<string, string>> {
  if (!tls?.issuer) return {};
  const { kind, name } = tls.issuer;
  new Certificate(scope, 'certificate', {
    metadata: { name: tls.certificate, namespace, labels: { ...labels } },
    spec: {
      secretName: tls.secretName,
      dnsNames: [...hosts],
      issuerRef: { group: 'cert-manager.io', kind, name },
    },
  });
  return {};
}
