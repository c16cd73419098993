import type * as k8s from '../kit/k8s.js';
import type { DatabaseTls } from '../kit/api.js';
import type { ClusterReader } from '../kit/kind.js';
import type { DatabaseServer, DatabaseTlsPlan, SecretKey } from './database.js';
import { requireSecret } from './secret.js';

/** Names of the files in a pod, and of the keys of a Secret of type `kubernetes.io/tls`. */
const [CA, CERTIFICATE, KEY] = ['ca.crt', 'tls.crt', 'tls.key'] as const;
const DIR = '/app-operator/database';

/** @param defaultCa where the spec names no CA */
export function tlsPlan(
  tls: DatabaseTls | undefined,
  defaultCa?: SecretKey,
): DatabaseTlsPlan | undefined {
  if (!tls) return undefined;
  const { mode, caSecretRef, clientCertificateSecretRef } = tls;
  const ca = caSecretRef ? { secret: caSecretRef.name, key: CA } : defaultCa;
  return {
    mode,
    ...(ca && mode !== 'Require' ? { ca } : {}),
    ...(clientCertificateSecretRef ? { client: clientCertificateSecretRef.name } : {}),
  };
}

/** A key of a Secret that holds a CA. */
export function caOf(secret: string): SecretKey {
  return { secret, key: CA };
}

/** The Secrets that a spec's `tls` names, with the fields. */
export function tlsSecrets(
  tls: DatabaseTls | undefined,
): readonly { readonly path: string; readonly name: string }[] {
  const fields = [
    'caSecretRef',
    'clientCertificateSecretRef',
    'serverCertificateSecretRef',
  ] as const;
  return fields.flatMap((field) => {
    const name = tls?.[field]?.name;
    return name === undefined ? [] : [{ path: `spec.dbConfig.tls.${field}.name`, name }];
  });
}

/**
 * What changes with the files of an encrypted connection.
 * @throws Waiting with the reason SecretMissing
 */
export function tlsVersions(
  { tls }: DatabaseServer,
  { namespace, owner }: { readonly namespace: string; readonly owner: string },
  reader: ClusterReader,
): readonly string[] {
  const version = (name: string, what: string): string =>
    requireSecret({ namespace, name, path: `${what} of ${owner}` }, reader);
  return [
    ...(tls?.ca ? [version(tls.ca.secret, 'spec.dbConfig.tls.caSecretRef.name')] : []),
    ...(tls?.client === undefined
      ? []
      : [version(tls.client, 'spec.dbConfig.tls.clientCertificateSecretRef.name')]),
  ];
}

/** The certificate of a server that the operator runs. */
export interface ServerCertificate {
  readonly secret: string;
  /** The server is restarted when it changes. */
  readonly version: string;
}

/**
 * What changes with the certificate of a server that the operator runs.
 * @throws Waiting with the reason SecretMissing
 */
export function certificateVersion(
  tls: DatabaseTls | undefined,
  namespace: string,
  reader: ClusterReader,
): string | undefined {
  const name = tls?.serverCertificateSecretRef?.name;
  if (name === undefined) return undefined;
  const path = 'spec.dbConfig.tls.serverCertificateSecretRef.name';
  return requireSecret({ namespace, name, path }, reader);
}

export function serverCertificate(
  tls: DatabaseTls | undefined,
  version: string | undefined,
): ServerCertificate | undefined {
  const secret = tls?.serverCertificateSecretRef?.name;
  return secret === undefined || version === undefined ? undefined : { secret, version };
}

/** What a Job's pod has to connect to a server. */
export interface TlsPod {
  readonly env: readonly k8s.EnvVar[];
  readonly volumes: readonly k8s.Volume[];
  readonly mounts: readonly k8s.VolumeMount[];
}

export const NO_TLS: TlsPod = { env: [], volumes: [], mounts: [] };

/** The files and the variables that database_tls.py reads; nothing without encryption. */
export function tlsPod({ tls }: DatabaseServer): TlsPod {
  if (!tls) return NO_TLS;
  const { mode, ca, client } = tls;
  const files = [
    ...(ca ? [{ name: 'ca', secret: ca.secret, keys: [ca.key] }] : []),
    ...(client === undefined ? [] : [{ name: 'client', secret: client, keys: [CERTIFICATE, KEY] }]),
  ].map((one) => ({ ...one, volume: `database-${one.name}`, path: `${DIR}-${one.name}` }));
  return {
    env: [
      { name: 'DB_TLS_MODE', value: mode },
      ...files.map(({ name, path }) => ({
        name: `DB_TLS_${name.toUpperCase()}_DIR`,
        value: path,
      })),
    ],
    volumes: files.map(({ volume, secret, keys }) => ({
      name: volume,
      secret: {
        secretName: secret,
        items: keys.map((key) => ({ key, path: key })),
        // libpq takes a key of root's that no more than the group can read.
        defaultMode: 0o440,
        // A missing key fails in the Job, which names it, and not in the kubelet, which waits.
        optional: true,
      },
    })),
    mounts: files.map(({ volume, path }) => ({ name: volume, mountPath: path, readOnly: true })),
  };
}
