import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { bits, identifier, octets, sequence, tagged, yes } from '../../runner/http/der.js';
import {
  distinguishedName,
  extension,
  extensions,
  signedCertificate,
} from '../../runner/http/x509.js';

/** A key with its certificate; keys are ECDSA on P-256, certificates live for ten years. */
export interface Credential {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** What signs certificates: a credential that can be used again, also from its files. */
export interface Authority extends Credential {
  readonly commonName: string;
}

export interface Subject {
  readonly commonName: string;
  /** Kubernetes reads groups from these. Default: none. */
  readonly organizations?: readonly string[];
  /** DNS names and IPv4 addresses of a server; a client has none. Default: none. */
  readonly hosts?: readonly string[];
  /** Default: ten years, from an hour ago. */
  readonly validity?: Validity;
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Extensions of an authority, and of what it signs. */
const authority = extension('2.5.29.19', sequence(yes()), 'critical');
const signsCertificates = extension('2.5.29.15', bits(Buffer.from([0x06]), 1), 'critical');
const serverAndClient = extension(
  '2.5.29.37',
  sequence(identifier('1.3.6.1.5.5.7.3.1'), identifier('1.3.6.1.5.5.7.3.2')),
);
const subjectKey = (keyId: Buffer): Buffer => extension('2.5.29.14', octets(keyId));
const authorityKey = (keyId: Buffer): Buffer =>
  extension('2.5.29.35', sequence(tagged(0x80, keyId)));

const TEN_YEARS_MS = 10 * 365 * 24 * 3_600_000;

/** A new key pair on P-256. */
export function newKey(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

export function privatePem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

export function publicPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

/** A new self-signed authority. */
export function newAuthority(commonName: string): Authority {
  const { privateKey, publicKey } = newKey();
  const subject = distinguishedName(commonName);
  const certificatePem = signedCertificate(
    {
      issuer: subject,
      subject,
      publicKey,
      ...tenYears(),
      extensions: [authority, signsCertificates, subjectKey(keyIdOf(publicKey))],
    },
    privateKey,
  );
  return { commonName, certificatePem, keyPem: privatePem(privateKey) };
}

/** A credential signed by `issuer`, for a server when it has hosts, and for a client. */
export function issue(issuer: Authority, subject: Subject): Credential {
  const { privateKey, publicKey } = newKey();
  const { digitalSignature, hosts } = extensions;
  const names = subject.hosts ?? [];
  const certificatePem = signedCertificate(
    {
      issuer: distinguishedName(issuer.commonName),
      subject: distinguishedName(subject.commonName, subject.organizations),
      publicKey,
      ...(subject.validity ?? tenYears()),
      extensions: [
        digitalSignature,
        serverAndClient,
        subjectKey(keyIdOf(publicKey)),
        authorityKey(keyIdOf(createPublicKey(issuer.keyPem))),
        ...(names.length > 0 ? [hosts(names)] : []),
      ],
    },
    issuer.keyPem,
  );
  return { certificatePem, keyPem: privatePem(privateKey) };
}

/** The identifier by which a certificate names its key and its issuer's. */
function keyIdOf(publicKey: KeyObject): Buffer {
  return createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();
}

/** Ten years, from an hour ago, for clocks that differ a little. */
function tenYears(): Validity {
  const now = Date.now();
  return { notBefore: new Date(now - 3_600_000), notAfter: new Date(now + TEN_YEARS_MS) };
}
