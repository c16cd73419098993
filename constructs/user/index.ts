import { Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { exchange, type Exchange } from '../documents/exchange.js';
import { judgeDocument } from '../documents/judge.js';
import { byDocument } from '../documents/kind.js';
import { refuseTakenDocument } from '../documents/rivals.js';
import { documentTeardown } from '../documents/teardown.js';
import { GeneratedSecret } from '../framework/generated-secret.js';
import { requireSecret } from '../framework/secret.js';
import { hashOf } from '../kit/hash.js';
import type { ChartProps, Judgement, Kind, Observation, World } from '../kit/kind.js';
import { normalEmail } from '../kit/normal.js';
import { uidOf } from '../kit/object.js';
import { Secret } from '../kit/object-kind.js';
import { Stage } from '../kit/stage.js';
import type { SiteUser } from './api.js';
import { siteUser } from './definition.js';
import { API_KEYS, DOCTYPE, userDocument } from './document.js';

/** What is known of a user, and of the exchange about it. */
export interface UserFacts extends Exchange {
  /** Another one for each value of the Secret with the password, each key in it, and all data of the site. */
  readonly passwordVersion: string | undefined;
}

/** The users of one address on a site. */
const usersByEmail = byDocument<SiteUser>(siteUser, ({ spec }) => spec.email);

/** A user of a site. */
export const user: Kind<SiteUser, UserFacts> = {
  definition: siteUser,
  owns: [Secret],
  reads: [Secret],
  indexes: [usersByEmail],
  gather: gatherUser,
  normal: [{ path: ['spec', 'email'], form: normalEmail }],
  chart: (scope, id, props) => new UserChart(scope, id, props),
  probes: () => [],
  observe: observeUser,
  teardown: documentTeardown<SiteUser>(DOCTYPE, (resource) => userDocument(resource, false)),
};

/** @throws Stalled or Waiting, see `Kind.gather` */
function gatherUser(resource: SiteUser, world: World): UserFacts {
  refuseTakenDocument(resource, usersByEmail, 'spec.email', resource.spec.email, world);
  const { namespace = 'default' } = resource.metadata;
  const { passwordSecretRef, apiKeySecretRef } = resource.spec;
  const secretVersion =
    passwordSecretRef &&
    requireSecret(world, namespace, passwordSecretRef.name, 'spec.passwordSecretRef.name');
  // The values of the key are made once: another uid is another key.
  const key = apiKeySecretRef && world.get('Secret', namespace, apiKeySecretRef.name, uidOf);
  const versions = [secretVersion ?? '', key ?? ''];
  const known = exchange(resource, userDocument(resource, true), versions, world);
  const passwordVersion =
    passwordSecretRef && hashOf([secretVersion, passwordSecretRef.key, known.data]);
  const before = resource.status?.passwordVersion;
  // Release 0.1 has noted the version of the Secret only: that password is set.
  const setPassword = before !== passwordVersion && before !== secretVersion;
  // Without its Secret there is no key to write.
  const waits = apiKeySecretRef !== undefined && key === undefined;
  const request =
    known.request && !waits
      ? { ...known.request, document: userDocument(resource, setPassword) }
      : undefined;
  return { ...known, passwordVersion, request };
}

function observeUser({ resource, facts }: Observation<SiteUser, UserFacts>): Judgement {
  const judgement = judgeDocument(resource, resource.spec.email, facts);
  const { result } = facts;
  if (!result || result.outcome === 'Failed') return judgement;
  return {
    ...judgement,
    fields: {
      ...judgement.fields,
      enabled: resource.spec.enabled,
      passwordVersion: facts.passwordVersion,
      apiKeySecret: resource.spec.apiKeySecretRef?.name,
    },
  };
}

/** What a user has in the cluster: the Secret with its API key, where one is asked for. */
class UserChart extends Chart {
  constructor(scope: Construct, id: string, { resource }: ChartProps<SiteUser, UserFacts>) {
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
