import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { distinguishedName, extensions, signedCertificate } from './x509.js';

/** A certificate with its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const DAY_MS = 24 * 3_600_000;
const VALID_MS = 365 * DAY_MS;
/** Replaced with a third of its life left, so that it does not expire during an outage. */
const ROTATE_MS = (VALID_MS * 2) / 3;
/** Other clocks may be behind. */
const SKEW_MS = DAY_MS;

export interface CertificateProps {
  readonly commonName: string;
  /** DNS names and IPv4 addresses of the server. */
  readonly hosts: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A new self-signed server certificate, which is valid for a year. */
export function selfSigned({ commonName, hosts, now }: CertificateProps): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = distinguishedName(commonName);
  const { notAnAuthority, digitalSignature, server } = extensions;
  return {
    cert: signedCertificate(
      {
        issuer: name,
        subject: name,
        publicKey,
        notBefore: new Date(now - SKEW_MS),
        notAfter: new Date(now + VALID_MS),
        extensions: [notAnAuthority, digitalSignature, server, extensions.hosts(hosts)],
      },
      privateKey,
    ),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/**
 * The source of a self-signed certificate, replaced in time.
 * @param now milliseconds since the epoch
 */
export function selfSignedSource(
  commonName: string,
  hosts: readonly string[],
  now: () => number = Date.now,
): () => Promise<KeyPair> {
  let pair: KeyPair | undefined;
  let madeAt = 0;
  return () => {
    if (!pair || now() - madeAt >= ROTATE_MS) {
      madeAt = now();
      pair = selfSigned({ commonName, hosts, now: madeAt });
    }
    return Promise.resolve(pair);
  };
}

/** The source of the certificate in `tls.crt` and `tls.key` of a folder. */
export function mountedSource(folder: string): () => Promise<KeyPair> {
  return async () => {
    const [cert, key] = await Promise.all([
      readFile(`${folder}/tls.crt`, 'utf8'),
      readFile(`${folder}/tls.key`, 'utf8'),
    ]);
    return { cert, key };
  };
}
