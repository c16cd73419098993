import { DEFAULT_IDS } from '../../../constructs/kit/settings.js';
import type { Group, Value, Values } from './values.js';

/** Parts of the operator's Deployment that are values of the chart: their defaults are its own. */
export interface Lifted {
  readonly repository: string;
  readonly pullPolicy: unknown;
  readonly resources: unknown;
  readonly nodeSelector: unknown;
  readonly topologySpreadConstraints: unknown;
  readonly logLevel: string;
}

const value = (preset: unknown, description: string, schema: object): Value => ({
  default: preset,
  description,
  schema,
});
const text = (preset: string, description: string): Value =>
  value(preset, description, { type: 'string' });
const flag = (preset: boolean, description: string): Value =>
  value(preset, description, { type: 'boolean' });
const map = (preset: unknown, description: string): Value =>
  value(preset, description, { type: 'object' });
const list = (preset: unknown, description: string, items: object = { type: 'object' }): Value =>
  value(preset, description, { type: 'array', items });
const strings = (description: string, items: object = {}): Value =>
  list([], description, { type: 'string', minLength: 1, ...items });
const labels = (description: string): Value =>
  value({}, description, { type: 'object', additionalProperties: { type: 'string' } });
const id = (preset: number, minimum: number, description: string): Value =>
  value(preset, description, { type: ['integer', 'null'], minimum, maximum: 2147483647 });
const group = (description: string, values: Values): Group => ({ description, values });

const NAMESPACE = { pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$' };

/** All values of the chart. */
export function operatorValues(lifted: Lifted): Values {
  return {
    image: group("The operator's image.", {
      repository: text(lifted.repository, 'Where it is, with the registry.'),
      tag: text('', "Its tag; the chart's appVersion where empty."),
      digest: value('', 'Its digest, `sha256:…`; it wins over the tag.', {
        type: 'string',
        pattern: '^(sha256:[0-9a-f]{64})?$',
      }),
      pullPolicy: value(lifted.pullPolicy, 'When it is pulled.', {
        enum: ['Always', 'IfNotPresent', 'Never'],
      }),
      pullSecrets: strings("Names of Secrets of a private registry, in the release's namespace."),
    }),
    replicas: value(1, 'How many run. One works, the others stand by with warm caches.', {
      type: 'integer',
      minimum: 0,
      maximum: 10,
    }),
    watchNamespaces: strings(
      'Namespaces that the operator works in, which must exist; all where none is named. It then has a Role in each, and no rights to what is in others.',
      NAMESPACE,
    ),
    rbac: group('Rights.', {
      clusterRoles: flag(
        true,
        'Whether there are ClusterRoles. Without them watchNamespaces must name namespaces, an administrator installs the CRDs, and the metrics are on loopback only.',
      ),
    }),
    crds: group('CustomResourceDefinitions.', {
      install: flag(true, 'Whether they are part of the release, so that an upgrade changes them.'),
      keep: flag(
        true,
        'Whether they outlive the release. Without it, `helm uninstall` deletes every bench and site.',
      ),
    }),
    openshift: value(
      'auto',
      'Whether the platform assigns user ids: `auto` asks whether security.openshift.io is served. podDefaults is not used then.',
      { enum: ['auto', true, false] },
    ),
    podDefaults: group(
      `Ids of the pods of benches that name none; null for what the operator takes itself: ${DEFAULT_IDS.defaultUid}, ${DEFAULT_IDS.defaultGid} and ${DEFAULT_IDS.defaultFsGroup}.`,
      {
        uid: id(DEFAULT_IDS.defaultUid, 1, 'User.'),
        gid: id(DEFAULT_IDS.defaultGid, 0, 'Group.'),
        fsGroup: id(DEFAULT_IDS.defaultFsGroup, 0, 'Group of volumes.'),
      },
    ),
    logLevel: value(lifted.logLevel, 'Least severe level that is logged, or a verbosity.', {
      anyOf: [
        { enum: ['debug', 'info', 'warn', 'error'] },
        { type: 'integer', minimum: 1, maximum: 999 },
      ],
    }),
    extraArgs: strings(
      'Further flags of the operator, such as `--resync-interval=1h`; they win over those before.',
      { pattern: '^--' },
    ),
    extraEnv: list([], "Further environment variables of the operator's container.", {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string', minLength: 1 } },
    }),
    resources: map(lifted.resources, 'Requests and limits of the container.'),
    nodeSelector: {
      ...labels('Labels of the nodes that it runs on.'),
      default: lifted.nodeSelector,
    },
    tolerations: list([], 'Taints of nodes that it stands.'),
    affinity: map({}, 'Where it runs, in more words.'),
    topologySpreadConstraints: list(
      lifted.topologySpreadConstraints,
      'How replicas are spread over nodes.',
    ),
    priorityClassName: text('', 'Priority of its pods.'),
    podLabels: labels('Further labels of its pods.'),
    podAnnotations: labels('Further annotations of its pods.'),
    podDisruptionBudget: group('PodDisruptionBudget, from two replicas on.', {
      enabled: flag(true, 'Whether there is one.'),
    }),
    webhooks: group('Admission webhooks; without ClusterRoles there are none.', {
      enabled: flag(
        true,
        'Whether the API server asks the operator about each change of its kinds.',
      ),
    }),
    networkPolicy: group('NetworkPolicy of the operator.', {
      enabled: flag(
        true,
        'Whether there is one: its ports are reached by anybody, others by nobody.',
      ),
      egress: flag(
        false,
        'Whether it limits what the operator reaches too: names, the API server on 443 or 6443, and benches.',
      ),
    }),
  };
}
