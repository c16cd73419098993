import type { AppSite } from '../../api/site.js';
import type { StatusPart } from '../../frappe/tree-status.js';
import type { CertificateIssuer } from '../../integrations/cert-manager/issuer.js';
import { gatewayConditions } from '../../integrations/gateway-api/status.js';
import { accessHooks } from '../../integrations/index.js';
import { conditionResult, type ConditionResult } from '../../kit/condition.js';
import type { Health } from '../../kit/health.js';
import type { Observation } from '../../kit/kind.js';
import { siteNames } from '../../kit/names.js';
import type { SiteAccess, SiteTls } from './access.js';

type Observed = Pick<
  Observation<AppSite, { readonly access: SiteAccess }>,
  'resource' | 'inputs' | 'child'
>;

/** The address of a site, and the state of its certificate. */
export function evaluateAccess(observation: Observed): StatusPart {
  const { access } = observation.inputs;
  const conditions = accessConditions(observation);
  const certificate = conditions.find(({ type }) => type === 'CertificateReady');
  // What a Gateway lacks for one host says nothing of the others.
  const isHttps = access.gateway ? access.encrypted : certificate?.status === 'True';
  const protocol = access.protocol ?? (isHttps ? 'https' : 'http');
  return {
    conditions,
    fields: {
      siteURL: `${protocol}://${access.domain}`,
      hosts: access.ownHosts,
    },
  };
}

function accessConditions(observation: Observed): readonly ConditionResult[] {
  const { gateway } = observation.inputs.access;
  if (gateway) return gatewayConditions(gateway, observation.child);
  const certificate = certificateCondition(observation);
  return certificate ? [certificate] : [];
}

/** The condition of the certificate; undefined where the site has no TLS. */
function certificateCondition({ resource, inputs, child }: Observed): ConditionResult | undefined {
  const { encrypted, route, tls } = inputs.access;
  if (route !== undefined) return encrypted ? accessHooks([route])[0]?.certificate : undefined;
  if (!tls) return undefined;
  const { issuer } = tls;
  const certificate = child('Certificate', siteNames(resource.metadata.name).tls);
  const { status, reason, message } = issuer
    ? issuedState(tls, issuer, certificate?.health)
    : givenState(tls, resource.spec.ingress?.tls?.secretName !== undefined);
  return conditionResult('CertificateReady', status, reason, message);
}

type State = Pick<ConditionResult, 'status' | 'reason' | 'message'>;

/** Of a certificate that the user provides. */
function givenState({ secretName, secretExists, isControllers }: SiteTls, isNamed: boolean): State {
  if (isControllers) {
    const message = 'the default certificate of the ingress controller';
    return { status: 'True', reason: 'ControllerCertificate', message };
  }
  if (secretExists)
    return { status: 'True', reason: 'SecretFound', message: `Secret ${secretName}` };
  const ownCertificate = isNamed
    ? ''
    : '; with a certificate of the ingress controller, set spec.publicProtocol to https';
  const message = `spec.ingress.tls: name a certManagerIssuer, or create the Secret "${secretName}" of type kubernetes.io/tls${ownCertificate}`;
  return { status: 'False', reason: 'SecretMissing', message };
}

/** Of a certificate that an issuer writes. */
function issuedState(
  { certManager, secretName, secretExists }: SiteTls,
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
