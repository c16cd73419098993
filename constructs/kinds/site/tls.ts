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
import { decide, type Policy } from '../../kit/policy.js';
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

interface Context {
  readonly tls: SiteTlsInputs;
  /** Health of the Certificate. */
  readonly health: Health | undefined;
}

/** The condition of the certificate; undefined where the site has no TLS. */
export function certificateCondition<F extends { readonly tls: SiteTlsInputs | undefined }>({
  resource,
  inputs: { tls },
  child,
}: Pick<Observation<AppSite, F>, 'resource' | 'inputs' | 'child'>): ConditionResult | undefined {
  const certificate = siteNames(resource.metadata.name).tls;
  return tls && decide(POLICIES, { tls, health: child('Certificate', certificate)?.health });
}

const POLICIES: readonly Policy<Context, ConditionResult>[] = [
  {
    // The user provides the Secret.
    applies: ({ tls }) => !tls.issuer && tls.secretExists,
    result: ({ tls }) =>
      conditionResult('CertificateReady', 'True', 'SecretFound', `Secret ${tls.secretName}`),
  },
  {
    applies: ({ tls }) => !tls.issuer,
    result: ({ tls: { secretName } }) => {
      const message = `spec.ingress.tls: name a certManagerIssuer, or create the Secret "${secretName}" of type kubernetes.io/tls`;
      return conditionResult('CertificateReady', 'False', 'SecretMissing', message);
    },
  },
  {
    applies: ({ tls }) => !tls.certManager,
    result: () => {
      const message = 'no certificate is requested: the cluster does not serve cert-manager.io/v1';
      return conditionResult('CertificateReady', 'False', 'CertManagerMissing', message);
    },
  },
  {
    applies: ({ tls, health }) => health?.state === 'Ready' && tls.secretExists,
    result: ({ tls }) =>
      conditionResult('CertificateReady', 'True', 'Issued', `Secret ${tls.secretName}`),
  },
  {
    applies: ({ tls }) => tls.issuer?.missing !== undefined,
    result: ({ tls }) => {
      const message = `spec.ingress.tls.certManagerIssuer: ${tls.issuer?.missing ?? ''}`;
      return conditionResult('CertificateReady', 'False', 'IssuerMissing', message);
    },
  },
  {
    // Being issued.
    applies: () => true,
    result({ tls: { issuer }, health }) {
      const waiting = `waiting for ${issuer?.kind ?? ''} ${issuer?.name ?? ''}`;
      return conditionResult(
        'CertificateReady',
        'False',
        health?.reason ?? 'Issuing',
        health?.message || waiting,
      );
    },
  },
];
