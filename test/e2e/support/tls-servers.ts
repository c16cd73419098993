import { type Authority, issue } from '../../../testbed/controlplane/certificate.js';
import { aSecret, aSite } from '../../cluster/support/builders.js';
import type { Live, Manifest } from '../../cluster/support/objects.js';
import type { E2e } from '../harness.js';

export const PROVIDERS = ['mariadb', 'postgres'] as const;
export type Provider = (typeof PROVIDERS)[number];

export const READY_MS = 300_000;
/** A Job is tried four times, and a busy machine is slow. */
export const COMPLAINT_MS = 240_000;

/** Name of the server outside that requires TLS. */
export function serverOf(provider: Provider): string {
  return `outside-${provider}`;
}

/** Its host name, for pods of every namespace. */
export function hostOf(provider: Provider, namespace: string): string {
  return `${serverOf(provider)}.${namespace}.svc.cluster.local`;
}

/** A site with shared workloads on the bench. */
export function siteOn(bench: string, name = `${bench}-site`): Manifest {
  return aSite(name, { bench, workloads: 'Shared' });
}

/** The Secret of a certificate for these hosts, as cert-manager makes it. */
export function certificateSecret(name: string, ca: Authority, hosts: readonly string[]): Manifest {
  const { certificatePem, keyPem } = issue(ca, { commonName: 'database', hosts });
  const data = { 'ca.crt': ca.certificatePem, 'tls.crt': certificatePem, 'tls.key': keyPem };
  return { ...aSecret(name, data), type: 'kubernetes.io/tls' };
}

/** Waits until the status has these words anywhere. */
export function statusSays(
  cluster: E2e,
  kind: 'AppSite' | 'AppBench',
  { namespace, name }: { readonly namespace: string; readonly name: string },
  words: RegExp,
): Promise<Live> {
  return cluster.becomes(kind, namespace, name, {
    what: `says ${words.source}`,
    check: (object) => words.test(JSON.stringify(object.status ?? {})),
    timeoutMs: COMPLAINT_MS,
  });
}
