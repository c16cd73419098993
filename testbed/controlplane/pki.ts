import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import {
  type Authority,
  type Credential,
  issue,
  newAuthority,
  newKey,
  privatePem,
  publicPem,
  type Subject,
} from './certificate.js';

const AUTHORITY_NAME = 'app-operator-controlplane';

/** Files and credentials of one control plane; they stay the same when its data is used again. */
export interface Pki {
  readonly authority: Authority;
  /** Paths of PEM files. */
  readonly files: {
    readonly authority: string;
    readonly authorityKey: string;
    readonly server: string;
    readonly serverKey: string;
    readonly kubeletClient: string;
    readonly kubeletClientKey: string;
    readonly serviceAccount: string;
    readonly serviceAccountKey: string;
  };
  /** Signs a client certificate; organizations become Kubernetes groups. */
  client(subject: Subject): Credential;
}

/**
 * Creates, or reads again, the keys and certificates in `folder`; `hosts` also name the API server.
 */
export async function preparePki(folder: string, hosts: readonly string[] = []): Promise<Pki> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const files = {
    authority: path.join(folder, 'ca.crt'),
    authorityKey: path.join(folder, 'ca.key'),
    server: path.join(folder, 'apiserver.crt'),
    serverKey: path.join(folder, 'apiserver.key'),
    kubeletClient: path.join(folder, 'kubelet-client.crt'),
    kubeletClientKey: path.join(folder, 'kubelet-client.key'),
    serviceAccount: path.join(folder, 'sa.pub'),
    serviceAccountKey: path.join(folder, 'sa.key'),
  };
  if (!existsSync(files.authority)) await create(files, hosts);
  const authority: Authority = {
    commonName: AUTHORITY_NAME,
    certificatePem: await readFile(files.authority, 'utf8'),
    keyPem: await readFile(files.authorityKey, 'utf8'),
  };
  return { authority, files, client: (subject) => issue(authority, subject) };
}

async function create(files: Pki['files'], more: readonly string[]): Promise<void> {
  const authority = newAuthority(AUTHORITY_NAME);
  const server = issue(authority, {
    commonName: 'kube-apiserver',
    hosts: [
      'localhost',
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      '127.0.0.1',
      ...more,
    ],
  });
  const kubeletClient = issue(authority, {
    commonName: 'kube-apiserver-kubelet-client',
    organizations: ['system:masters'],
  });
  const serviceAccount = newKey();
  await secret(files.authorityKey, authority.keyPem);
  await secret(files.server, server.certificatePem);
  await secret(files.serverKey, server.keyPem);
  await secret(files.kubeletClient, kubeletClient.certificatePem);
  await secret(files.kubeletClientKey, kubeletClient.keyPem);
  await secret(files.serviceAccount, publicPem(serviceAccount.publicKey));
  await secret(files.serviceAccountKey, privatePem(serviceAccount.privateKey));
  // Last: its presence shows that the others are complete.
  await secret(files.authority, authority.certificatePem);
}

async function secret(file: string, content: string): Promise<void> {
  await writeFile(file, content, { mode: 0o600 });
}
