import { generateKeyPairSync } from 'node:crypto';
import { distinguishedName, extensions, signedCertificate } from './x509.js';

/** A certificate with its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateProps {
  readonly commonName: string;
  /** DNS names and IPv4 addresses of the server. */
  readonly hosts: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** A new self-signed server certificate. */
export function selfSigned(props: CertificateProps): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = distinguishedName(props.commonName);
  const { notAnAuthority, digitalSignature, server, hosts } = extensions;
  return {
    cert: signedCertificate(
      {
        issuer: name,
        subject: name,
        publicKey,
        notBefore: props.notBefore,
        notAfter: props.notAfter,
        extensions: [notAnAuthority, digitalSignature, server, hosts(props.hosts)],
      },
      privateKey,
    ),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
