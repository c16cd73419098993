import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { KubeObject } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { OPERATOR } from '../../constructs/kit/operator-identity.js';
import { type KeyPair, selfSigned } from '../http/certificate.js';

export const ValidatingWebhookConfiguration: ObjectKind = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
};

export const MutatingWebhookConfiguration: ObjectKind = {
  ...ValidatingWebhookConfiguration,
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
};

interface ClientConfig {
  readonly caBundle?: string;
}

/** A webhook configuration, as far as it is read here. */
export interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly { readonly clientConfig: ClientConfig }[];
}

export interface KeySecret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The server's certificate and key, and what the API servers trust. */
export interface WebhookKeys extends KeyPair {
  /** PEM: the certificate itself, or the authority that has signed it. */
  readonly bundle: string;
}

/** Keys of the Secret: those of a TLS Secret, and the bundle. */
const KEYS = {
  cert: 'tls.crt',
  key: 'tls.key',
  bundle: 'ca.crt',
} as const satisfies Record<keyof WebhookKeys, string>;

/** A new self-signed certificate for these hosts. */
export function newKeys(hosts: readonly string[], now: number): WebhookKeys {
  const pair = selfSigned({ commonName: 'app-operator-webhook', hosts, now });
  return { ...pair, bundle: pair.cert };
}

/** The keys in a Secret; undefined if they do not fit together or end soon. */
export function keysOf(
  secret: KeySecret | undefined,
  hosts: readonly string[],
  now: number,
): WebhookKeys | undefined {
  const text = (key: string): string =>
    Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
  const keys = { cert: text(KEYS.cert), key: text(KEYS.key), bundle: text(KEYS.bundle) };
  try {
    const cert = new X509Certificate(keys.cert);
    const [from, to] = [Date.parse(cert.validFrom), Date.parse(cert.validTo)];
    const isUsable =
      cert.checkPrivateKey(createPrivateKey(keys.key)) &&
      cert.verify(new X509Certificate(keys.bundle).publicKey) &&
      hosts.every((host) => (isIP(host) ? cert.checkIP(host) : cert.checkHost(host))) &&
      to - now >= (to - from) / 3;
    return isUsable ? keys : undefined;
  } catch {
    return undefined;
  }
}

/** The Secret with these keys: the earlier one updated, or a new one. */
export function secretOf(
  keys: WebhookKeys,
  namespace: string,
  before: KeySecret | undefined,
): KeySecret & { readonly type: string } {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    ...before,
    metadata: before?.metadata ?? { name: OPERATOR.webhookSecret, namespace },
    data: {
      [KEYS.cert]: base64(keys.cert),
      [KEYS.key]: base64(keys.key),
      [KEYS.bundle]: base64(keys.bundle),
    },
  };
}

/** The patch that sets the bundle of a configuration; undefined if it is set. */
export function bundlePatch(
  { metadata, webhooks = [] }: WebhookConfiguration,
  bundle: string,
): readonly object[] | undefined {
  const value = Buffer.from(bundle).toString('base64');
  const stale = [...webhooks.entries()].filter(
    ([, { clientConfig }]) => clientConfig.caBundle !== value,
  );
  if (stale.length === 0) return undefined;
  return [
    // If another client changes the list meanwhile, the patch fails and is computed again.
    { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
    ...stale.map(([i]) => ({ op: 'add', path: `/webhooks/${i}/clientConfig/caBundle`, value })),
  ];
}
