import { createHash, createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { distinguishedName, extensions, signedCertificate } from '../http/x509.js';

/** The keys and certificates of the webhooks' server, all PEM. */
export interface WebhookKeys {
  /** The authorities that the API servers trust, the newest first. */
  readonly bundle: string;
  /** Private key of the newest authority. */
  readonly authorityKey: string;
  /** The server's certificate, signed by one of the authorities. */
  readonly cert: string;
  readonly key: string;
}

export interface KeysProps {
  /** DNS names and IPv4 addresses of the server. */
  readonly hosts: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether the API servers have had time to load the present bundle. */
  readonly settled: boolean;
}

const DAY_MS = 24 * 3_600_000;
const AUTHORITY_VALID_MS = 365 * DAY_MS;
const SERVER_VALID_MS = 90 * DAY_MS;
/** Other clocks may be behind. */
const SKEW_MS = 3_600_000;
/** A certificate that expires within this is replaced, settled or not. */
const LAST_MS = DAY_MS;
/** Replaced authorities are trusted until they expire, but at most this many. */
const MOST_AUTHORITIES = 4;

const NAME = 'app-operator-webhook';

/**
 * The keys as they should be now: the same object if nothing must change. An authority is replaced
 * with a third of its life left, in two steps: first the new one is added to the bundle, then it signs
 * the server's certificate. The old one stays trusted, for replicas and API servers that lag.
 */
export function keysFor(keys: WebhookKeys | undefined, props: KeysProps): WebhookKeys {
  if (!keys) return withServer(authority(props.now), props);
  const { now, settled, hosts } = props;
  const [newest] = certificatesOf(keys.bundle);
  const server = new X509Certificate(keys.cert);
  if (!newest || isDue(newest, AUTHORITY_VALID_MS, now)) return rotated(keys, props);
  const isOfNewest = server.checkIssued(newest);
  const serves = hosts.every((host) => names(server, host));
  const expires = endOf(server) - now < LAST_MS;
  if (!serves || expires || (settled && (!isOfNewest || isDue(server, SERVER_VALID_MS, now)))) {
    return withServer(keys, props);
  }
  return keys;
}

/** The keys with a new authority, which does not sign the server's certificate yet. */
export function rotated(keys: WebhookKeys, { now }: Pick<KeysProps, 'now'>): WebhookKeys {
  const { bundle, authorityKey } = authority(now);
  const server = new X509Certificate(keys.cert);
  const old = certificatesOf(keys.bundle).filter(
    (each, i) => (i < MOST_AUTHORITIES - 1 || server.checkIssued(each)) && endOf(each) > now,
  );
  return { ...keys, bundle: [bundle, ...old.map(String)].join(''), authorityKey };
}

/** Whether stored keys fit together and are valid. */
export function areUsable(keys: WebhookKeys, now: number): boolean {
  try {
    const authorities = certificatesOf(keys.bundle);
    const server = new X509Certificate(keys.cert);
    return (
      (authorities[0]?.checkPrivateKey(createPrivateKey(keys.authorityKey)) ?? false) &&
      server.checkPrivateKey(createPrivateKey(keys.key)) &&
      authorities.some((each) => server.checkIssued(each) && server.verify(each.publicKey)) &&
      endOf(server) > now
    );
  } catch {
    return false;
  }
}

/** The certificates of a bundle, in its order. */
function certificatesOf(bundle: string): readonly X509Certificate[] {
  const pem = bundle.match(/-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----\n?/g) ?? [];
  return pem.map((each) => new X509Certificate(each));
}

function names(server: X509Certificate, host: string): boolean {
  return (isIP(host) ? server.checkIP(host) : server.checkHost(host)) !== undefined;
}

/** Whether less than a third of the validity is left. */
function isDue(certificate: X509Certificate, life: number, now: number): boolean {
  return endOf(certificate) - now < life / 3;
}

function endOf(certificate: X509Certificate): number {
  return Date.parse(certificate.validTo);
}

/** A new authority. Its name contains the time, so that people can distinguish two of them. */
function authority(now: number): Pick<WebhookKeys, 'bundle' | 'authorityKey'> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const stamp = new Date(now).toISOString().replace(/[-:]|[.][0-9]+/g, '');
  const subject = distinguishedName(`${NAME}-ca-${stamp}`);
  const { authority: isAuthority, signsCertificates, subjectKey } = extensions;
  const bundle = signedCertificate(
    {
      issuer: subject,
      subject,
      publicKey,
      notBefore: new Date(now - SKEW_MS),
      notAfter: new Date(now + AUTHORITY_VALID_MS),
      extensions: [isAuthority, signsCertificates, subjectKey(keyIdOf(publicKey))],
    },
    privateKey,
  );
  return { bundle, authorityKey: pemOf(privateKey) };
}

/** The keys with a new server certificate, signed by the newest authority. */
function withServer(
  { bundle, authorityKey }: Pick<WebhookKeys, 'bundle' | 'authorityKey'>,
  { hosts, now }: KeysProps,
): WebhookKeys {
  const [newest] = certificatesOf(bundle);
  if (!newest) throw new Error('bundle: no authority');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { notAnAuthority, digitalSignature, server, subjectKey, authorityKey: of } = extensions;
  const cert = signedCertificate(
    {
      issuer: distinguishedName(newest.subject.replace(/^CN=/, '')),
      subject: distinguishedName(NAME),
      publicKey,
      notBefore: new Date(now - SKEW_MS),
      notAfter: new Date(Math.min(now + SERVER_VALID_MS, endOf(newest))),
      extensions: [
        notAnAuthority,
        digitalSignature,
        server,
        subjectKey(keyIdOf(publicKey)),
        of(keyIdOf(newest.publicKey)),
        extensions.hosts(hosts),
      ],
    },
    authorityKey,
  );
  return { bundle, authorityKey, cert, key: pemOf(privateKey) };
}

/** The identifier by which a certificate names its key and its issuer's. */
function keyIdOf(publicKey: KeyObject): Buffer {
  return createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
