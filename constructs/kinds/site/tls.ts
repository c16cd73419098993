import type { BenchModel } from '../../frappe/bench-model.js';
import {
  resolveIssuer,
  servesCertManager,
  type CertificateIssuer,
} from '../../integrations/cert-manager/issuer.js';
import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import type { Health } from '../../kit/health.js';
import type { Observation, ClusterReader } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import { uidOf } from '../../kit/object.js';
import type { AppSite } from '../../api/site.js';

/** How the site's traffic is encrypted. */
export interface SiteTlsInputs {
  readonly secretName: string;
  /** Who issues the certificate; undefined where the user provides the Secret. */
  readonly issuer: CertificateIssuer | undefined;
  /** Whether the cluster serves cert-manager's API. */
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

/** The condition of the certificate; undefined where the site has no TLS. */
export function certificateCondition<F extends { readonly tls: SiteTlsInputs | undefined }>({
  resource,
  inputs: { tls },
  child,
}: Pick<Observation<AppSite, F>, 'resource' | 'inputs' | 'child'>): ConditionResult | undefined {
  if (!tls) return undefined;
  const { issuer } = tls;
  const certificate = child('Certificate', siteNames(resource.metadata.name).tls);
  const { status, reason, message } = issuer
    ? issuedState(tls, issuer, certificate?.health)
    : givenState(tls);
  return conditionResult('CertificateReady', status, reason, message);
}

type State = Pick<ConditionResult, 'status' | 'reason' | 'message'>;

/** Of a certificate that the user provides. */
function givenState({ secretName, secretExists }: SiteTlsInputs): State {
  if (secretExists)
    return { status: 'True', reason: 'SecretFound', message: `Secret ${secretName}` };
  const message = `spec.ingress.tls: name a certManagerIssuer, or create the Secret "${secretName}" of type kubernetes.io/tls`;
  return { status: 'False', reason: 'SecretMissing', message };
}

/** Of a certificate that an issuer writes. */
function issuedState(
  { certManager, secretName, secretExists }: SiteTlsInputs,
  { kind, name, missing }: CertificateIssuer,
  health: Health | undefined,
): State {
  if (!certManager) {
    const message = 'no certificate is requested: the cluster does not serve cert-manager.io/v1';
    return { status: 'False', reason: 'CertManagerMissing', message };
  }
  if (health?.state === 'Ready' && secretExists) {
    return { status: 'True', reason: 'Issued', message: `Secret ${secretName}` };
  }
  if (missing !== undefined) {
    const message = `spec.ingress.tls.certManagerIssuer: ${missing}`;
    return { status: 'False', reason: 'IssuerMissing', message };
  }
  const message = health?.message || `waiting for ${kind} ${name}`;
  return { status: 'False', reason: health?.reason ?? 'Issuing', message };
}
