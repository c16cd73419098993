import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
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

/** A certificate with its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateProps {
  readonly commonName: string;
  /** DNS names and IPv4 addresses that the server is called by. */
  readonly hosts: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const ECDSA_WITH_SHA256 = sequence(identifier('1.2.840.10045.4.3.2'));

/**
 * A new self-signed server certificate, ECDSA on P-256. Node reads certificates but makes none; the
 * libraries that do cost 21 MiB of memory, for the hundred bytes of framing around Node's signature.
 */
export function selfSigned(props: CertificateProps): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(identifier('2.5.4.3'), utf8(props.commonName))));
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))), // X.509 version 3
    integer(serialNumber()),
    ECDSA_WITH_SHA256,
    name, // issuer
    sequence(time(props.notBefore), time(props.notAfter)),
    name, // subject
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions(props.hosts))),
  );
  const signature = bits(sign('sha256', body, privateKey));
  return {
    cert: pem(sequence(body, ECDSA_WITH_SHA256, signature)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function extensions(hosts: readonly string[]): Buffer[] {
  return [
    extension('2.5.29.19', sequence(), 'critical'), // basic constraints: not an authority
    extension('2.5.29.15', bits(Buffer.from([0x80]), 7), 'critical'), // key usage: digital signature
    extension('2.5.29.37', sequence(identifier('1.3.6.1.5.5.7.3.1'))), // extended: server
    extension('2.5.29.17', sequence(...hosts.map(alternativeName))),
  ];
}

function extension(id: string, value: Buffer, critical?: 'critical'): Buffer {
  return sequence(identifier(id), ...(critical ? [yes()] : []), octets(value));
}

function alternativeName(host: string): Buffer {
  return isIPv4(host)
    ? tagged(0x87, Buffer.from(host.split('.').map(Number)))
    : tagged(0x82, Buffer.from(host));
}

/** 127 random bits with the first one set, so that there is no leading zero to leave out. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
