import type { KubeObject } from '../../constructs/kit/object.js';
import type { ObjectKind } from '../../constructs/kit/object-kind.js';
import { OPERATOR } from '../../constructs/index.js';
import { areUsable, type WebhookKeys } from './certificate-rotation.js';

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

/** Keys of the Secret: those of a TLS Secret, the bundle and the authority's key. */
const KEYS = {
  cert: 'tls.crt',
  key: 'tls.key',
  bundle: 'ca.crt',
  authorityKey: 'ca.key',
} as const satisfies Record<keyof WebhookKeys, string>;

/** The keys in a Secret; undefined if they cannot be used. */
export function keysOf(secret: KeySecret | undefined, now: number): WebhookKeys | undefined {
  const text = (key: string): string =>
    Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
  const keys: WebhookKeys = {
    cert: text(KEYS.cert),
    key: text(KEYS.key),
    bundle: text(KEYS.bundle),
    authorityKey: text(KEYS.authorityKey),
  };
  return secret && areUsable(keys, now) ? keys : undefined;
}

/** The Secret with these keys: the earlier one updated, or a new one. */
export function secretOf(
  keys: WebhookKeys,
  namespace: string,
  before: KeySecret | undefined,
): KeySecret & { readonly type: string } {
  const data = Object.fromEntries(
    Object.entries(KEYS).map(([field, key]) => [
      key,
      Buffer.from(keys[field as keyof WebhookKeys]).toString('base64'),
    ]),
  );
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    ...before,
    metadata: before?.metadata ?? { name: OPERATOR.webhookSecret, namespace },
    data: { ...before?.data, ...data },
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
