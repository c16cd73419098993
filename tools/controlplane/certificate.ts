import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

import {
  bits,
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
}

const ECDSA_SHA256 = sequence(identifier('1.2.840.10045.4.3.2'));
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
  const keyId = keyIdOf(publicKey);
  const certificatePem = certificate(
    name({ commonName }),
    name({ commonName }),
    publicKey,
    [
      extension('2.5.29.19', sequence(yes()), true),
      // keyCertSign and cRLSign
      extension('2.5.29.15', bits(Buffer.from([0x06]), 1), true),
      extension('2.5.29.14', octets(keyId)),
    ],
    privatePem(privateKey),
  );
  return { commonName, certificatePem, keyPem: privatePem(privateKey) };
}

/** A credential signed by `authority`, for a server when it has hosts, and for a client. */
export function issue(authority: Authority, authorityKeyId: Buffer, subject: Subject): Credential {
  const { privateKey, publicKey } = newKey();
  const hosts = subject.hosts ?? [];
  const certificatePem = certificate(
    name({ commonName: authority.commonName }),
    name(subject),
    publicKey,
    [
      // digitalSignature
      extension('2.5.29.15', bits(Buffer.from([0x80]), 7), true),
      extension(
        '2.5.29.37',
        sequence(identifier('1.3.6.1.5.5.7.3.1'), identifier('1.3.6.1.5.5.7.3.2')),
      ),
      extension('2.5.29.14', octets(keyIdOf(publicKey))),
      extension('2.5.29.35', sequence(tagged(0x80, authorityKeyId))),
      ...(hosts.length > 0 ? [extension('2.5.29.17', sequence(...hosts.map(hostName)))] : []),
    ],
    authority.keyPem,
  );
  return { certificatePem, keyPem: privatePem(privateKey) };
}

/** The identifier by which a certificate names its key and its issuer's. */
export function keyIdOf(publicKey: KeyObject): Buffer {
  return createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();
}

function certificate(
  issuer: Buffer,
  subject: Buffer,
  publicKey: KeyObject,
  extensions: readonly Buffer[],
  signerPem: string,
): string {
  const now = Date.now();
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    ECDSA_SHA256,
    issuer,
    // An hour back, for clocks that differ a little.
    sequence(time(new Date(now - 3_600_000)), time(new Date(now + TEN_YEARS_MS))),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signed = sequence(body, ECDSA_SHA256, bits(sign('sha256', body, signerPem)));
  const lines = signed.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function name({ organizations = [], commonName }: Subject): Buffer {
  const attribute = (id: string, value: string): Buffer =>
    set(sequence(identifier(id), utf8(value)));
  return sequence(
    ...organizations.map((organization) => attribute('2.5.4.10', organization)),
    attribute('2.5.4.3', commonName),
  );
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return sequence(identifier(id), ...(critical ? [yes()] : []), octets(value));
}

function hostName(host: string): Buffer {
  if (isIP(host) === 4) return tagged(0x87, Buffer.from(host.split('.').map(Number)));
  return tagged(0x82, Buffer.from(host));
}
