import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { syncDocument, type DocumentSync } from '../../batches/documents/sync.js';
import { evaluateDocument } from '../../batches/documents/evaluate.js';
import { byDocument } from '../../batches/documents/kind.js';
import { takenDocument } from '../../batches/documents/conflicts.js';
import { documentCleanup } from '../../batches/documents/cleanup.js';
import { DOCUMENT_REASONS, DOCUMENT_STATUS } from '../../batches/documents/reasons.js';
import { GeneratedSecret } from '../../frappe/generated-secret.js';
import { SITE_REFERENCE } from '../../frappe/reasons.js';
import { requireSecret } from '../../frappe/secret.js';
import { refuse } from '../../kit/errors.js';
import { hashOf } from '../../kit/json/hash.js';
import type { ChartProps, StatusResult, Kind, Observation, ClusterReader } from '../../kit/kind.js';
import { normalEmail } from '../../kit/normal-form.js';
import { uidOf } from '../../kit/object.js';
import { Secret } from '../../kit/object-kind.js';
import { Stage } from '../../kit/synth.js';
import type { SiteUser } from '../../api/user.js';
import { siteUser } from './definition.js';
import { API_KEYS, DOCTYPE, userDocument } from './document.js';

/** The inputs of a user: the state of its document, and of its password. */
export interface UserInputs extends DocumentSync {
  /** Changes with the Secret of the password, with the key in it, and with the site's data. */
  readonly passwordVersion: string | undefined;
}

/** The users of one address on a site. */
const usersByEmail = byDocument<SiteUser>(siteUser, ({ spec }) => spec.email);

/** A user of a site. */
export const user: Kind<SiteUser, UserInputs> = {
  definition: siteUser,
  owns: [Secret],
  reads: [Secret],
  references: [SITE_REFERENCE],
  reasons: { ...DOCUMENT_REASONS, SecretMissing: 'missing' },
  durableStatus: [...DOCUMENT_STATUS, 'passwordVersion'],
  indexes: [usersByEmail],
  resolve: resolveUser,
  podFields: {
    names: [
      { path: 'passwordSecretRef.name', kind: 'Secret' },
      { path: 'apiKeySecretRef.name', kind: 'Secret' },
    ],
  },
  normal: [{ path: ['spec', 'email'], form: normalEmail }],
  chart: (scope, id, props) => new UserChart(scope, id, props),
  probes: () => [],
  evaluate: evaluateUser,
  cleanup: documentCleanup<SiteUser>(DOCTYPE, (resource) => userDocument(resource, false)),
  statusView: { collapsed: true },
};

/** @throws Stalled or Waiting, see `Kind.resolve` */
function resolveUser(resource: SiteUser, reader: ClusterReader): UserInputs {
  const name = { index: usersByEmail, path: 'spec.email', name: resource.spec.email };
  refuse(takenDocument(resource, name, reader));
  const { namespace = 'default' } = resource.metadata;
  const { passwordSecretRef, apiKeySecretRef } = resource.spec;
  const secretVersion =
    passwordSecretRef &&
    requireSecret(
      { namespace, name: passwordSecretRef.name, path: 'spec.passwordSecretRef.name' },
      reader,
    );
  // The key is generated once: another uid is another key.
  const key = apiKeySecretRef && reader.get('Secret', namespace, apiKeySecretRef.name, uidOf);
  const versions = [secretVersion ?? '', key ?? ''];
  const known = syncDocument(resource, userDocument(resource, true), versions, reader);
  const passwordVersion =
    passwordSecretRef && hashOf([secretVersion, passwordSecretRef.key, known.data]);
  const before = resource.status?.passwordVersion;
  // Release 0.1 recorded the version of the Secret only: that password is set.
  const setPassword = before !== passwordVersion && before !== secretVersion;
  // Without its Secret there is no key to write.
  const lacksKey = apiKeySecretRef !== undefined && key === undefined;
  const request =
    known.request && !lacksKey
      ? { ...known.request, document: userDocument(resource, setPassword) }
      : undefined;
  return { ...known, passwordVersion, request };
}

function evaluateUser({ resource, inputs }: Observation<SiteUser, UserInputs>): StatusResult {
  const statusResult = evaluateDocument(resource, resource.spec.email, inputs);
  const { result } = inputs;
  if (!result || result.outcome === 'Failed') return statusResult;
  return {
    ...statusResult,
    fields: {
      ...statusResult.fields,
      enabled: resource.spec.enabled,
      passwordVersion: inputs.passwordVersion,
      apiKeySecret: resource.spec.apiKeySecretRef?.name,
    },
  };
}

/** The only child of a user: the Secret with its API key, where the spec names one. */
class UserChart extends Chart {
  constructor(scope: Construct, id: string, { resource }: ChartProps<SiteUser, UserInputs>) {
    super(scope, id, { disableResourceNameHashes: true });
    const { apiKeySecretRef } = resource.spec;
    if (!apiKeySecretRef) return;
    new GeneratedSecret(new Stage(this, 'api-key'), 'secret', {
      owner: resource,
      name: apiKeySecretRef.name,
      namespace: resource.metadata.namespace ?? 'default',
      component: 'api-key',
      keys: { [API_KEYS.key]: 'password', [API_KEYS.secret]: 'password' },
    });
  }
}
