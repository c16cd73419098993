import type { Parser } from '../../../runner/config/flag-parser.js';
import {
  domain,
  integer,
  labelSelector,
  namespace,
  namespaces,
} from '../../../runner/config/parsers.js';
import type { CommandFlags } from '../../arguments/command.js';
import { API_GROUP_FLAGS, enable } from '../../arguments/shared-flags.js';

const imageName: Parser<string> = {
  allowed: 'a container image, such as registry.example.com/app-operator:1.0',
  parse: (text) => (/^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$/.test(text) ? text : undefined),
};

/** An empty text, such as of a variable that is not set, is not "all": that would be a wider installation. */
const someNamespaces: Parser<readonly string[]> = {
  ...namespaces,
  parse: (text) => (text.trim() === '' ? undefined : namespaces.parse(text)),
};

const MAX_REPLICAS = 10;

/** Some name: an empty text is none. */
const ownNamespace: Parser<string> = {
  ...namespace,
  parse: (text) => namespace.parse(text) || undefined,
};

/** An empty text is not "all" here either. */
const someLabels: Parser<string> = {
  ...labelSelector,
  parse: (text) => labelSelector.parse(text) || undefined,
};

export const INSTALL_FLAGS = {
  image: {
    value: imageName,
    placeholder: 'IMAGE',
    help: 'image of the operator, with its tag (default: the image of this version)',
  },
  replicas: {
    value: integer(1, MAX_REPLICAS),
    placeholder: 'N',
    help: 'replicas; one is active, the others stand by (default 1)',
  },
  namespaces: {
    value: someNamespaces,
    placeholder: 'NAMES',
    help: 'namespaces to watch, separated by commas (default: all)',
  },
  'label-selector': {
    value: someLabels,
    placeholder: 'SELECTOR',
    help: 'labels of the resources to watch, as for kubectl (default: all)',
  },
  namespace: {
    value: ownNamespace,
    placeholder: 'NAME',
    help: "the operator's own namespace (default app-operator-system)",
  },
  'no-crds': enable('without CRDs, which another installation has'),
  namespaced: enable(
    'no Namespace, CRDs or ClusterRoles: the administrator of a namespace can apply it',
  ),
  'platform-ids': enable('the platform assigns the ids of pods, as OpenShift does: set no ids'),
  'no-webhooks': enable('without admission webhooks'),
  'no-policies': enable('without admission policies of the API server'),
  'webhook-client-ca': {
    value: domain(1),
    placeholder: 'CONFIGMAP',
    help: 'ConfigMap of the operator whose ca.crt has the authorities of the only webhook clients (default: every client is answered)',
  },
  'limit-egress': enable("limit egress too in the operator's NetworkPolicy"),
  'metrics-namespace': {
    value: namespace,
    placeholder: 'NAME',
    help: 'only namespace whose pods reach the metrics of the operator (default: all)',
  },
  'plain-metrics': enable(
    'serve the metrics of the operator over plain HTTP too, on port 8080 of its Service',
  ),
  'keda-namespace': {
    value: namespace,
    placeholder: 'NAME',
    help: "namespace of KEDA's operator (default keda)",
  },
  ...API_GROUP_FLAGS,
} satisfies CommandFlags;
