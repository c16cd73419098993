/** Certificates of database servers and of their clients, for the tests of jobs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Authority, issue, newAuthority } from '../../testbed/controlplane/certificate.js';
import type { ServerTls } from './databases.js';
import { type Env, temporaryDirectory } from './servers.js';

export { newAuthority, type Authority };

const HOUR = 3_600_000;

/** The files of a server: its certificate is for these hosts, and ends in so many hours. */
export function serverTls(ca: Authority, hosts: readonly string[], hours = 24): ServerTls {
  return { ca: ca.certificatePem, ...issued(ca, hosts, hours) };
}

function issued(ca: Authority, hosts: readonly string[], hours = 24) {
  const now = Date.now();
  const validity = { notBefore: new Date(now - 48 * HOUR), notAfter: new Date(now + hours * HOUR) };
  const { certificatePem, keyPem } = issue(ca, { commonName: 'database', hosts, validity });
  return { cert: certificatePem, key: keyPem };
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
