import type { BenchModel } from '../frappe/bench-model.js';
import {
  resolveIssuer,
  servesCertManager,
  type CertificateIssuer,
} from '../integrations/cert-manager/issuer.js';
import type { ConditionResult } from '../kit/condition.js';
import type { Observation, ClusterReader } from '../kit/kind.js';
import { siteNames } from '../kit/names.js';
import { uidOf } from '../kit/object.js';
import type { AppSite } from './api.js';

/** How the site's traffic is encrypted. */
export interface SiteTlsInputs {
  readonly secretName: string;
  /** Who issues the certificate; undefined where the Secret is the user's own. */
  readonly issuer: CertificateIssuer | undefined;
  /** Whether cert-manager is there. */
  readonly certManager: boolean;
  readonly secretExists: boolean;
}

/** @returns undefined where the site has no TLS */
export function resolveTls(
  site: AppSite,
  bench: BenchModel,
  reader: ClusterReader,
): SiteTlsInputs | undefined {
  const { ingress } = site.spec;
  if (!ingress?.enabled || !ingress.tls?.enabled) return undefined;
  const { namespace = 'default', name } = site.metadata;
  const secretName = ingress.tls.secretName ?? siteNames(name).tls;
  const issuer = ingress.tls.certManagerIssuer ?? bench.domain.issuer;
  return {
    secretName,
    issuer:
      issuer === undefined
        ? undefined
        : resolveIssuer(issuer, ingress.tls.issuerKind, namespace, reader),
    certManager: servesCertManager(reader),
    secretExists: reader.get('Secret', namespace, secretName, uidOf) !== undefined,
  };
}

/** What is known of the certificate; undefined where the site has no TLS. */
export function certificateCondition<F extends { readonly tls: SiteTlsInputs | undefined }>({
  resource,
  inputs: { tls },
  child,
}: Pick<Observation<AppSite, F>, 'resource' | 'inputs' | 'child'>): ConditionResult | undefined {
  if (!tls) return undefined;
  const { issuer, secretName } = tls;
  if (!issuer) {
    return tls.secretExists
      ? conditionResult('SecretFound', 'True', `Secret ${secretName}`)
      : conditionResult(
          'SecretMissing',
          'False',
          `spec.ingress.tls: name a certManagerIssuer, or create the Secret "${secretName}" of type kubernetes.io/tls`,
        );
  }
  if (!tls.certManager) {
    const message = 'no certificate is asked for: the cluster does not serve cert-manager.io/v1';
    return conditionResult('CertManagerMissing', 'False', message);
  }
  const health = child('Certificate', siteNames(resource.metadata.name).tls)?.health;
  if (health?.state === 'Ready' && tls.secretExists) {
    return conditionResult('Issued', 'True', `Secret ${secretName}`);
  }
  if (issuer.missing !== undefined) {
    return conditionResult(
      'IssuerMissing',
      'False',
      `spec.ingress.tls.certManagerIssuer: ${issuer.missing}`,
    );
  }
  const message = health?.message || `waiting for ${issuer.kind} ${issuer.name}`;
  return conditionResult(health?.reason ?? 'Issuing', 'False', message);
}

function conditionResult(
  reason: string,
  status: ConditionResult['status'],
  message: string,
): ConditionResult {
  return { type: 'CertificateReady', status, reason, message };
}
