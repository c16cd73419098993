/** Certificates of database servers and of their clients, for the tests of jobs. */
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Authority,
  keyIdOf,
  newAuthority,
  newKey,
  privatePem,
} from '../../testbed/controlplane/certificate.js';
import { distinguishedName, extensions, signedCertificate } from '../../runner/http/x509.js';
import type { ServerTls } from './databases.js';
import { type Env, temporaryDirectory } from './servers.js';

export { newAuthority, type Authority };

const HOUR = 3_600_000;

/** The files of a server: its certificate is for these hosts, and ends in so many hours. */
export function serverTls(ca: Authority, hosts: readonly string[], hours = 24): ServerTls {
  return { ca: ca.certificatePem, ...issued(ca, hosts, hours) };
}

function issued(ca: Authority, hosts: readonly string[], hours = 24) {
  const { privateKey, publicKey } = newKey();
  const { digitalSignature, serverAndClient, subjectKey, authorityKey } = extensions;
  const now = Date.now();
  const cert = signedCertificate(
    {
      issuer: distinguishedName(ca.commonName),
      subject: distinguishedName('database'),
      publicKey,
      notBefore: new Date(now - 48 * HOUR),
      notAfter: new Date(now + hours * HOUR),
      extensions: [
        digitalSignature,
        serverAndClient,
        subjectKey(keyIdOf(publicKey)),
        authorityKey(keyIdOf(new X509Certificate(ca.certificatePem).publicKey)),
        ...(hosts.length > 0 ? [extensions.hosts(hosts)] : []),
      ],
    },
    ca.keyPem,
  );
  return { cert, key: privatePem(privateKey) };
}

/** What a pod has of the Secrets: the environment of a Job with this mode. */
export function tlsEnv(
  mode: 'VerifyFull' | 'VerifyCA' | 'Require',
  ca?: Authority,
  client?: Authority,
): Env {
  const folder = temporaryDirectory();
  if (ca) writeFileSync(join(folder, 'ca.crt'), ca.certificatePem);
  if (client) {
    const { cert, key } = issued(client, []);
    writeFileSync(join(folder, 'tls.crt'), cert);
    // As the kubelet mounts it: for the pod's group.
    writeFileSync(join(folder, 'tls.key'), key, { mode: 0o440 });
  }
  return {
    DB_TLS_MODE: mode,
    DB_TLS_CA_DIR: folder,
    ...(client ? { DB_TLS_CLIENT_DIR: folder } : {}),
  };
}
