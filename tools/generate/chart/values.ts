import { CONTROL_PLANE, OPERATOR_LABELS } from '../../../constructs/kit/operator-identity.js';
import {
  DEFAULT_IDS,
  DEFAULT_SETTINGS,
  MAX_ID,
} from '../../../constructs/kit/operator-settings.js';
import type { Group, Value, Values } from './values-format.js';

/** Fields of the operator's Deployment whose values are the defaults of the chart. */
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
  value(preset, description, { type: ['integer', 'null'], minimum, maximum: MAX_ID });
const group = (description: string, values: Values): Group => ({ description, values });

const NAMESPACE = { pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$' };

/** All values of the chart. */
export function operatorValues(lifted: Lifted): Values {
  return {
    ...imageValues(lifted),
    ...scopeValues(),
    ...idValues(),
    ...policyValues(),
    ...processValues(lifted),
    ...podValues(lifted),
    ...networkValues(),
  };
}

function imageValues(lifted: Lifted): Values {
  return {
    image: group("The operator's image.", {
      repository: text(lifted.repository, 'Registry and repository.'),
      tag: text('', "Tag; the chart's appVersion if empty."),
      digest: value('', 'Digest, `sha256:…`; overrides the tag.', {
        type: 'string',
        pattern: '^(sha256:[0-9a-f]{64})?$',
      }),
      pullPolicy: value(lifted.pullPolicy, 'Pull policy.', {
        enum: ['Always', 'IfNotPresent', 'Never'],
      }),
      pullSecrets: strings("Names of Secrets of a private registry, in the release's namespace."),
    }),
    replicas: value(
      1,
      'Number of replicas. One is the leader, the others stand by with warm caches.',
      {
        type: 'integer',
        minimum: 0,
        maximum: 10,
      },
    ),
  };
}

function scopeValues(): Values {
  return {
    watchNamespaces: strings(
      'Namespaces that the operator watches; they must exist. Empty: all namespaces. With namespaces the operator has a Role in each, and no rights in others.',
      NAMESPACE,
    ),
    rbac: group('RBAC.', {
      clusterRoles: flag(
        true,
        'Create ClusterRoles. Without them watchNamespaces is required, an administrator installs the CRDs, and the metrics are on loopback only.',
      ),
    }),
    crds: group('CustomResourceDefinitions.', {
      install: flag(true, 'Make the CRDs part of the release, so that an upgrade updates them.'),
      keep: flag(
        true,
        'Keep the CRDs after `helm uninstall`. Otherwise it deletes every bench and site.',
      ),
    }),
  };
}

function idValues(): Values {
  return {
    openshift: value(
      'auto',
      'The platform assigns user ids, and podDefaults is not used. `auto`: true where the API group security.openshift.io is served.',
      { enum: ['auto', true, false] },
    ),
    podDefaults: group(
      `Default user and group ids of the pods of benches; null for the defaults of the operator: ${DEFAULT_IDS.defaultUid}, ${DEFAULT_IDS.defaultGid} and ${DEFAULT_IDS.defaultFsGroup}.`,
      {
        uid: id(DEFAULT_IDS.defaultUid, 1, 'User.'),
        gid: id(DEFAULT_IDS.defaultGid, 0, 'Group.'),
        fsGroup: id(DEFAULT_IDS.defaultFsGroup, 0, 'Group of volumes.'),
      },
    ),
  };
}

function policyValues(): Values {
  const pattern = { pattern: '^[^\\s,]+$' };
  return {
    policies: group(
      'Admission policies of the API server; they need ClusterRoles. The others are the keys of the ConfigMap app-operator-limits.',
      {
        enabled: flag(true, 'Create the policies, and bind them.'),
        images: strings(
          'How images of benches, servers and sidecars begin; all when empty.',
          pattern,
        ),
        serviceAccounts: strings(
          "Service accounts of pods, as namespace/name or name with * for any text; each namespace's default always is.",
          pattern,
        ),
        ingressAnnotations: strings(
          'Annotations of the Ingress of a site, with * for any text; default stands for the list of harmless ones, as does an empty list.',
          pattern,
        ),
        podSecurityLevel: value(
          '',
          'What the pods of a spec may ask for: restricted, baseline or privileged; restricted when empty.',
          { enum: ['', 'restricted', 'baseline', 'privileged'] },
        ),
      },
    ),
  };
}

function processValues(lifted: Lifted): Values {
  return {
    logLevel: value(lifted.logLevel, 'Minimum level of log messages, or a verbosity.', {
      anyOf: [
        { enum: ['debug', 'info', 'warn', 'error'] },
        { type: 'integer', minimum: 1, maximum: 999 },
      ],
    }),
    extraArgs: strings(
      'Additional flags of the operator, such as `--resync-interval=1h`; they override the flags of the chart.',
      { pattern: '^--' },
    ),
    extraEnv: list([], "Additional environment variables of the operator's container.", {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string', minLength: 1 }, value: { type: 'string' } },
    }),
    resources: map(lifted.resources, 'Requests and limits of the container.'),
  };
}

function podValues(lifted: Lifted): Values {
  return {
    nodeSelector: {
      ...labels('Node selector of the pods.'),
      default: lifted.nodeSelector,
    },
    tolerations: list([], 'Tolerations of the pods.'),
    affinity: map({}, 'Affinity of the pods.'),
    topologySpreadConstraints: list(
      lifted.topologySpreadConstraints,
      'Topology spread constraints of the pods.',
    ),
    priorityClassName: text('', 'Priority class of the pods.'),
    podLabels: value({}, 'Additional labels of the pods.', {
      ...labels('').schema,
      // Selectors need these labels as they are.
      properties: Object.fromEntries(
        Object.keys({ ...OPERATOR_LABELS, ...CONTROL_PLANE }).map((name) => [name, false]),
      ),
    }),
    podAnnotations: labels('Additional annotations of the pods.'),
    podDisruptionBudget: group('PodDisruptionBudget, with two or more replicas.', {
      enabled: flag(true, 'Create the PodDisruptionBudget.'),
    }),
  };
}

function networkValues(): Values {
  return {
    webhooks: group('Admission webhooks; they need ClusterRoles.', {
      enabled: flag(
        true,
        'Register the webhooks: the API server calls the operator for each change of its kinds.',
      ),
      clientCA: text(
        '',
        "Name of a ConfigMap in the release's namespace; its key `ca.crt` has the authorities of the only clients that the webhooks answer. Empty: every client is answered.",
      ),
    }),
    metrics: group('Metrics of the operator. HTTPS is always on, but without ClusterRoles.', {
      plain: flag(
        false,
        'Serve them over plain HTTP too, on port 8080 of the Service, to everyone who reaches it.',
      ),
    }),
    kedaNamespace: value(
      DEFAULT_SETTINGS.kedaNamespace,
      "Namespace of KEDA's operator: only from there it reaches the Redis of benches.",
      { type: 'string', ...NAMESPACE },
    ),
    networkPolicy: group('NetworkPolicy of the operator.', {
      enabled: flag(true, 'Create the NetworkPolicy: it allows ingress on the served ports only.'),
      egress: flag(
        false,
        'Limit egress too: to DNS, to the API server on 443 or 6443, and to benches.',
      ),
      metricsNamespace: value('', 'Only namespace whose pods reach the metrics; all if empty.', {
        type: 'string',
        pattern: `^(${NAMESPACE.pattern.slice(1, -1)})?$`,
      }),
    }),
  };
}
