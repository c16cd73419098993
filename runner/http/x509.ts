import { randomBytes, sign, type KeyObject } from 'node:crypto';
import { isIPv4 } from 'node:net';
import {
  bits,
  explicit,
  identifier,
  integer,
  octets,
  sequence,
  set,
  tagged,
  time,
  utf8,
  yes,
} from './der.js';

/**
 * X.509 certificates, ECDSA on P-256. Node reads certificates but cannot create them; libraries that
 * can cost 21 MiB of memory, for the hundred bytes of framing around Node's signature.
 */
export interface CertificateContent {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly extensions: readonly Buffer[];
}

const ECDSA_WITH_SHA256 = sequence(identifier('1.2.840.10045.4.3.2'));

/**
 * A signed certificate as PEM.
 * @param signer the issuer's private key, as an object or PEM
 */
export function signedCertificate(content: CertificateContent, signer: KeyObject | string): string {
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))), // X.509 version 3
    integer(serialNumber()),
    ECDSA_WITH_SHA256,
    content.issuer,
    sequence(time(content.notBefore), time(content.notAfter)),
    content.subject,
    content.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...content.extensions)),
  );
  const signature = bits(sign('sha256', body, signer));
  return pem(sequence(body, ECDSA_WITH_SHA256, signature));
}

/** A distinguished name of organizations, which Kubernetes reads groups from, and a common name. */
export function distinguishedName(
  commonName: string,
  organizations: readonly string[] = [],
): Buffer {
  const attribute = (id: string, value: string): Buffer =>
    set(sequence(identifier(id), utf8(value)));
  return sequence(
    ...organizations.map((organization) => attribute('2.5.4.10', organization)),
    attribute('2.5.4.3', commonName),
  );
}

export function extension(id: string, value: Buffer, critical?: 'critical'): Buffer {
  return sequence(identifier(id), ...(critical ? [yes()] : []), octets(value));
}

/** The extensions of the operator's own certificates. */
export const extensions = {
  notAnAuthority: extension('2.5.29.19', sequence(), 'critical'),
  digitalSignature: extension('2.5.29.15', bits(Buffer.from([0x80]), 7), 'critical'),
  /** Extended key usage. */
  server: extension('2.5.29.37', sequence(identifier('1.3.6.1.5.5.7.3.1'))),
  /** @param hosts DNS names and IPv4 addresses */
  hosts: (hosts: readonly string[]): Buffer =>
    extension('2.5.29.17', sequence(...hosts.map(alternativeName))),
} as const;

function alternativeName(host: string): Buffer {
  return isIPv4(host)
    ? tagged(0x87, Buffer.from(host.split('.').map(Number)))
    : tagged(0x82, Buffer.from(host));
}

/** 127 random bits with the first one set, since DER forbids leading zeros. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
